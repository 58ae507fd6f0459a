"""The transcript of a session for programs: what was said and done, an object an event."""

from collections.abc import Iterator

from slicetape.cli.nodes import kind_of, said
from slicetape.log.events import (
    AssistantMessage,
    Dispatch,
    SystemMessage,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from slicetape.log.messages import Reasoning, Text, ToolCall, ToolResultBlock
from slicetape.recall.records import result_text, source_name
from slicetape.surface import View


def transcript_rows(view: View, first: int, last: int) -> Iterator[dict[str, object]]:
    """What was said and done from seq `first` to `last`, an object an event, for programs."""
    for seq in range(first, last + 1):
        event = view.events[seq]
        if not event.is_original:
            continue
        row: dict[str, object] = {"seq": seq, "time": event.time}
        if isinstance(event, TurnStart):
            yield {**row, "kind": "turn-start", "turn": event.data.turn}
        elif isinstance(event, TurnEnd):
            reason = event.data.reason.kind
            yield {**row, "kind": "turn-end", "turn": event.data.turn, "reason": reason}
        elif isinstance(event, UserMessage):
            row |= {"kind": kind_of(event), "turn": view.turns.owner(event)}
            if event.data.source.kind != "user":
                row["source"] = source_name(event.data.source)
            yield {**row, "text": said(event.data)}
        elif isinstance(event, SystemMessage):
            yield {**row, "kind": "system", "text": said(event.data.message)}
        elif isinstance(event, AssistantMessage):
            yield row | _assistant_row(event)
        elif isinstance(event, ToolResult):
            yield from (row | found for found in _result_rows(view, event))
        elif isinstance(event, Dispatch):
            yield row | _nested_row(event)


def _assistant_row(event: AssistantMessage) -> dict[str, object]:
    blocks = event.data.message.content
    return {
        "kind": "assistant",
        "turn": event.data.turn,
        "step": event.data.step,
        "model": event.data.message.source.model,
        "text": "".join(block.text for block in blocks if isinstance(block, Text)),
        "reasoning": "".join(block.text for block in blocks if isinstance(block, Reasoning)),
        "calls": [
            {"id": block.id, "name": block.name, "arguments": block.arguments}
            for block in blocks
            if isinstance(block, ToolCall)
        ],
    }


def _result_rows(view: View, event: ToolResult) -> Iterator[dict[str, object]]:
    blocks = [b for b in event.data.message.content if isinstance(b, ToolResultBlock)]
    for number, (block, name) in enumerate(zip(blocks, view.calls.names[event.seq], strict=True)):
        yield {
            "kind": "result",
            "turn": event.data.turn,
            "step": event.data.step,
            "block": number + 1,
            "call": block.tool_call_id,
            "name": name,
            "error": bool(block.is_error),
            "text": result_text(block),
        }


def _nested_row(event: Dispatch) -> dict[str, object]:
    return {
        "kind": "nested-call",
        "call": event.data.root_call_id,
        "name": event.data.name,
        "arguments": bytes(event.data.arguments).decode(),
        "error": bool(event.data.is_error),
        "text": "".join(part.text for part in event.data.content if isinstance(part, Text)),
    }
