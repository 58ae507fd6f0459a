"""The surface as it grows: the same order as `project`, with work proportional to the change."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from slicetape.errors import InvalidEvent
from slicetape.log.events import (
    Event,
    Replace,
    SystemMessage,
    ToolResult,
    type_of,
)
from slicetape.log.messages import ToolResultBlock


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of the surface: at `position`, the nodes `removed` gave way to `added`."""

    position: int
    removed: tuple[int, ...]
    added: int


class Surface:
    """Seqs in the order the model reads them.

    Every node carries a label; labels increase along the surface, and a replacement takes the
    label of the first node it replaces. So positions are found by bisection, never by a walk.
    """

    __slots__ = ("_label", "_labels", "_next", "generation", "nodes")

    def __init__(self) -> None:
        self.nodes: list[int] = []
        self.generation = 0
        self._labels: list[int] = []
        self._label: dict[int, int] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, seq: int) -> bool:
        return seq in self._label

    def label(self, seq: int) -> int:
        """A number that orders nodes as the surface does; KeyError when `seq` is not on it."""
        return self._label[seq]

    def position(self, seq: int) -> int:
        """The place of a node, from 0; KeyError when `seq` is not on the surface."""
        return bisect_left(self._labels, self._label[seq])

    def label_at(self, position: int) -> int:
        """The label at a position; behind the last node, that of the node to come."""
        return self._labels[position] if position < len(self._labels) else self._next

    def first_at(self, label: int) -> int:
        """The first position whose label is at least `label`."""
        return bisect_left(self._labels, label)

    def span(self, replace: Replace) -> tuple[int, int]:
        """The positions that a replacement covers, both included; InvalidEvent when it cannot."""
        for seq in (replace.start_seq, replace.end_seq):
            if seq not in self._label:
                raise InvalidEvent(f"seq {seq} is not on the surface, so nothing can replace it")
        left, right = self.position(replace.start_seq), self.position(replace.end_seq)
        if left > right:
            raise InvalidEvent(
                f"seq {replace.start_seq} stands behind seq {replace.end_seq} on the surface; "
                "a replacement names the first node, then the last"
            )
        return left, right

    def apply(self, event: Event) -> Edit | None:
        """Advance by a checked event; None when the event changes nothing."""
        op = event.surface_op
        if op is None:
            return None
        if not isinstance(op, Replace):
            self.nodes.append(event.seq)
            self._labels.append(self._next)
            self._label[event.seq] = self._next
            self._next += 1
            return Edit(len(self.nodes) - 1, (), event.seq)
        left, right = self.span(op)
        removed = tuple(self.nodes[left : right + 1])
        label = self._labels[left]
        for seq in removed:
            del self._label[seq]
        self.nodes[left : right + 1] = [event.seq]
        self._labels[left : right + 1] = [label]
        self._label[event.seq] = label
        self.generation += 1
        return Edit(left, removed, event.seq)

    def check(self, event: Event, events: Sequence[Event]) -> None:
        """Raise InvalidEvent, with nothing changed, when `event` may not change this surface."""
        op = event.surface_op
        if not isinstance(op, Replace):
            return
        left, right = self.span(op)
        shadowed = self.nodes[left : right + 1]
        missing = set(shadowed) - set(event.sources)
        if missing:
            raise InvalidEvent(
                f"the replacement of seqs {op.start_seq} to {op.end_seq} must cite every node it "
                f"shadows in sourceEventSeqs; {min(missing)} is not cited"
            )
        if left == 0:
            self._check_head(event, shadowed, events)
        if isinstance(event, ToolResult):
            _check_rewrite(event, [events[seq] for seq in shadowed])

    def _check_head(self, event: Event, shadowed: list[int], events: Sequence[Event]) -> None:
        head = events[shadowed[0]]
        if isinstance(head, SystemMessage) and not (
            isinstance(event, SystemMessage) and len(shadowed) == 1
        ):
            raise InvalidEvent(
                f"node 0 (seq {head.seq}) is the system message; only another system/message may "
                "replace it, and only it"
            )


def _check_rewrite(event: ToolResult, shadowed: list[Event]) -> None:
    if len(shadowed) != 1 or not isinstance(shadowed[0], ToolResult):
        kinds = ", ".join(type_of(node) for node in shadowed[:4])
        raise InvalidEvent(f"a tool/result replaces exactly one tool/result, not {kinds}")
    if _frame(event) != _frame(shadowed[0]):
        raise InvalidEvent(
            f"a tool/result that replaces seq {shadowed[0].seq} may change only the content of its "
            "blocks; turn, step, error, meta, message id, source, call id and isError stay"
        )


def _frame(event: ToolResult) -> tuple[object, ...]:
    data = event.data
    blocks = tuple(
        (block.tool_call_id, block.is_error) if isinstance(block, ToolResultBlock) else block
        for block in data.message.content
    )
    return (
        data.turn,
        data.step,
        data.error,
        bytes(data.meta),
        data.message.id,
        data.message.source,
        blocks,
    )
