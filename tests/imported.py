"""Imported sessions as tests read them: written files, and events as lines of a story."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from data import shared
from slicetape.formats.counts import Counts
from slicetape.formats.session import ImportedSession
from slicetape.formats.source import Transcript
from slicetape.log.events import (
    AssistantMessage,
    Event,
    Foreign,
    Header,
    StepStart,
    SystemMessage,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import Block, Image, Reasoning, Text, ToolCall, ToolResultBlock
from slicetape.surface import Session

Reader = Callable[[Transcript], Iterator[ImportedSession]]


def written(folder: Path, value: Any, name: str = "t.json") -> Path:
    """A file that holds `value`: bytes or text as they are, anything else as JSON."""
    path = folder / name
    if isinstance(value, str):
        value = value.encode()
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return path


def imported(read: Reader, path: Path) -> list[tuple[ImportedSession, list[Event]]]:
    """The sessions of a file, each with its events, which a host could have written."""
    import event_rules  # it reads events with this module

    found = [(session, list(session.events)) for session in read(Transcript(path))]
    for _, events in found:
        event_rules.hold(events)
    return found


def accepted(header: Header, events: Iterable[Event]) -> Session:
    """A session of `events`: it raises where one of them breaks a rule of log or surface."""
    session = Session(SessionLog.in_memory(header), strict=False)
    for seq, event in enumerate(events):
        assert event.seq == seq
        session.append(event)
    return session


def story(read: Reader, path: Path) -> list[str]:
    """What happened in the one session of a file, a line each."""
    ((_, events),) = imported(read, path)
    return told(events)


def told(events: Iterable[Event]) -> list[str]:
    """What happened, a line each: who said what, calls with id and arguments, results."""
    return [line for event in events for line in _lines(event)]


def _lines(event: Event) -> Iterator[str]:
    match event:
        case TurnStart():
            yield "turn"
        case StepStart():
            yield "step"
        case TurnEnd():
            yield f"end {event.data.reason.kind}"
        case SystemMessage():
            yield f"system: {_shown(event.data.message.content)}"
        case UserMessage():
            source = event.data.source
            yield f"{source.plugin or source.kind}: {_shown(event.data.content)}"
        case AssistantMessage():
            yield from map(_said, event.data.message.content)
        case ToolResult():
            for block in event.data.message.content:
                assert isinstance(block, ToolResultBlock)
                unknown = event.data.error and event.data.error.code == "TOOL_OUTCOME_UNKNOWN"
                kind = "unknown" if unknown else "error" if block.is_error else "result"
                shown = "" if unknown else f": {_shown(block.content)}"
                yield f"{kind} {block.tool_call_id}{shown}"
        case Foreign():
            yield event.kind


def _said(block: Block) -> str:
    match block:
        case ToolCall():
            return f"call {block.id} {block.name} {block.arguments}"
        case Reasoning():
            return f"reasoning: {block.text}"
        case _:
            return _shown((block,))


def _shown(blocks: Iterable[Block]) -> str:
    return "\n".join(
        block.text
        if isinstance(block, Text | Reasoning)
        else "[image]"
        if isinstance(block, Image)
        else type(block).__name__
        for block in blocks
    )


def kept(events: Iterable[Event], kind: str) -> list[Any]:
    """The data of the `x/` events of a kind."""
    return [
        msgspec.json.decode(event.data)
        for event in events
        if isinstance(event, Foreign) and event.kind == kind
    ]


def manifest(id: str) -> tuple[Path, dict[str, Any]]:
    """A shared transcript and what its manifest says of it."""
    rows = json.loads(shared("transcripts/manifest.json").read_bytes())["sessions"]
    row = next(row for row in rows if row["id"] == id)
    return shared(f"transcripts/{row['file']}"), row


def figures(counts: Counts) -> dict[str, Any]:
    """Counts in the words of the manifest."""
    usage = counts.usage
    return {
        "turns": counts.turns,
        "steps": counts.steps,
        "tool_calls": counts.tool_calls,
        "tool_errors": counts.tool_errors,
        "compactions": counts.compactions,
        "images": counts.images,
        "chars": counts.chars,
        "usage": usage
        and {
            "in": usage.fresh,
            "cr": usage.read,
            "cw": usage.written,
            "out": usage.out,
            "peak": usage.peak,
        },
    }


def expected(row: dict[str, Any]) -> dict[str, Any]:
    """The figures of a manifest row."""
    names = ("turns", "steps", "tool_calls", "tool_errors", "compactions", "images", "chars")
    return {name: row[name] for name in (*names, "usage")}
