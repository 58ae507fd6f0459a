"""What sealing remembers of one session; all of it can be rebuilt from the log."""

from dataclasses import dataclass, field

import msgspec

from slicetape.log.events import Event, Foreign
from slicetape.policy.observe import Evidence
from slicetape.surface.protect import is_protected
from slicetape.surface.view import View

LEFT_KIND = "x/seal"
"""The ignorable event that records what sealing left raw, so that a resume decides the same."""


class LeftRaw(msgspec.Struct, frozen=True):
    """The data of an `x/seal` event: nodes left raw for good, and why."""

    left: tuple[int, ...] = ()
    why: str = ""


@dataclass(slots=True)
class SealState:
    """What sealing remembers of one session; all of it can be rebuilt from the log."""

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
            self.left.update(_left_of(view.events[seq]))
        self.scanned = view.scanned

    def start(self, view: View, live: int | None) -> int:
        """The surface position where undecided nodes begin."""
        surface = view.surface
        if self._last_entry is not None and self._last_entry not in surface:
            self._floor = 0
        if self._live is not None and self._live != live and self._live in surface:
            position = surface.position(self._live)
            while position > 0 and not is_protected(view, surface.nodes[position - 1], live):
                position -= 1
            self._floor = min(self._floor, surface.label(surface.nodes[position]))
        self._live = live
        self._last_entry = view.entries[-1] if view.entries else None
        frozen = surface.position(view.entries[-1]) + 1 if view.entries else 0
        return max(frozen, surface.first_at(self._floor))

    def settle(self, view: View, position: int) -> None:
        """Everything before `position` is decided."""
        nodes = view.surface.nodes
        if position < len(nodes):
            self._floor = view.surface.label(nodes[position])


def _left_of(event: Event) -> tuple[int, ...]:
    if not isinstance(event, Foreign) or event.kind != LEFT_KIND:
        return ()
    try:
        return msgspec.json.decode(event.data, type=LeftRaw).left
    except msgspec.DecodeError:
        return ()
