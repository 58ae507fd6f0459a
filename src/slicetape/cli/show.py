"""`slicetape show`: a session to read, as people said it, as a model sees it, or as logged."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import click

from slicetape.cli.folds import fold_lines, fold_rows
from slicetape.cli.nodes import surface_lines, surface_rows, tape_lines, tape_rows
from slicetape.cli.output import as_json, on_terminal, paged
from slicetape.cli.target import Target, target
from slicetape.cli.text import safe_json
from slicetape.cli.transcript import Reader
from slicetape.cli.transcript_rows import transcript_rows
from slicetape.errors import UsageError
from slicetape.log.events import Event, TurnEnd, TurnStart
from slicetape.surface import View

_EXAMPLES = """\b
Examples:
  slicetape show 7f3a
  slicetape show 7f3a --turn 12
  slicetape show 7f3a --surface
  slicetape show session.jsonl.zst --json"""

Mode = str
"""surface, tape, folds or events; the transcript when none is named."""


@dataclass(frozen=True, slots=True)
class Span:
    """The events of a turn, both ends included, or of the whole log."""

    first: int
    last: int
    turn: int | None = None


@click.command(epilog=_EXAMPLES)
@click.argument("session")
@click.option("--surface", "mode", flag_value="surface", help="What the next request holds.")
@click.option("--tape", "mode", flag_value="tape", help="The entries that stand for sealed turns.")
@click.option("--folds", "mode", flag_value="folds", help="The views that stand for results.")
@click.option("--events", "mode", flag_value="events", help="The lines of the log as they are.")
@click.option("--turn", type=click.IntRange(min=1), metavar="N", help="Only this turn.")
@click.option("--json", "as_json_", is_flag=True, help="Print one JSON object a line.")
@click.option("--format", metavar="NAME", help="The format of a FILE, where detection is wrong.")
def show(
    session: str, mode: Mode | None, turn: int | None, format: str | None, *, as_json_: bool
) -> None:
    """Read a session: the transcript as it was said, in order, whatever was sealed since."""
    found = target(session, format=format).tell()
    if mode == "events":
        paged(_events(found, _span(found.log.events, turn, found.id)))
        return
    view = found.view
    span = _span(view.events, turn, found.id)
    if as_json_:
        paged(map(as_json, _rows(view, mode, span)))
    elif mode == "surface":
        paged(surface_lines(view, turn))
    elif mode == "tape":
        paged(tape_lines(view, turn))
    elif mode == "folds":
        paged(fold_lines(view, turn))
    else:
        paged(Reader(found, session, view).lines(span.first, span.last))


def _rows(view: View, mode: Mode | None, span: Span) -> Iterator[dict[str, object]]:
    if mode == "surface":
        return surface_rows(view, span.turn)
    if mode == "tape":
        return tape_rows(view, span.turn)
    if mode == "folds":
        return fold_rows(view, span.turn)
    return transcript_rows(view, span.first, span.last)


def _events(found: Target, span: Span) -> Iterator[str]:
    for line in found.log.lines(span.first, span.last + 1):
        text = line.decode("utf-8", "replace")
        yield safe_json(text) if on_terminal() else text


def _span(events: Iterable[Event], turn: int | None, id: str) -> Span:
    """Where a turn stands in the log: from its start to its end, or to the start of the next."""
    last = first = -1
    end: int | None = None
    numbers: list[int] = []
    for last, event in enumerate(events):
        if isinstance(event, TurnStart):
            numbers.append(event.data.turn)
            if first >= 0 and end is None:
                end = last - 1
            elif event.data.turn == turn and first < 0:
                first = last
        elif isinstance(event, TurnEnd) and event.data.turn == turn and first >= 0:
            end = last if end is None else end
    if turn is None:
        return Span(0, last)
    if first < 0:
        there = f"it has turns {numbers[0]} to {numbers[-1]}" if numbers else "it has no turns"
        raise UsageError(f"session {id[:80]!r} has no turn {turn}; {there}")
    return Span(first, last if end is None else end, turn)
