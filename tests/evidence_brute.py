"""The evidence measure once more, from its definition: everything anew for every request."""

import json
import re
from collections.abc import Iterator, Sequence

from slicetape.log.events import (
    AssistantMessage,
    CompactionEnd,
    CompactionPrune,
    CompactionStart,
    CompactionSummary,
    Event,
    Foreign,
    Replace,
    SystemMessage,
    ToolResult,
    UserMessage,
    is_entry,
    is_human,
)
from slicetape.log.messages import Text, ToolCall, ToolResultBlock
from slicetape.replay.recording import Recording
from slicetape.surface import View

BY_ARMS = (Foreign, CompactionStart, CompactionEnd, CompactionSummary, CompactionPrune)

Found = dict[tuple[int, str], str]
"""By place of a step among the events and token: visible, sealed, folded or dropped."""


def words(text: str) -> set[str]:
    """The tokens of a text, letter by letter."""
    found: set[str] = set()
    at = 0
    while at < len(text):
        start, at = at, _end(text, at)
        word = text[start:at]
        if _is_name(text[start]):
            found |= {word} if len(word) >= 6 else set()
        elif _is_digit(text[start]):
            found |= {word} if sum(map(_is_digit, word)) >= 3 else set()
        elif _is_cjk(text[start]):
            found |= {word} if len(word) >= 4 else set()
    return found


def _end(text: str, at: int) -> int:
    if _is_name(text[at]):
        return _joined(text, at, "./:-", lambda letter: _is_name(letter) or _is_digit(letter))
    if _is_digit(text[at]):
        return _joined(text, at, "._", _is_digit)
    if _is_cjk(text[at]):
        while at < len(text) and _is_cjk(text[at]):
            at += 1
        return at
    return at + 1


def _joined(text: str, at: int, joints: str, belongs) -> int:  # type: ignore[no-untyped-def]
    while at < len(text):
        joint = text[at] in joints and at + 1 < len(text) and belongs(text[at + 1])
        if not belongs(text[at]) and not joint:
            break
        at += 1
    return at


def _is_name(letter: str) -> bool:
    return letter.isascii() and (letter.isalpha() or letter == "_")


def _is_digit(letter: str) -> bool:
    return "0" <= letter <= "9"


def _is_cjk(letter: str) -> bool:
    return "\u4e00" <= letter <= "\u9fff" or "\u3041" <= letter <= "\u3096"


# --- what an event says


def spoken(event: Event) -> list[str]:
    if isinstance(event, UserMessage):
        content = event.data.content
    elif isinstance(event, AssistantMessage | ToolResult | SystemMessage):
        content = event.data.message.content
    else:
        return []
    texts = [block.text for block in content if isinstance(block, Text)]
    for block in content:
        if isinstance(block, ToolResultBlock):
            texts += [part.text for part in block.content if isinstance(part, Text)]
    return texts


def given(event: Event) -> list[str]:
    if not isinstance(event, AssistantMessage):
        return []
    texts: list[str] = []
    for block in event.data.message.content:
        if isinstance(block, ToolCall):
            try:
                texts += _strings(json.loads(block.arguments))
            except ValueError:
                texts.append(block.arguments)
    return texts


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else ():
        yield from _strings(inner)
    for inner in value if isinstance(value, list) else ():
        yield from _strings(inner)


def holds(texts: Sequence[str], token: str) -> bool:
    return any(token in words(text) for text in texts)


# --- references


def references(recording: Recording) -> dict[tuple[int, str], tuple[str, bool, tuple[int, ...]]]:
    """Kind, copied and sources (places among the events) of each reference."""
    events, found = recording.events, {}
    schema = recording.facts.tools.decode()
    for at, event in enumerate(events):
        if not isinstance(event, AssistantMessage):
            continue
        for token in {word for text in spoken(event) + given(event) for word in words(text)}:
            having = [n for n in range(at) if holds(spoken(events[n]) + given(events[n]), token)]
            system = any(isinstance(events[n], SystemMessage) for n in having)
            if 1 <= len(having) <= 3 and not system and token not in words(schema):
                kinds = {_kind(events[n], token) for n in having}
                kind = kinds.pop() if len(kinds) == 1 else "mixed"
                found[at, token] = kind, holds(given(event), token), tuple(having)
    return found


