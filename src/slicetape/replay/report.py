"""What a replay reports: the shapes that other programs read, and their sums."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import msgspec

from slicetape.prices.cost import Tokens, cost
from slicetape.prices.sheet import Sheet
from slicetape.replay.evidence.explain import Missing
from slicetape.replay.evidence.fidelity import Shown
from slicetape.replay.evidence.figures import Evidence
from slicetape.replay.evidence.measure import Findings
from slicetape.replay.pricing import Bill
from slicetape.replay.recoverable import Recovery
from slicetape.replay.run import Run

VERSION = 1


class PolicyMs(msgspec.Struct, frozen=True):
    """Milliseconds of policy work before a step that it acts on; 0 where there was none.

    Arms that fold act before every step, the others before the first of a turn.
    """

    median: float = 0.0
    p99: float = 0.0
    max: float = 0.0


class ArmReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One arm over one session. Cached, written and fresh tokens are those of the first sheet.

    `cost` maps sheet ids to the sheet's currency, or to multiples of the price of one fresh input
    token on sheets that know only ratios. `lint_errors` adds up over requests. `recoverable` is
    given for arms that seal: the share of the sealed nodes that come back byte for byte.
    `compactions` are summaries that took their place; each summary asked for is a request.
    `evidence` is what the arm left in front of the model, `cost_with_recall` and
    `cost_with_reread` what getting the rest back would have cost in all (None on sheets that price
    no output), `fold_fidelity` what views showed at first sight, `missing` the worst of what was
    hidden, when asked for.
    """

    requests: int
    input_tokens: int
    cached_tokens: int
    written_tokens: int
    fresh_tokens: int
    output_tokens: int
    peak_tokens: int
    prefix_breaks_in_turn: int
    prefix_breaks_at_seal: int
    lint_errors: int
    cost: Mapping[str, float]
    sent_chars: int
    policy_ms: PolicyMs
    evidence: Evidence
    cost_with_recall: Mapping[str, float]
    cost_with_reread: Mapping[str, float | None]
    fold_fidelity: Mapping[str, Shown]
    missing: tuple[Missing, ...] = ()
    compactions: int = 0
    entries: int = 0
    recoverable: float | None = None
    unrecovered: tuple[int, ...] = ()
    first_break: str | None = None
    first_lint: str | None = None


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What the provider billed for the recorded requests: sums of recorded usage.

    It belongs to the recorded requests, whose host may have compacted, not to any arm. `cost`
    has the asked sheets that price output too.
    """

    cached_tokens: int
    written_tokens: int
    fresh_tokens: int
    output_tokens: int
    cost: Mapping[str, float]


class SessionReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One session under every arm. `compacted` marks recordings whose own host forgot."""

    id: str
    format: str
    model: str
    tokenizer: str
    wire: str
    turns: int
    steps: int
    tool_calls: int
    tool_errors: int
    images: int
    head_tokens: int
    window: int
    arms: Mapping[str, ArmReport]
    recorded: Recorded | None = None
    compacted: bool = False
    notes: tuple[str, ...] = ()


class Total(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Sums of one arm over all sessions, and its ratios to `transcript`.

    A ratio is the sum over all sessions of the arm, divided by the same sum of `transcript`. Each
    session adds tokens and costs in the tokens of its own counter; when there are several
    counters, such a sum means nothing by itself and the sums of tokens and money are absent.
    `peak_tokens` is the largest request, `recoverable` the worst session. `compacted` counts
    sessions whose own host forgot, for which `visible` is an upper bound.
    """

    sessions: int
    requests: int
    prefix_breaks_in_turn: int
    prefix_breaks_at_seal: int
    lint_errors: int
    sent_chars: int
    vs_transcript: Mapping[str, float]
    with_recall_vs_transcript: Mapping[str, float]
    with_reread_vs_transcript: Mapping[str, float]
    evidence: Evidence
    fold_fidelity: Mapping[str, Shown]
    compacted: int = 0
    input_tokens: int | None = None
    cached_tokens: int | None = None
    written_tokens: int | None = None
    fresh_tokens: int | None = None
    output_tokens: int | None = None
    peak_tokens: int | None = None
    cost: Mapping[str, float] | None = None
    cost_with_recall: Mapping[str, float] | None = None
    cost_with_reread: Mapping[str, float | None] | None = None
    recoverable: float | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one call of `replay` found."""

    version: int
    prices: tuple[str, ...]
    head: str
    sessions: tuple[SessionReport, ...]
    total: Mapping[str, Total]


def arm_report(
    run: Run, bills: Sequence[Bill], recovery: Recovery | None, found: Findings
) -> ArmReport:
    """The report of a finished run, and of what it hid."""
    tally, tokens = run.meter.tally, bills[0].tokens
    return ArmReport(
        requests=tally.requests,
        input_tokens=tally.input_tokens,
        cached_tokens=tokens.cached,
        written_tokens=tokens.written,
        fresh_tokens=tokens.fresh,
        output_tokens=tally.output_tokens,
        peak_tokens=tally.peak_tokens,
        prefix_breaks_in_turn=tally.breaks_in_turn,
        prefix_breaks_at_seal=tally.breaks_at_seal,
        lint_errors=tally.lint_errors,
        cost={bill.sheet.id: float(bill.money) for bill in bills},
        sent_chars=tally.sent_chars,
        compactions=run.compactions,
        entries=len(run.entries),
        recoverable=recovery.share if recovery else None,
        unrecovered=recovery.missing[:20] if recovery else (),
        first_break=tally.first_break,
        first_lint=tally.first_lint,
        policy_ms=_times(run.policy_ms),
        evidence=found.evidence,
        cost_with_recall=found.with_recall,
        cost_with_reread=found.with_reread,
        fold_fidelity=found.fidelity,
        missing=found.missing,
    )


def recorded_report(tokens: Tokens | None, sheets: Iterable[Sheet]) -> Recorded | None:
    """What was billed, where that was recorded."""
    if tokens is None:
        return None
    return Recorded(
        cached_tokens=tokens.cached,
        written_tokens=tokens.written,
        fresh_tokens=tokens.fresh,
        output_tokens=tokens.output,
        cost={row.id: float(cost(tokens, row)) for row in sheets if not row.input_only},
    )


def _times(milliseconds: Sequence[float]) -> PolicyMs:
    if not milliseconds:
        return PolicyMs()
    ordered = sorted(milliseconds)
    return PolicyMs(
        median=round(median(ordered), 4),
        p99=round(ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], 4),
        max=round(ordered[-1], 4),
    )
