"""One line for each thing that happens in a running session, as a person reads it."""

import json
from collections.abc import Iterator

from slicetape.cli.text import counted, one_line
from slicetape.log.events import (
    AssistantMessage,
    CompactionEnd,
    CompactionSummary,
    Event,
    Retry,
    ToolCalled,
    ToolResult,
    UserMessage,
)
from slicetape.log.locator import result_locator, turn_locator
from slicetape.log.messages import Text, ToolResultBlock, text_of
from slicetape.log.payloads import EndReason
from slicetape.loop.prestep import Prepared
from slicetape.policy.header import turn_range
from slicetape.surface import View

_MOST = 90
_SUBJECTS = ("file_path", "path", "command", "pattern", "query", "turn", "seq")


def lines_of(event: Event) -> Iterator[str]:
    """What is said of an event; nothing for most of them."""
    match event:
        case ToolCalled():
            yield f"● {event.data.name} {subject(event.data.arguments)}".rstrip()
        case ToolResult() if event.is_original:
            yield f"  └ {_result(event)}"
        case Retry():
            wait = event.data.delay_ms / 1_000
            failure = event.data.failure
            yield (
                f"↻ {one_line(failure.message or failure.code, _MOST)}: trying again in "
                f"{wait:.1f} s ({event.data.retry} of {event.data.max_retries})"
            )
        case CompactionSummary():
            count = len(event.data.shadowed_seqs)
            yield f"▤ compacted: a summary stands for {counted(count, 'message')}"
        case CompactionEnd() if event.data.error:
            yield f"▤ not compacted: {one_line(json.loads(event.data.error), _MOST)}"


def prepared_lines(prepared: Prepared, view: View) -> Iterator[str]:
    """What the policy hid before a step, each with the call that brings it back."""
    for entry in prepared.entries:
        yield f"▣ sealed {_sealed(entry, view)}"
    for shown in prepared.views:
        original = view.events[view.original(shown.seq)]
        assert isinstance(original, ToolResult)
        before, after = _chars(original), _chars(shown)
        locator = result_locator(original.seq)
        yield f"▽ folded {_name(view, original)}: {before:,} → {after:,} chars · {locator}"


def ending(reason: EndReason) -> str:
    """Why a turn ended, when it did not simply complete."""
    if reason.kind == "completed":
        return ""
    if reason.kind == "error":
        failure = reason.error
        return f"error: {one_line(failure.message or failure.code, 300) if failure else 'unknown'}"
    return {
        "aborted": "stopped by the user",
        "blocked": "ended at the step limit; say “go on” to let it continue",
        "max-tokens": "the model's answer reached its output limit and was cut",
    }.get(reason.kind, reason.kind)


def subject(arguments: str) -> str:
    """What a call is about: its path, command or pattern, on one line."""
    try:
        said = json.loads(arguments)
    except (ValueError, RecursionError):
        return one_line(arguments, _MOST)
    if not isinstance(said, dict):
        return one_line(arguments, _MOST)
    for name in _SUBJECTS:
        if name in said:
            return one_line(str(said[name]), _MOST)
    return one_line(arguments, _MOST) if said else ""


def said(event: AssistantMessage) -> str:
    """The visible text of an answer."""
    return text_of(event.data.message.content)


def _result(event: ToolResult) -> str:
    texts = _texts(event)
    text = "\n".join(texts)
    if event.data.error or any(
        isinstance(b, ToolResultBlock) and b.is_error for b in event.data.message.content
    ):
        return one_line(text.partition("\n")[0], _MOST) or "error"
    lines = len(text.splitlines())
    size = f"{counted(lines, 'line')}, {len(text):,} chars"
    return size if lines != 1 else one_line(text, _MOST)


def _sealed(entry: UserMessage, view: View) -> str:
    nodes = entry.sources
    before = sum(_node_chars(view.events[seq]) for seq in nodes)
    text = text_of(entry.data.content)
    turns = turn_range(text)
    turn = turns[1] if turns else view.turns.ended
    locator = turn_locator(turn)
    return (
        f"turn {turn}: {counted(len(nodes), 'message')}, {before:,} → {len(text):,} chars"
        f" · {locator}"
    )


def _node_chars(event: Event) -> int:
    if isinstance(event, ToolResult):
        return _chars(event)
    if isinstance(event, AssistantMessage):
        return sum(
            len(getattr(block, "text", "")) + len(getattr(block, "arguments", ""))
            for block in event.data.message.content
        )
    return len(text_of(event.data.content)) if isinstance(event, UserMessage) else 0


def _name(view: View, event: ToolResult) -> str:
    call_id = event.data.message.source.call_id or ""
    call = view.calls.newest(call_id)
    return f"{call.name} {subject(call.arguments)}".rstrip() if call else "a result"


def _chars(event: ToolResult) -> int:
    return sum(map(len, _texts(event)))


def _texts(event: ToolResult) -> list[str]:
    return [
        part.text
        for block in event.data.message.content
        if isinstance(block, ToolResultBlock)
        for part in block.content
        if isinstance(part, Text)
    ]
