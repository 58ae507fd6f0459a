"""The readable form of a replay: one table a session, one over all, and what they mean."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from slicetape.cli.text import one_line
from slicetape.prices.sheet import sheet, sheets
from slicetape.replay.report import ArmReport, Report, SessionReport, Total

_MARK = {"USD": "$", "CNY": "¥"}


def report_lines(report: Report) -> Iterator[str]:
    """Every line of the report, for a terminal of 100 columns or more."""
    for session in report.sessions:
        yield from _session_lines(session, report.prices)
        yield ""
    if len(report.sessions) > 1:
        yield from _total_lines(report)
        yield ""
    yield from _notes(report)


def sheet_lines() -> Iterator[str]:
    """Every price sheet there is: id, prices, since when."""
    rows = [["sheet", "model", "currency", "hit", "miss", "write", "out", "since"]]
    for row in sheets():
        out = "-" if row.out is None else _number(float(row.out))
        prices = [_number(float(price)) for price in (row.hit, row.miss, row.write)]
        rows.append([row.id, row.model, row.currency, *prices, out, row.effective or "-"])
    yield from _table(rows, left=3)


def _session_lines(session: SessionReport, prices: Sequence[str]) -> Iterator[str]:
    facts = [
        f"{session.turns} human turns",
        f"{session.steps} steps",
        f"{session.tool_calls} tool calls",
        f"{session.tool_errors} errors",
        one_line(session.model, 40) or "model not recorded",
        f"tokens by {session.tokenizer}",
    ]
    yield f"{one_line(session.id, 60)} ({session.format}): {', '.join(facts)}"
    if session.compacted:
        yield "  its own host compacted or blanked context while it was recorded"
    if session.recorded:
        billed = session.recorded
        paid = [f"{_money(money, id)} on {id}" for id, money in billed.cost.items()]
        yield (
            f"  recorded usage: {_count(billed.fresh_tokens)} fresh, "
            f"{_count(billed.cached_tokens)} read from the cache, "
            f"{_count(billed.written_tokens)} written to it, "
            f"{_count(billed.output_tokens)} output" + "".join(f"; {text}" for text in paid)
        )
    yield from _table([_heads(prices), *_arm_rows(session.arms, prices)])


def _heads(prices: Sequence[str]) -> list[str]:
    return [
        "arm", "requests", "sent", "peak", "cached", *prices,
        "breaks", "at seal", "lint", "entries", "recoverable",
    ]  # fmt: skip


def _arm_rows(arms: Mapping[str, ArmReport], prices: Sequence[str]) -> Iterator[list[str]]:
    plain = arms.get("transcript")
    for name, arm in arms.items():
        share = arm.cached_tokens / arm.input_tokens if arm.input_tokens else 0.0
        yield [
            name,
            str(arm.requests),
            _count(arm.input_tokens),
            _count(arm.peak_tokens),
            f"{share:.0%}",
            *(_cost(arm.cost[id], plain.cost[id] if plain else 0.0, id) for id in prices),
            str(arm.prefix_breaks_in_turn),
            str(arm.prefix_breaks_at_seal),
            str(arm.lint_errors),
            str(arm.entries) if arm.recoverable is not None else "-",
            _share(arm.recoverable),
        ]


def _total_lines(report: Report) -> Iterator[str]:
    counters = {session.tokenizer for session in report.sessions}
    yield f"all {len(report.sessions)} sessions, relative to transcript"
    if len(counters) > 1:
        yield f"  tokens were counted by {', '.join(sorted(counters))}: only ratios are added up"
    heads = ["arm", "requests", "sent", *report.prices, "breaks", "at seal", "lint", "recoverable"]
    yield from _table([heads, *_total_rows(report.total, report.prices)])


def _total_rows(total: Mapping[str, Total], prices: Sequence[str]) -> Iterator[list[str]]:
    for name, row in total.items():
        ratios = [row.vs_transcript.get(id) for id in ("input_tokens", *prices)]
        yield [
            name,
            str(row.requests),
            *("-" if ratio is None else f"{ratio:.3f}" for ratio in ratios),
            str(row.prefix_breaks_in_turn),
            str(row.prefix_breaks_at_seal),
            str(row.lint_errors),
            _share(row.recoverable),
        ]


def _notes(report: Report) -> Iterator[str]:
    yield "sent, peak: input tokens of all requests and of the largest; cached: read, on the first"
    yield f"sheet. Costs are relative to transcript unless in money. Head: {report.head}."
    yield "breaks: requests whose bytes change inside a turn. Output is as recorded in every arm."
    yield "What an arm hides from the model is not weighed here: a low cost alone is no win."


def _cost(money: float, plain: float, id: str) -> str:
    ratio = f"{money / plain:.3f}" if plain else "-"
    return ratio if sheet(id).currency == "base" else f"{_money(money, id)} ({ratio})"


def _money(money: float, id: str) -> str:
    currency = sheet(id).currency
    digits = 2 if money >= 10 else 4
    return f"{_MARK.get(currency, currency + ' ')}{money:.{digits}f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")


def _count(tokens: int) -> str:
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            return (
                f"{tokens / size:.3g}{letter}"
                if tokens < 100 * size
                else f"{tokens // size}{letter}"
            )
    return str(tokens)


def _number(value: float) -> str:
    return f"{value:.6g}"


def _table(rows: Iterable[Sequence[str]], *, left: int = 1) -> Iterator[str]:
    """Columns as wide as they need; the first `left` columns flush left, the rest right."""
    cells = [list(row) for row in rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    for row in cells:
        aligned = [
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  " + "  ".join(aligned).rstrip()
