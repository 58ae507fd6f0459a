"""The readable form of a replay: one table a session, one over all, and what they mean."""

from collections.abc import Iterator, Sequence

from slicetape.cli import replay_evidence
from slicetape.cli.columns import Row, beside, table
from slicetape.cli.text import counted, one_line, wrapped
from slicetape.prices.sheet import sheet, sheets
from slicetape.replay.arms import ARMS, MASK
from slicetape.replay.report import ArmReport, Report, SessionReport, Total

_SHOWN = 60
_MARK = {"USD": "$", "CNY": "¥"}
_COUNTERS = {
    "o200k": "OpenAI models since gpt-4o, and models of no known family",
    "cl100k": "gpt-4 and gpt-3.5",
    "qwen3": "Qwen2.5 and Qwen3",
    "deepseek": "DeepSeek models",
    "claude-est": "Claude models, whose tokenizer is not public: UTF-8 bytes / 3.3",
    "anthropic-tokenizer": "an old public vocabulary of Anthropic",
    "bytes": "any text: UTF-8 bytes / 3.3",
}


def report_lines(report: Report, width: int) -> Iterator[str]:
    """Every line of the report, none wider than `width` columns unless one number needs more."""
    for session in _shown(report.sessions):
        yield from _session_lines(session, report.prices, width)
        yield ""
    if len(report.sessions) > _SHOWN:
        yield f"these are the {_SHOWN} largest of {len(report.sessions)} sessions; --json has all"
        yield ""
    if len(report.sessions) > 1:
        yield from _total_lines(report, width)
        yield ""
    yield from _notes(report, width)


def _shown(sessions: Sequence[SessionReport]) -> Sequence[SessionReport]:
    """As many sessions as a person may want to see, the largest, in their order."""
    if len(sessions) <= _SHOWN:
        return sessions
    sent = [-max(arm.input_tokens for arm in session.arms.values()) for session in sessions]
    largest = sorted(range(len(sessions)), key=sent.__getitem__)[:_SHOWN]
    return [sessions[at] for at in sorted(largest)]


def sheet_lines() -> Iterator[str]:
    """Every price sheet there is: id, prices, since when."""
    rows = [["sheet", "model", "currency", "hit", "miss", "write", "out", "since"]]
    for row in sheets():
        out = "-" if row.out is None else _number(float(row.out))
        prices = [_number(float(price)) for price in (row.hit, row.miss, row.write)]
        rows.append([row.id, row.model, row.currency, *prices, out, row.effective or "-"])
    yield from table(rows, left=3)


def arm_lines() -> Iterator[str]:
    """Every arm there is."""
    yield from table(
        [["arm", "sends"], *([a.name, a.does] for a in (*ARMS.values(), MASK))], left=2
    )


def counter_lines() -> Iterator[str]:
    """Every token counter there is."""
    from slicetape.prices.tokens import counters

    rows = [[name, _COUNTERS[name]] for name in counters()]
    yield from table([["tokenizer", "for"], *rows], left=2)


def _session_lines(session: SessionReport, prices: Sequence[str], width: int) -> Iterator[str]:
    facts = [
        counted(session.turns, "human turn"),
        counted(session.steps, "step"),
        counted(session.tool_calls, "tool call"),
        counted(session.tool_errors, "error"),
        one_line(session.model, 40) or "model not recorded",
        f"tokens by {session.tokenizer}",
    ]
    yield from wrapped(f"{one_line(session.id, 60)} ({session.format}): {', '.join(facts)}", width)
    if session.compacted:
        yield "  its own host compacted or blanked context while it was recorded"
    if session.recorded:
        billed = session.recorded
        paid = [f"{_money(money, id)} on {id}" for id, money in billed.cost.items()]
        usage = (
            f"recorded usage: {_count(billed.fresh_tokens)} fresh, "
            f"{_count(billed.cached_tokens)} read from the cache, "
            f"{_count(billed.written_tokens)} written to it, "
            f"{_count(billed.output_tokens)} output" + "".join(f"; {text}" for text in paid)
        )
        yield from (f"  {line}" for line in wrapped(usage, width - 2))
    costs = [["arm", "requests", "sent", "peak", "cached", *prices]]
    checks = [["arm", "breaks", "at seal", "lint", "entries", "recoverable"]]
    for name, arm in session.arms.items():
        costs.append(_cost_row(name, arm, session.arms.get("transcript"), prices))
        checks.append(_check_row(name, arm))
    yield from beside(costs, checks, width)
    yield from replay_evidence.session_lines(session, prices, width)


