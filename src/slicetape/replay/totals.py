"""Sums of a replay over its sessions, and the ratios of each arm to `transcript`."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from slicetape.replay.evidence.fidelity import Shown
from slicetape.replay.evidence.figures import summed
from slicetape.replay.report import ArmReport, SessionReport, Total


def totals(sessions: Iterable[SessionReport]) -> dict[str, Total]:
    """Sums over sessions for each arm that all of them have."""
    rows = list(sessions)
    names = [name for name in rows[0].arms if all(name in row.arms for row in rows)] if rows else []
    one_counter = len({row.tokenizer for row in rows}) == 1
    return {name: _total(rows, name, one_counter) for name in names}


def _total(rows: Sequence[SessionReport], name: str, one_counter: bool) -> Total:
    arms = [row.arms[name] for row in rows]
    recovered = [arm.recoverable for arm in arms if arm.recoverable is not None]
    total = Total(
        sessions=len(rows),
        requests=sum(arm.requests for arm in arms),
        prefix_breaks_in_turn=sum(arm.prefix_breaks_in_turn for arm in arms),
        prefix_breaks_at_seal=sum(arm.prefix_breaks_at_seal for arm in arms),
        lint_errors=sum(arm.lint_errors for arm in arms),
        sent_chars=sum(arm.sent_chars for arm in arms),
        vs_transcript=_ratios(rows, name),
        with_recall_vs_transcript=_over_transcript(rows, _sum(a.cost_with_recall for a in arms)),
        with_reread_vs_transcript=_over_transcript(rows, _sum(a.cost_with_reread for a in arms)),
        evidence=summed(arm.evidence for arm in arms),
        fold_fidelity=_fidelity(arms),
        compacted=sum(row.compacted for row in rows),
        recoverable=min(recovered) if recovered else None,
    )
    if not one_counter:
        return total
    return msgspec.structs.replace(
        total,
        input_tokens=sum(arm.input_tokens for arm in arms),
        cached_tokens=sum(arm.cached_tokens for arm in arms),
        written_tokens=sum(arm.written_tokens for arm in arms),
        fresh_tokens=sum(arm.fresh_tokens for arm in arms),
        output_tokens=sum(arm.output_tokens for arm in arms),
        peak_tokens=max(arm.peak_tokens for arm in arms),
        cost=_sum(arm.cost for arm in arms),
        cost_with_recall=_sum(arm.cost_with_recall for arm in arms),
        cost_with_reread=_sum(arm.cost_with_reread for arm in arms),
    )


def _ratios(rows: Sequence[SessionReport], name: str) -> dict[str, float]:
    """Sums of the arm over sums of `transcript`, of characters, tokens and each sheet."""
    plain = [row.arms["transcript"] for row in rows if "transcript" in row.arms]
    if len(plain) != len(rows):
        return {}
    arms = [row.arms[name] for row in rows]
    found = {
        "sent_chars": _ratio(sum(a.sent_chars for a in arms), sum(a.sent_chars for a in plain)),
        "input_tokens": _ratio(
            sum(a.input_tokens for a in arms), sum(a.input_tokens for a in plain)
        ),
    }
    return found | _over_transcript(rows, _sum(arm.cost for arm in arms))


def _over_transcript(rows: Sequence[SessionReport], costs: Mapping[str, float]) -> dict[str, float]:
    """Sums of money over those of `transcript`, on the sheets that have them."""
    plain = [row.arms["transcript"].cost for row in rows if "transcript" in row.arms]
    if len(plain) != len(rows):
        return {}
    theirs = _sum(plain)
    return {sheet: _ratio(money, theirs[sheet]) for sheet, money in costs.items()}


def _fidelity(arms: Iterable[ArmReport]) -> dict[str, Shown]:
    added: dict[str, Shown] = {}
    for arm in arms:
        for kind, shown in arm.fold_fidelity.items():
            added[kind] = added.get(kind, Shown()) + shown
    return added


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 1.0


def _sum(costs: Iterable[Mapping[str, float] | Mapping[str, float | None]]) -> dict[str, float]:
    """The sums by sheet; a sheet on which a session has no cost has none."""
    added: dict[str, float] = {}
    without: set[str] = set()
    for row in costs:
        for sheet, money in row.items():
            if money is None:
                without.add(sheet)
            else:
                added[sheet] = added.get(sheet, 0.0) + money
    return {sheet: money for sheet, money in added.items() if sheet not in without}
