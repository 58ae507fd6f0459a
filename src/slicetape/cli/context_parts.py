"""What stands in the next request, by kind, with sizes."""

from dataclasses import dataclass

from slicetape.log.events import (
    AssistantMessage,
    SystemMessage,
    ToolResult,
    UserMessage,
    is_entry,
    is_human,
)
from slicetape.log.messages import Image, Reasoning, Text, ToolCall, ToolResultBlock
from slicetape.surface import View

ORDER = (
    "system prompt",
    "tool schemas",
    "human messages",
    "pictures",
    "instructions and context",
    "tape entries",
    "replies",
    "reasoning",
    "calls",
    "results, whole",
    "results, folded",
)


@dataclass(slots=True)
class Part:
    """The nodes of one kind: how many, and their code points."""

    count: int = 0
    chars: int = 0


def parts(view: View, tool_schemas: str) -> dict[str, Part]:
    """What the next request holds, in the order of `ORDER`, without kinds that are not there."""
    found = {name: Part() for name in ORDER}
    if tool_schemas:
        _add(found["tool schemas"], len(tool_schemas))
    for seq in view.surface.nodes:
        event = view.events[seq]
        if isinstance(event, SystemMessage):
            _blocks(found, "system prompt", event.data.message.content)
        elif isinstance(event, UserMessage):
            _blocks(found, _kind(event), event.data.content)
        elif isinstance(event, AssistantMessage):
            _blocks(found, "replies", event.data.message.content)
        elif isinstance(event, ToolResult):
            name = "results, whole" if event.is_original else "results, folded"
            _blocks(found, name, event.data.message.content)
    return {name: part for name, part in found.items() if part.count}


def _kind(event: UserMessage) -> str:
    if is_entry(event):
        return "tape entries"
    if is_human(event):
        return "human messages"
    return "instructions and context"


def _blocks(found: dict[str, Part], name: str, blocks: tuple[object, ...]) -> None:
    text = 0
    for block in blocks:
        match block:
            case Text():
                text += len(block.text)
            case Reasoning():
                _add(found["reasoning"], len(block.text))
            case ToolCall():
                _add(found["calls"], len(block.name) + len(block.arguments))
            case ToolResultBlock():
                text += sum(len(part.text) for part in block.content if isinstance(part, Text))
            case Image():
                _add(found["pictures"], 0)
    if text:
        _add(found[name], text)


def _add(part: Part, chars: int) -> None:
    part.count += 1
    part.chars += chars