def _kind(event: Event, token: str) -> str:
    if isinstance(event, ToolResult):
        return "tool"
    own = is_human(event) or isinstance(event, AssistantMessage)
    return "said" if own and holds(spoken(event), token) else "mixed"


# --- visibility


def seen(recording: Recording, log: Sequence[Event], *, recalls: bool) -> Found:
    """What becomes of each reference, from the log of an arm."""
    wanted = references(recording)
    originals = [event.seq for event in log if not written(event)]
    assert len(originals) == len(recording.events)
    found: Found = {}
    for at, seq in enumerate(originals):
        tokens = [token for place, token in wanted if place == at]
        if tokens:
            view = View.of(log[:seq])
            shown = {word for node in view.surface.nodes for word in shows(log, node)}
            for token in tokens:
                sources = [originals[n] for n in wanted[at, token][2]]
                found[at, token] = _fate(view, token, shown, sources, recalls)
    return found


def written(event: Event) -> bool:
    """Whether the arm wrote the event."""
    if isinstance(event, BY_ARMS):
        return True
    return isinstance(event.surface_op, Replace) and not isinstance(event, SystemMessage)


def _fate(view: View, token: str, shown: set[str], sources: list[int], recalls: bool) -> str:
    if token in shown:
        return "visible"
    nodes = [
        next(n for n in view.surface.nodes if seq in behind(view.events, n)) for seq in sources
    ]
    events = [view.events[node] for node in nodes]
    if recalls and any(isinstance(event, ToolResult) for event in events):
        return "folded"
    return "sealed" if recalls and any(map(is_entry, events)) else "dropped"


def behind(log: Sequence[Event], node: int) -> set[int]:
    """The originals that a node stands for."""
    if not written(log[node]):
        return {node}
    return {seq for source in log[node].sources for seq in behind(log, source)}


def shows(log: Sequence[Event], node: int) -> set[str]:
    """The words that a node shows."""
    event = log[node]
    if not written(event):
        texts = [] if isinstance(event, SystemMessage) else spoken(event) + given(event)
        return {word for text in texts for word in words(text)}
    sources = [text for n in behind(log, node) for text in spoken(log[n]) + given(log[n])]
    lines = [line.removesuffix("\r") for text in sources for line in text.split("\n")]
    found: set[str] = set()
    for text in spoken(event):
        for line in text.split("\n"):
            found |= line_shows(line.removesuffix("\r"), lines, sources)
    return found


def line_shows(line: str, lines: list[str], texts: list[str]) -> set[str]:
    line = re.sub(r"^\[reply step [0-9]+ seq [0-9]+\] ", "", line)
    if line in lines:
        return words(line)
    if line.startswith("[files read this turn: "):
        paths = re.findall(r"(?:\[files read this turn: |\), )(.+?) \([0-9]+ lines, ", line)
        return {word for path in paths for word in words(path)}
    cut = re.search(r" ?…\[\+([0-9]+) chars([^\]]*)\]… ?", line)
    if cut:
        head, tail = line[: cut.start()], line[cut.end() :]
        if cut[2]:
            starts = [whole for whole in lines if whole.startswith(head)]
            ends = [whole for whole in lines if whole.endswith(tail)]
            both = starts + ends if starts and ends else []
        else:
            size = len(head) + len(tail) + int(cut[1])
            both = [x for x in lines if len(x) == size and x.startswith(head) and x.endswith(tail)]
        return words(line) & {word for whole in both for word in words(whole)}
    item = line.strip().removesuffix(",")
    if item and item[0] in "{[" and item[-1] in "}]":
        bare = "".join(item.split())
        if any(bare in "".join(text.split()) for text in texts):
            return words(line)
    return set()
