"""`slicetape sessions`: what is there, newest first."""

import os
from collections.abc import Iterable
from pathlib import Path

import click

from slicetape.cli.catalog import catalog_at_home
from slicetape.cli.output import echo_json, on_terminal, width
from slicetape.cli.text import amount, cut, one_line, padded, when
from slicetape.log.catalogrows import SessionRow

_EXAMPLES = """\b
Examples:
  slicetape sessions
  slicetape sessions --project . --limit 5
  slicetape sessions --json"""

_TITLE = 60


@click.command(epilog=_EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.option(
    "--project", metavar="CWD", help="Only sessions of this working directory or one below it."
)
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="At most this many sessions."
)
def sessions(project: str | None, limit: int | None, *, as_json: bool) -> None:
    """List sessions, newest first: id, time, turns, steps, size, project, first human words."""
    with catalog_at_home() as catalog:
        rows = catalog.sessions()
    if project is not None:
        rows = [row for row in rows if _within(row.cwd, project)]
    rows = rows[:limit]
    if as_json:
        for row in rows:
            echo_json(_shape(row))
    elif rows:
        _table(rows)
    else:
        click.echo("no sessions; `slicetape import FILE` brings some in", err=True)


def _within(cwd: str, project: str) -> bool:
    wanted = os.path.normpath(Path(project).expanduser().absolute())
    return project == cwd or cwd == wanted or cwd.startswith(wanted.rstrip("/") + "/")


def _shape(row: SessionRow) -> dict[str, object]:
    return {
        "id": row.id,
        "created": row.created,
        "project": row.cwd,
        "turns": row.turns,
        "steps": row.steps,
        "tool_calls": row.calls,
        "events": row.events,
        "size": row.size,
        "title": row.title,
        "format": row.format,
        "path": row.path,
    }


def _table(rows: Iterable[SessionRow]) -> None:
    head = ("id", "when", "turns", "steps", "size", "project", "title")
    cells = [
        (
            one_line(row.id, 48),
            when(row.created),
            str(row.turns),
            str(row.steps),
            amount(row.size),
            _project(row.cwd),
            one_line(row.title, _TITLE),
        )
        for row in rows
    ]
    widths = [max(len(name), *(_cells(row[at]) for row in cells)) for at, name in enumerate(head)]
    click.secho(_joined(head, widths), bold=True)
    for row in cells:
        click.echo(_joined(row, widths))


def _joined(row: tuple[str, ...], widths: list[int]) -> str:
    fields = [
        cell.rjust(size) if at in (2, 3, 4) else padded(cell, size)
        for at, (cell, size) in enumerate(zip(row, widths, strict=True))
    ]
    line = "  ".join(fields).rstrip()
    return cut(line, width()) if on_terminal() else line


def _project(cwd: str) -> str:
    home = str(Path.home())
    shown = f"~{cwd[len(home) :]}" if cwd == home or cwd.startswith(home + "/") else cwd
    line = one_line(shown)
    return line if len(line) <= 30 else f"…{line[-29:]}"


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
