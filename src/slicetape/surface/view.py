"""The view of a session that policies and recall read: it grows with the log."""

from bisect import insort
from collections.abc import Iterable, Sequence
from typing import Self

from slicetape.log.events import (
    Dispatch,
    DispatchStart,
    Event,
    Replace,
    ToolResult,
    is_entry,
    is_snapshot,
)
from slicetape.surface.calls import Calls
from slicetape.surface.surface import Edit, Surface
from slicetape.surface.turns import Turns


class View:
    """Events, surface, turns and calls of one session, advanced by suffix.

    `events` is the log's own sequence (`events[seq].seq == seq`), so nothing is copied. Each
    event is taken in once, however often a policy runs: `scanned` counts them.
    """

    __slots__ = ("calls", "entries", "events", "scanned", "snapshots", "surface", "turns")

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self.surface = Surface()
        self.turns = Turns()
        self.calls = Calls()
        self.entries: list[int] = []
        """Entries on the surface, in surface order."""
        self.snapshots: list[int] = []
        """Runtime snapshots on the surface, in surface order."""
        self.scanned = 0
        """How many events were taken in."""

    @classmethod
    def of(cls, events: Sequence[Event]) -> Self:
        """A view of a whole log. InvalidEvent when an event may not stand where it does."""
        view = cls(events)
        view.catch_up()
        return view

    def catch_up(self) -> list[Edit]:
        """Take in every event that was appended since; the changes of the surface, in order."""
        edits: Iterable[Edit | None] = [self._take(event) for event in self.events[self.scanned :]]
        return [edit for edit in edits if edit]

    def check(self, event: Event) -> None:
        """Raise InvalidEvent when `event` may not be appended; nothing is changed."""
        self.surface.check(event, self.events)

    def advance(self, event: Event) -> Edit | None:
        """Take in the event that was just appended; the change of the surface, if any."""
        assert event.seq == self.scanned, "events are taken in one by one, in order"
        self.scanned += 1
        self.turns.advance(event)
        self.calls.advance(event)
        if isinstance(event, Dispatch | DispatchStart) and event.seq in self.calls.roots:
            self.turns.add(self.calls.roots[event.seq].turn, event.seq)
        edit = self.surface.apply(event)
        if edit:
            self._track(event, edit)
        return edit

    def original(self, seq: int) -> int:
        """The original behind a replaced tool result: first sources, followed to the end.

        Sources of an original are not followed. ValueError when the chain names no tool result
        or returns to itself.
        """
        seen: set[int] = set()
        event = self.events[seq]
        while isinstance(event.surface_op, Replace):
            if event.seq in seen or not event.sources:
                raise ValueError(f"the replacement at seq {seq} names no original tool result")
            seen.add(event.seq)
            event = self.events[event.sources[0]]
        if isinstance(event, ToolResult):
            return event.seq
        raise ValueError(f"the replacement at seq {seq} names no original tool result")

    def _take(self, event: Event) -> Edit | None:
        self.check(event)
        return self.advance(event)

    def _track(self, event: Event, edit: Edit) -> None:
        for seq in edit.removed:
            if is_entry(self.events[seq]):
                self.entries.remove(seq)
            elif is_snapshot(self.events[seq]):
                self.snapshots.remove(seq)
        key = self.surface.label
        if is_entry(event):
            insort(self.entries, event.seq, key=key)
        elif is_snapshot(event):
            insort(self.snapshots, event.seq, key=key)
