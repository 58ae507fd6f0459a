"""Nodes that stay: what no policy may move."""

from collections.abc import Sequence

from slicetape.log.events import AssistantMessage, ToolResult, is_snapshot, is_snapshot_source
from slicetape.log.messages import Message
from slicetape.surface.view import View


def live_snapshot(view: View, pending: Sequence[Message] = ()) -> int | None:
    """The runtime snapshot in force; None when there is none or a pending one supersedes all."""
    if any(is_snapshot_source(message.source) for message in pending):
        return None
    return view.snapshots[-1] if view.snapshots else None


def may_move(view: View, seq: int) -> bool:
    """Whether a node is of a kind that is sealed sooner or later, in a turn that recall serves.

    These are assistant messages, tool results and runtime snapshots; system, human and foreign
    messages and entries never are.
    """
    event = view.events[seq]
    kind = isinstance(event, AssistantMessage | ToolResult) or is_snapshot(event)
    return kind and view.turns.owner(event) >= 1


def is_protected(view: View, seq: int, live: int | None) -> bool:
    """Whether a node behind the last entry must stay where it is for now.

    Free are messages and results logged before the last turn/end, and superseded snapshots
    wherever they were logged; `live` is the snapshot in force.
    """
    if not may_move(view, seq):
        return True
    if is_snapshot(view.events[seq]):
        return seq == live
    return seq > view.turns.completed_through
