"""The printed calls that bring a record back.

A numeric locator carries the format version, because a migration may renumber events while the
texts that name them stay as they are.
"""

import re
from functools import cache
from typing import Literal

import msgspec

from slicetape.log.events import FORMAT_VERSION

RECALL_TOOLS = frozenset(("recall_turn", "recall_step", "recall_search", "expand_result"))
"""The tools whose calls are questions about history and whose outputs are copies of it."""


_PREFIX = re.compile(r"^.*(?:__|[./:])")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@cache
def plain_name(tool: str) -> str:
    """The name of a tool without what a host puts around it, in our spelling.

    `mcp__slicetape__recall_turn`, `functions.recall_turn` and `RecallTurn` are all `recall_turn`.
    """
    return _HUMP.sub("_", _PREFIX.sub("", tool[:200])).lower()


def is_recall_tool(tool: str) -> bool:
    """Whether a call of this name is a question about history, whoever offers the tool."""
    return plain_name(tool) in RECALL_TOOLS


def result_locator(seq: int, *, block: int | None = None, session: str | None = None) -> str:
    """The call that returns a tool result; `block` only where its event has several."""
    which = f',"block":{block}' if block is not None else ""
    call = f'"seq":{seq},"formatVersion":{FORMAT_VERSION}{which}{_of(session)}'
    return f"expand_result({{{call}}})"


def ordinal_locator(turn: int, step: int, call: int, *, session: str | None = None) -> str:
    """The call that returns a tool result by its place among the results of a step, from 1."""
    return f'expand_result({{"turn":{turn},"step":{step},"call":{call}{_of(session)}}})'


def turn_locator(
    turn: int, view: Literal["dialogue", "full"] = "dialogue", *, session: str | None = None
) -> str:
    """The call that returns the page of a turn."""
    return f'recall_turn({{"turn":"{turn}","view":"{view}"{_of(session)}}})'


def _of(session: str | None) -> str:
    """The last member of a call that asks another session than the caller's."""
    return "" if session is None else f',"session":{msgspec.json.encode(session).decode()}'
