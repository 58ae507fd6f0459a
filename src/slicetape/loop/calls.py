"""Calls as a provider will take them back: every one with an id of its own and a name."""

import re
from collections.abc import Callable, Iterable

from slicetape.log.messages import Block, ToolCall

UNNAMED = "unnamed"
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_MOST = 64


def sound_calls(content: Iterable[Block], taken: Callable[[str], bool]) -> tuple[Block, ...]:
    """The blocks of an answer, with ids and names of calls mended where some provider refuses them.

    `taken` says whether an id was used before in the session; an id that is empty or taken gets a
    number. Ids and names are cut to 64 letters, digits, `_` and `-`. What the model sent stays in
    the stream records.
    """
    given: set[str] = set()
    sound: list[Block] = []
    for block in content:
        if isinstance(block, ToolCall):
            call_id = _free(_legal(block.id), lambda name: name in given or taken(name))
            given.add(call_id)
            name = _legal(block.name) or UNNAMED
            if (call_id, name) != (block.id, block.name):
                block = ToolCall(call_id, name, block.arguments)
        sound.append(block)
    return tuple(sound)


def _legal(text: str) -> str:
    return _ILLEGAL.sub("_", text.strip())[:_MOST]


def _free(call_id: str, taken: Callable[[str], bool]) -> str:
    if call_id and not taken(call_id):
        return call_id
    stem, number = (call_id[: _MOST - 8], 2) if call_id else ("call", 1)
    while taken(f"{stem}_{number}"):
        number += 1
    return f"{stem}_{number}"
