"""Nodes that stay: what no policy may move."""

from collections.abc import Sequence

from slicetape.log.events import (
    AssistantMessage,
    ToolResult,
    is_entry,
    is_snapshot,
    is_snapshot_source,
)
from slicetape.log.messages import Message
from slicetape.surface.view import View


def live_snapshot(view: View, pending: Sequence[Message] = ()) -> int | None:
    """The runtime snapshot in force; None when there is none or a pending one supersedes all."""
    if any(is_snapshot_source(message.source) for message in pending):
        return None
    return view.snapshots[-1] if view.snapshots else None


def is_superseded(view: View, seq: int, live: int | None) -> bool:
    """Whether a node is a snapshot that a later one replaced, in a turn that recall serves."""
    event = view.events[seq]
    return is_snapshot(event) and seq != live and view.turns.owner(event) >= 1


def is_protected(view: View, seq: int, live: int | None) -> bool:
    """Whether a node behind the last entry must stay where it is.

    Only assistant messages and tool results of completed turns, and superseded snapshots, may be
    sealed; everything else stays: system, human and foreign messages, entries, the live snapshot.
    """
    event = view.events[seq]
    if is_superseded(view, seq, live):
        return False
    if is_entry(event) or seq > view.turns.completed_through:
        return True
    return not (isinstance(event, AssistantMessage | ToolResult) and view.turns.owner(event) >= 1)
