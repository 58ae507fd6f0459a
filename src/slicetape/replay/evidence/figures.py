"""The figures of an arm: counts that add up over sessions, and the ratios made of them."""

from collections.abc import Iterable

import msgspec

FEWEST = 30
"""References below which a ratio says nothing, and is not given."""


class Share(msgspec.Struct, frozen=True):
    """How many of how many."""

    visible: int = 0
    total: int = 0

    def __add__(self, other: "Share") -> "Share":
        return Share(self.visible + other.visible, self.total + other.total)

    @property
    def ratio(self) -> float | None:
        """None over fewer than 30."""
        return self.visible / self.total if self.total >= FEWEST else None


class HiddenCounts(msgspec.Struct, frozen=True):
    """Hidden references by what became of their sources."""

    sealed: int = 0
    folded: int = 0
    dropped: int = 0

    @property
    def total(self) -> int:
        """All hidden references."""
        return self.sealed + self.folded + self.dropped

    def __add__(self, other: "HiddenCounts") -> "HiddenCounts":
        return HiddenCounts(
            self.sealed + other.sealed, self.folded + other.folded, self.dropped + other.dropped
        )


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What the ratios are made of.

    `steps` are messages of the model, `referring_steps` those with a reference, `clean` those of
    them that hide none. `recovered` and `found` are of the hidden references; of those not found,
    `open_turn` have every source in the turn that is still open, which no search looks through.
    """

    steps: int = 0
    referring_steps: int = 0
    clean: int = 0
    tool: Share = Share()
    said: Share = Share()
    mixed: Share = Share()
    recovered: int = 0
    found: int | None = 0
    open_turn: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        found = None
        if self.found is not None and other.found is not None:
            found = self.found + other.found
        return Counts(
            steps=self.steps + other.steps,
            referring_steps=self.referring_steps + other.referring_steps,
            clean=self.clean + other.clean,
            tool=self.tool + other.tool,
            said=self.said + other.said,
            mixed=self.mixed + other.mixed,
            recovered=self.recovered + other.recovered,
            found=found,
            open_turn=self.open_turn + other.open_turn,
        )


class Evidence(msgspec.Struct, frozen=True, kw_only=True, rename={"recall_hits": "recall_hits@5"}):
    """What an arm left in front of the model, of what the model went on to use.

    A ratio over fewer than 30 references is None. `recall_hits` is None for arms without recall
    tools. `predicted_recalls` is a count of steps.
    """

    references: int
    visible: float | None
    visible_tool: float | None
    visible_said: float | None
    visible_mixed: float | None
    clean_steps: float | None
    hidden: HiddenCounts
    recoverable: float | None
    recall_hits: float | None
    predicted_recalls: int
    counts: Counts


def evidence(counts: Counts, hidden: HiddenCounts, predicted: int) -> Evidence:
    """The ratios of counts."""
    every = counts.tool + counts.said + counts.mixed
    enough = every.total >= FEWEST
    return Evidence(
        references=every.total,
        visible=every.ratio,
        visible_tool=counts.tool.ratio,
        visible_said=counts.said.ratio,
        visible_mixed=counts.mixed.ratio,
        clean_steps=counts.clean / counts.referring_steps if enough else None,
        hidden=hidden,
        recoverable=Share(counts.recovered, hidden.total).ratio,
        recall_hits=None if counts.found is None else Share(counts.found, hidden.total).ratio,
        predicted_recalls=predicted,
        counts=counts,
    )


def summed(rows: Iterable[Evidence]) -> Evidence:
    """The figures of several sessions as those of one."""
    counts, hidden, predicted = Counts(), HiddenCounts(), 0
    for row in rows:
        counts, hidden = counts + row.counts, hidden + row.hidden
        predicted += row.predicted_recalls
    return evidence(counts, hidden, predicted)
