"""The part of a replay's tables that says what each arm hid, and whether the model used it."""

from collections.abc import Iterator, Sequence

from slicetape.cli.columns import Row, beside
from slicetape.cli.text import counted, one_line, wrapped
from slicetape.replay.evidence.explain import Missing
from slicetape.replay.evidence.figures import Evidence
from slicetape.replay.report import Report, SessionReport

_FIGURES = ["arm", "visible", "tool", "clean", "recalls/step", "recall@5"]

NOTES = """\
references: rare words that the model took from earlier texts. visible: of these, those still in \
the request; tool: of those from results alone; clean: steps that missed none; recalls/step: steps \
that put a missing one from results into a call; recall@5: missing ones that a search finds in \
five hits; +: the cost, had each such step recalled what it missed. Shares of fewer than 30: -."""


def session_lines(session: SessionReport, prices: Sequence[str], width: int) -> Iterator[str]:
    """The evidence of one session, arm by arm; nothing where the model referred to nothing."""
    first = next(iter(session.arms.values())).evidence
    if not first.references:
        return
    yield from _headed(_behind(first), width)
    plain = session.arms["transcript"].cost if "transcript" in session.arms else {}
    figures, costs = _heads(prices)
    for name, arm in session.arms.items():
        figures.append([name, *_figures(arm.evidence)])
        ratios = {id: _over(arm.cost_with_recall[id], plain.get(id)) for id in prices}
        costs.append([name, *(_ratio(ratios[id]) for id in prices)])
    yield from beside(figures, costs, width)
    for name, arm in session.arms.items():
        yield from _missing_lines(name, arm.missing, width)


def total_lines(report: Report, width: int) -> Iterator[str]:
    """The evidence of all sessions."""
    rows = list(report.total.items())
    if not rows or not rows[0][1].evidence.references:
        return
    text = f"{_behind(rows[0][1].evidence)} of {counted(rows[0][1].sessions, 'session')}"
    compacted = rows[0][1].compacted
    if compacted:
        text += f"; {compacted} had a host that compacted, so what is visible is at most this"
    yield from _headed(text, width)
    figures, costs = _heads(report.prices)
    for name, row in rows:
        figures.append([name, *_figures(row.evidence)])
        found = row.with_recall_vs_transcript
        costs.append([name, *(_ratio(found.get(id)) for id in report.prices)])
    yield from beside(figures, costs, width)


def _headed(text: str, width: int) -> Iterator[str]:
    yield from (f"  {line}" for line in wrapped(text, width - 2))


def _behind(evidence: Evidence) -> str:
    counts = evidence.counts
    return (
        f"{counted(evidence.references, 'reference')} in {counted(counts.referring_steps, 'step')}"
        f" of {counts.steps}"
    )


def _heads(prices: Sequence[str]) -> tuple[list[Row], list[Row]]:
    return [list(_FIGURES)], [["arm", *(f"{id}+" for id in prices)]]


def _figures(evidence: Evidence) -> Row:
    steps = evidence.counts.steps
    return [
        _ratio(evidence.visible),
        _ratio(evidence.visible_tool),
        _ratio(evidence.clean_steps),
        _ratio(evidence.predicted_recalls / steps if steps else None),
        _ratio(evidence.recall_hits),
    ]


def _over(money: float, plain: float | None) -> float | None:
    return money / plain if plain else None


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _missing_lines(name: str, missing: Sequence[Missing], width: int) -> Iterator[str]:
    """The worst of what an arm hid, and how to get it back."""
    if not missing:
        return
    yield from _headed(f"the worst that {name} hid:", width)
    for row in missing:
        used = f"{counted(row.steps, 'step')} wrote it"
        copied = f", {counted(row.copies, 'time')} into a call" if row.copies else ""
        found = f", hit {row.rank} of a search" if row.rank else ""
        text = (
            f"{one_line(row.token, 60)} ({row.kind}, {row.how}): {used}{copied}, first turn "
            f"{row.turn} step {row.step}{found}"
        )
        for line in (*wrapped(text, width - 4), *row.locators):
            yield f"    {line}"
