"""What sealing remembers of one session; all of it can be rebuilt from the log."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from slicetape.log.events import Event, Foreign, Replace
from slicetape.policy.observe import Evidence
from slicetape.policy.policy import Leave
from slicetape.surface.protect import may_move
from slicetape.surface.view import View

LEFT_KIND = "x/seal"
"""The ignorable event that records what sealing left raw, so that a resume decides the same."""


class LeftRaw(msgspec.Struct, frozen=True):
    """The data of an `x/seal` event: nodes left raw for good, and why."""

    left: tuple[int, ...] = ()
    why: str = ""


@dataclass(slots=True)
class SealState:
    """The memory of one live session object; a session that is opened again starts a new one.

    Everything ahead of the floor is decided: nodes that stay for good, and runs that cannot be
    sealed as they stand. A change ahead of the floor moves it back.
    """

    evidence: Evidence = field(default_factory=Evidence)
    left: set[int] = field(default_factory=set)
    warned: set[tuple[int, tuple[str, ...]]] = field(default_factory=set)
    scanned: int = 0
    walked: int = 0
    """How many nodes were looked at, over all plans."""
    _floor: int = 0
    _live: int | None = None
    _last_entry: int | None = None

    def advance(self, view: View) -> None:
        """Take in what was appended since."""
        self.evidence.advance(view)
        for seq in range(self.scanned, view.scanned):
            event = view.events[seq]
            self.left.update(_left_of(event))
            if type(event.surface_op) is Replace and seq in view.surface:
                self._reopen(view, seq)
        self.scanned = view.scanned

    def start(self, view: View, live: int | None) -> int:
        """The surface position where undecided nodes begin; `live` is the snapshot in force."""
        surface = view.surface
        if self._last_entry is not None and self._last_entry not in surface:
            self._floor = 0
        if self._live != live:
            for seq in (self._live, live):
                if seq is not None and seq in surface:
                    self._reopen(view, seq)
        self._live = live
        self._last_entry = view.entries[-1] if view.entries else None
        return max(_frozen(view), surface.first_at(self._floor))

    def settle(self, view: View, position: int) -> None:
        """Everything before `position` is decided."""
        self._floor = view.surface.label_at(position)

    def has_warned(self, leave: Leave) -> bool:
        """Whether the operator was told of this cut."""
        return (leave.nodes[0], leave.ids) in self.warned

    def new_warnings(self, left: Sequence[Leave]) -> Iterator[str]:
        """Warnings not given yet; from now on they are."""
        for leave in left:
            if leave.warning is not None and not self.has_warned(leave):
                self.warned.add((leave.nodes[0], leave.ids))
                yield leave.warning

    def _reopen(self, view: View, seq: int) -> None:
        """Decide again about a node that changed, and the run around it."""
        surface = view.surface
        if surface.label(seq) >= self._floor:
            return
        position, frozen = surface.position(seq), _frozen(view)
        while position > frozen and self._is_open(view, surface.nodes[position - 1]):
            position -= 1
        self._floor = surface.label_at(position)

    def _is_open(self, view: View, seq: int) -> bool:
        return seq not in self.left and may_move(view, seq)


def _frozen(view: View) -> int:
    """The surface position behind the last entry."""
    return view.surface.position(view.entries[-1]) + 1 if view.entries else 0


def _left_of(event: Event) -> tuple[int, ...]:
    if not isinstance(event, Foreign) or event.kind != LEFT_KIND:
        return ()
    try:
        return msgspec.json.decode(event.data, type=LeftRaw).left
    except msgspec.DecodeError:
        return ()