def _cost_row(name: str, arm: ArmReport, plain: ArmReport | None, prices: Sequence[str]) -> Row:
    share = arm.cached_tokens / arm.input_tokens if arm.input_tokens else 0.0
    return [
        name,
        str(arm.requests),
        _count(arm.input_tokens),
        _count(arm.peak_tokens),
        f"{share:.1%}",
        *(_cost(arm.cost[id], plain.cost[id] if plain else 0.0, id) for id in prices),
    ]


def _check_row(name: str, arm: ArmReport) -> Row:
    return [
        name,
        str(arm.prefix_breaks_in_turn),
        str(arm.prefix_breaks_at_seal),
        str(arm.lint_errors),
        str(arm.entries) if arm.recoverable is not None else "-",
        _share(arm.recoverable),
    ]


def _total_lines(report: Report, width: int) -> Iterator[str]:
    counters = {session.tokenizer for session in report.sessions}
    yield f"all {len(report.sessions)} sessions, relative to transcript"
    if len(counters) > 1:
        text = (
            f"tokens were counted by {', '.join(sorted(counters))}: only ratios are shown, of sums "
            "to which each session adds the tokens of its own counter"
        )
        yield from (f"  {line}" for line in wrapped(text, width - 2))
    costs = [["arm", "requests", "sent", *report.prices]]
    checks = [["arm", "breaks", "at seal", "lint", "recoverable"]]
    for name, row in report.total.items():
        costs.append([name, str(row.requests), *_ratios(row, report.prices)])
        checks.append(
            [
                name,
                str(row.prefix_breaks_in_turn),
                str(row.prefix_breaks_at_seal),
                str(row.lint_errors),
                _share(row.recoverable),
            ]
        )
    yield from beside(costs, checks, width)
    yield from replay_evidence.total_lines(report, width)


def _ratios(row: Total, prices: Sequence[str]) -> Iterator[str]:
    for id in ("input_tokens", *prices):
        ratio = row.vs_transcript.get(id)
        yield "-" if ratio is None else f"{ratio:.3f}"


_NOTES = """\
sent, peak: input tokens of all requests, and of the largest. cached: read from the cache, on {}.
Costs are relative to transcript unless in money; output is as recorded in every arm.
Head: {}.
breaks: requests that change bytes already sent, inside a turn; at seal: at a turn's first step, \
where sealing may. lint: what a provider could refuse, over all requests.
entries, recoverable: how many were sealed; the share of what they hide that recall brings back.
{}"""


def _notes(report: Report, width: int) -> Iterator[str]:
    notes = _NOTES.format(report.prices[0], report.head, replay_evidence.NOTES)
    for note in notes.split("\n"):
        yield from wrapped(note, width)


def _cost(money: float, plain: float, id: str) -> str:
    ratio = f"{money / plain:.3f}" if plain else "-"
    return ratio if sheet(id).currency == "base" else f"{_money(money, id)} ({ratio})"


def _money(money: float, id: str) -> str:
    currency = sheet(id).currency
    digits = 2 if money >= 10 else 4
    return f"{_MARK.get(currency, currency + ' ')}{money:.{digits}f}"


def _share(value: float | None) -> str:
    """Never rounded up to 1."""
    if value is None or value == 1:
        return "-" if value is None else "1"
    return f"{int(value * 10_000) / 10_000:.4f}"


def _count(tokens: int) -> str:
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            part = tokens / size
            return f"{part:.0f}{letter}" if part >= 99.95 else f"{part:.3g}{letter}"
    return str(tokens)


def _number(value: float) -> str:
    return f"{value:.6g}"
