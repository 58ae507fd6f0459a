"""Tables of a report: columns as wide as they need, in as many tables as the terminal asks for."""

from collections.abc import Iterable, Iterator, Sequence

from slicetape.cli.text import padded

Row = list[str]


def beside(costs: Sequence[Row], checks: Sequence[Row], width: int) -> Iterator[str]:
    """One table where there is room for it, else two, and as many more as the columns need."""
    whole = [[*left, *right[1:]] for left, right in zip(costs, checks, strict=True)]
    if _width(whole) <= width:
        yield from table(whole)
        return
    for rows in (*_fitting(costs, width), *_fitting(checks, width)):
        yield from table(rows)


def _fitting(rows: Sequence[Row], width: int) -> Iterator[list[Row]]:
    """The columns in tables that fit, each with the first column; at least one more in each."""
    taken = [0]
    for at in range(1, len(rows[0])):
        if len(taken) > 1 and _width([[row[n] for n in (*taken, at)] for row in rows]) > width:
            yield [[row[n] for n in taken] for row in rows]
            taken = [0]
        taken.append(at)
    yield [[row[n] for n in taken] for row in rows]


def _widths(rows: Sequence[Row]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _width(rows: Sequence[Row]) -> int:
    return sum(size + 2 for size in _widths(rows))


def table(rows: Iterable[Row], *, left: int = 1) -> Iterator[str]:
    """Columns as wide as they need; the first `left` columns flush left, the rest right."""
    cells = list(rows)
    widths = _widths(cells)
    for row in cells:
        aligned = [
            padded(cell, size) if at < left else cell.rjust(size)
            for at, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  " + "  ".join(aligned).rstrip()
