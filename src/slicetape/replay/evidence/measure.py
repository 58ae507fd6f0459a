"""The whole measure of one recording: what is shared by its arms, and the findings of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slicetape.replay.evidence.explain import Missing, worst
from slicetape.replay.evidence.fidelity import Fidelity, Shown
from slicetape.replay.evidence.figures import Counts, Evidence, HiddenCounts, Share, evidence
from slicetape.replay.evidence.hits import Hits
from slicetape.replay.evidence.recalls import Pages, Recalled, predicted, with_recall, with_reread
from slicetape.replay.evidence.recovery import all_hidden, recovered
from slicetape.replay.evidence.references import KINDS, References
from slicetape.replay.evidence.visible import Seen, Visibility
from slicetape.replay.nodes import Nodes
from slicetape.replay.pricing import Bill
from slicetape.replay.recording import Recording
from slicetape.replay.recoverable import Reader
from slicetape.replay.run import Run

FOLDING = frozenset(("fold", "slicetape"))
"""Policies whose first sights are always counted."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a run hid, and what that would have cost, by sheet.

    `fidelity` is empty where the policy does not fold and no result was cut before it was first
    sent, `missing` unless asked for. `with_reread` has None for sheets that give output no price.
    """

    evidence: Evidence
    with_recall: Mapping[str, float]
    with_reread: Mapping[str, float | None]
    fidelity: Mapping[str, Shown]
    missing: tuple[Missing, ...]


class Measure:
    """Everything that is found once for all arms of a recording."""

    def __init__(self, recording: Recording, nodes: Nodes) -> None:
        self.references = References(recording)
        self.pages = Pages(self.references, nodes)
        self.hits = Hits(recording)
        self.fidelity = Fidelity(self.references)

    def findings(
        self,
        run: Run,
        bills: Sequence[Bill],
        *,
        reader: Reader,
        explain: bool = False,
    ) -> Findings:
        """What a run hid that was made with these references."""
        visibility = run.visibility
        assert visibility is not None, "the run was made without references"
        recalls = [row for seen in visibility.seen if (row := self.pages.recalled(seen))]
        return Findings(
            evidence=self._evidence(visibility, reader),
            with_recall={
                bill.sheet.id: float(with_recall(bill, run.sent, recalls)) for bill in bills
            },
            with_reread=_rereads(bills, run, recalls),
            fidelity=self._first_sights(visibility, folds=run.arm.policy in FOLDING),
            missing=worst(visibility, self.hits) if explain else (),
        )

    def _evidence(self, visibility: Visibility, reader: Reader) -> Evidence:
        seen, hits = visibility.seen, self.hits
        lost = list(all_hidden(seen))
        hows = [hidden.how for _, hidden in lost]
        found: int | None = None
        back = open_turn = 0
        if visibility.recalls:
            folded = frozenset(one.seq for one in visibility.first)
            misses = [
                row for row in lost if hits.found(row[0].step, row[1].reference, folded) is None
            ]
            found = len(lost) - len(misses)
            open_turn = sum(hits.in_open_turn(row.step, hid.reference) for row, hid in misses)
            back = recovered(visibility, reader, hits)
        counts = Counts(
            steps=len(seen),
            referring_steps=sum(bool(row.step.references) for row in seen),
            clean=sum(bool(row.step.references) and not row.hidden for row in seen),
            recovered=back,
            found=found,
            open_turn=open_turn,
            **_shares(seen),
        )
        gone = HiddenCounts(hows.count("sealed"), hows.count("folded"), hows.count("dropped"))
        return evidence(counts, gone, sum(bool(predicted(row)) for row in seen))

    def _first_sights(self, visibility: Visibility, *, folds: bool) -> Mapping[str, Shown]:
        if not folds and not visibility.first:
            return {}
        places = {seq: visibility.place(seq) for seq in self.references.events}
        return self.fidelity.of(visibility.session.view, places, visibility.first)


def _shares(seen: Sequence[Seen]) -> dict[str, Share]:
    """Visible and all references by kind."""
    found: dict[str, Share] = {}
    for kind in KINDS:
        total = sum(row.kind == kind for one in seen for row in one.step.references)
        gone = sum(row.reference.kind == kind for one in seen for row in one.hidden)
        found[kind] = Share(total - gone, total)
    return found


def _rereads(bills: Sequence[Bill], run: Run, recalls: list[Recalled]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for bill in bills:
        money = with_reread(bill, run.sent, recalls)
        found[bill.sheet.id] = None if money is None else float(money)
    return found
