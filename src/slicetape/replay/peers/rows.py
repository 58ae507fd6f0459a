"""What a comparison with peers reports: one row for each peer setup and arm of a session."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Literal

import msgspec

from slicetape.replay.evidence.fidelity import Shown as Lines
from slicetape.replay.evidence.figures import Evidence, summed
from slicetape.replay.peers.fidelity import Shown

State = Literal["measured", "absent", "failed"]


class Spent(msgspec.Struct, frozen=True):
    """Milliseconds of work before a request."""

    median: float = 0.0
    p95: float = 0.0
    max: float = 0.0


class PeerRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One way of building the requests of a session.

    `absent` peers could not be installed, `failed` ones gave up: both carry a `reason` and no
    figures. `failed_requests` were sent as they came. `sent_bytes` are those of all message lists,
    `common_bytes` began the list before as well, `last_share` is the last list in parts of the
    whole one. Breaks are requests that do not extend the
    bytes of the one before. Costs and `vs_transcript` are by price sheet, without output.

    `fidelity` counts what the survey of peers counted at first sight, `first_sight` what the
    measure of evidence counts; the rest is the measure of evidence as replay has it.
    """

    name: str
    ours: bool = False
    state: State = "measured"
    reason: str | None = None
    versions: Mapping[str, str] = {}
    requests: int = 0
    failed_requests: int = 0
    first_failure: str | None = None
    sent_bytes: int = 0
    common_bytes: int = 0
    last_share: float = 0.0
    prefix_breaks: int = 0
    prefix_breaks_at_turn: int = 0
    input_tokens: int = 0
    cost: Mapping[str, float] = {}
    vs_transcript: Mapping[str, float] = {}
    ms: Spent | None = None
    fidelity: Mapping[str, Shown] = {}
    first_sight: Mapping[str, Lines] = {}
    evidence: Evidence | None = None
    cost_with_recall: Mapping[str, float] = {}
    cost_with_reread: Mapping[str, float | None] = {}

    def as_faithful_as(self, other: "PeerRow") -> bool:
        """Whether no kind of evidence is shown less than `other` shows it, at first sight.

        That a result is whole is no evidence of its own.
        """
        mine, lines = self.fidelity, self.first_sight
        return all(
            kind in mine and mine[kind].shown >= figure.shown
            for kind, figure in other.fidelity.items()
            if kind != "results"
        ) and all(
            kind in lines and lines[kind].shown + lines[kind].counted >= figure.shown
            for kind, figure in other.first_sight.items()
        )

    def beats(self, other: "PeerRow", sheets: Iterable[str]) -> tuple[str, ...]:
        """The sheets on which it costs less, shows no less, and does not pay for it later.

        It pays for it when it costs more both with recalls and with re-reading.
        """
        if not self.as_faithful_as(other):
            return ()
        return tuple(id for id in self.cheaper_on(other, sheets) if not self._pays(other, id))

    def _pays(self, than: "PeerRow", id: str) -> bool:
        pairs = (
            (self.cost_with_recall.get(id), than.cost_with_recall.get(id)),
            (self.cost_with_reread.get(id), than.cost_with_reread.get(id)),
        )
        known = [
            (mine, theirs) for mine, theirs in pairs if mine is not None and theirs is not None
        ]
        return bool(known) and all(mine > theirs for mine, theirs in known)

    def cheaper_on(self, other: "PeerRow", sheets: Iterable[str]) -> tuple[str, ...]:
        """The sheets on which it costs less."""
        return tuple(id for id in sheets if self.cost[id] < other.cost[id])


def cost_in_bytes(row: PeerRow, plain: PeerRow, *, hit: float) -> float:
    """What the bytes cost in parts of those of `plain`, a common byte at `hit` of a fresh one.

    The survey of peers was priced so.
    """
    return _ratio(_byte_cost(row, hit), _byte_cost(plain, hit))


def _byte_cost(row: PeerRow, hit: float) -> float:
    return row.sent_bytes - row.common_bytes * (1 - hit)


class PeerSession(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one session, ours first."""

    id: str
    tokenizer: str
    head_tokens: int
    rows: tuple[PeerRow, ...]


def spent(milliseconds: Sequence[float]) -> Spent | None:
    """Median, p95 and maximum; None of nothing."""
    if not milliseconds:
        return None
    ordered = sorted(milliseconds)
    p95 = ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)]
    return Spent(round(median(ordered), 3), round(p95, 3), round(ordered[-1], 3))


def total_rows(sessions: Sequence[PeerSession]) -> tuple[PeerRow, ...]:
    """Sums over sessions, of the rows that every session has figures for.

    Shares of the last request, times and reasons are left to the sessions. Costs are in the tokens
    of each session's own counter, so only their ratios say something.
    """
    names = dict.fromkeys(row.name for session in sessions for row in session.rows)
    found: list[PeerRow] = []
    for name in names:
        rows = [row for session in sessions for row in session.rows if row.name == name]
        if len(rows) == len(sessions) and all(row.state == "measured" for row in rows):
            found.append(_total(rows))
    plain = next((row for row in found if row.name == "transcript"), None)
    return tuple(with_ratios(row, plain) for row in found)


def with_ratios(row: PeerRow, plain: PeerRow | None) -> PeerRow:
    """The row with its costs in parts of those of `transcript`."""
    if plain is None:
        return row
    ratios = {id: _ratio(money, plain.cost[id]) for id, money in row.cost.items()}
    for name, costs in (("recall", row.cost_with_recall), ("reread", row.cost_with_reread)):
        told = {id: money for id, money in costs.items() if money is not None}
        ratios |= {f"{id} {name}": _ratio(money, plain.cost[id]) for id, money in told.items()}
    ratios["input_tokens"] = _ratio(row.input_tokens, plain.input_tokens)
    return msgspec.structs.replace(row, vs_transcript=ratios)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 1.0


def _total(rows: Sequence[PeerRow]) -> PeerRow:
    first = rows[0]
    fidelity: dict[str, Shown] = {}
    lines: dict[str, Lines] = {}
    for row in rows:
        for kind, line in row.first_sight.items():
            lines[kind] = lines.get(kind, Lines()) + line
        for kind, figure in row.fidelity.items():
            old = fidelity.get(kind, Shown(0, 0))
            fidelity[kind] = Shown(old.shown + figure.shown, old.of + figure.of)
    return PeerRow(
        name=first.name,
        ours=first.ours,
        versions=first.versions,
        requests=sum(row.requests for row in rows),
        failed_requests=sum(row.failed_requests for row in rows),
        first_failure=next((row.first_failure for row in rows if row.first_failure), None),
        sent_bytes=sum(row.sent_bytes for row in rows),
        common_bytes=sum(row.common_bytes for row in rows),
        prefix_breaks=sum(row.prefix_breaks for row in rows),
        prefix_breaks_at_turn=sum(row.prefix_breaks_at_turn for row in rows),
        input_tokens=sum(row.input_tokens for row in rows),
        cost={id: sum(row.cost[id] for row in rows) for id in first.cost},
        fidelity=fidelity,
        first_sight=lines,
        evidence=summed(row.evidence for row in rows if row.evidence),
        cost_with_recall={id: sum(row.cost_with_recall[id] for row in rows) for id in first.cost},
        cost_with_reread={
            id: sum(row.cost_with_reread[id] or 0.0 for row in rows)
            for id, money in first.cost_with_reread.items()
            if money is not None
        },
    )
