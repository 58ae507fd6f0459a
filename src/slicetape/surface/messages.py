"""Nodes to provider-neutral messages."""

from collections.abc import Iterator

from slicetape.log.events import (
    AssistantMessage,
    Event,
    SystemMessage,
    ToolResult,
    UserMessage,
)
from slicetape.log.messages import Message
from slicetape.surface.view import View


def message_at(event: Event) -> Message | None:
    """The message a node becomes; None for an emptied assistant or system message."""
    if isinstance(event, UserMessage):
        return event.data
    if isinstance(event, AssistantMessage | SystemMessage):
        return event.data.message if event.data.message.content else None
    if isinstance(event, ToolResult):
        return event.data.message
    return None


def messages(view: View) -> Iterator[tuple[int, Message]]:
    """Every message of the next request, in order, with the seq of its node."""
    for seq in view.surface.nodes:
        message = message_at(view.events[seq])
        if message:
            yield seq, message
