"""What stands in front of the model at each request of one arm, of all that it will refer to.

A map from token to the number of nodes that show it, kept up with the edits of the surface: a node
costs the tokens of references in it, once when it comes and once when it goes; only what an arm
writes itself is looked through again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from slicetape.log.events import Event, ToolResult, is_entry
from slicetape.policy.entry import original_of
from slicetape.replay.evidence.references import Reference, References, Step
from slicetape.replay.evidence.standing import Lines, Originals, standing
from slicetape.replay.evidence.tokens import said, texts_of
from slicetape.surface import Edit, Session

How = Literal["folded", "sealed", "dropped"]

_WORST: tuple[How, ...] = ("folded", "sealed", "dropped")


@dataclass(frozen=True, slots=True)
class Hidden:
    """A reference that the request did not show.

    `holders` are the nodes that stand where its sources stood, in the log of the arm, in the order
    of the sources.
    """

    reference: Reference
    how: How
    holders: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """One step of an arm: what its request hid. `request` is its place among those of the run."""

    step: Step
    request: int
    hidden: tuple[Hidden, ...]


@dataclass(frozen=True, slots=True)
class Folded:
    """A result that was a view when it was first sent: its seq in the recording, and the view."""

    seq: int
    view: ToolResult
    shown: frozenset[str]


@dataclass(slots=True)
class Visibility:
    """Follows one session.

    `recorded` gives the recorded event that the event just appended repeats, None for what the
    arm wrote; `recalls` says that what it hides has a way back. `seen` has every step, `first`
    every result that was folded before it was first sent. `counted` counts changes of the map.
    """

    session: Session
    references: References
    recorded: Callable[[], Event | None]
    recalls: bool
    seen: list[Seen] = field(default_factory=list)
    first: list[Folded] = field(default_factory=list)
    counted: int = 0
    _nodes: Counter[str] = field(default_factory=Counter)
    _shown: dict[int, frozenset[str]] = field(default_factory=dict)
    _lines: dict[int, Lines] = field(default_factory=dict)
    _holder: dict[int, int] = field(default_factory=dict)
    _places: dict[int, int] = field(default_factory=dict)
    _seqs: dict[int, int] = field(default_factory=dict)
    _unsent: list[int] = field(default_factory=list)
    _wanted: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._wanted = frozenset().union(*self.references.contained.values())
        self.session.listen(self._edited)

    def request(self, answer: Event, at: int) -> None:
        """Take the surface as it stands as request `at`, to which `answer` was the reply."""
        self._sent()
        step = self.references.steps.get(answer.seq)
        if step is None:
            return
        hidden = tuple(
            self._hidden(reference)
            for reference in step.references
            if not self._nodes[reference.token]
        )
        self.seen.append(Seen(step, at, hidden))

    def place(self, seq: int) -> int:
        """Where the event `seq` of the recording stands in the log of the arm."""
        return self._places[seq]

    def _sent(self) -> None:
        """Note the results that are sent for the first time, and not whole."""
        for seq in self._unsent:
            holder = self._stands_at(seq)
            view = self.session.view.events[holder]
            if holder != seq and isinstance(view, ToolResult):
                self.first.append(Folded(self._seqs[seq], view, self._shown[holder]))
        self._unsent.clear()

    def _hidden(self, reference: Reference) -> Hidden:
        holders = tuple(self._stands_at(self._places[seq]) for seq in reference.sources)
        found = {self._how(holder) for holder in holders}
        return Hidden(reference, next(how for how in _WORST if how in found), holders)

    def _how(self, holder: int) -> How:
        event = self.session.view.events[holder]
        if not self.recalls:
            return "dropped"
        if is_entry(event):
            return "sealed"
        return "folded" if isinstance(event, ToolResult) else "dropped"

    def _stands_at(self, seq: int) -> int:
        """The node on the surface that stands where `seq` stood."""
        passed = []
        while seq in self._holder:
            passed.append(seq)
            seq = self._holder[seq]
        for gone in passed:
            self._holder[gone] = seq
        return seq

    def _edited(self, event: Event, edit: Edit | None) -> None:
        if edit is None:
            return
        repeated = self.recorded()
        if repeated is not None:
            self._places[repeated.seq] = event.seq
            self._seqs[event.seq] = repeated.seq
            shown = self.references.contained.get(repeated.seq, frozenset())
            if isinstance(event, ToolResult):
                self._unsent.append(event.seq)
        else:
            shown = self._written(event, edit.removed)
        for gone in edit.removed:
            self._holder[gone] = event.seq
            self._lines.pop(gone, None)
            self._count(self._shown.pop(gone), -1)
        self._shown[event.seq] = shown
        self._count(shown, 1)

    def _count(self, shown: Iterable[str], by: int) -> None:
        for token in shown:
            self._nodes[token] += by
            self.counted += 1

    def _written(self, event: Event, removed: Sequence[int]) -> frozenset[str]:
        """The tokens that a text of the arm shows, in the place of the nodes `removed`."""
        view = self.session.view
        earlier = [self._lines[seq] for seq in removed if seq in self._lines]

        def texts() -> Iterator[str]:
            for seq in removed:
                original = original_of(view, seq)
                if view.events[original].is_original:
                    yield from texts_of(view.events[original])

        lines = standing(said(event), Originals(texts, earlier), self._wanted)
        if not isinstance(event, ToolResult):
            self._lines[event.seq] = lines
        return frozenset().union(*lines.values())
