"""`slicetape verify`: is a log whole, and is every request it would send in order."""

from collections.abc import Callable, Iterator
from functools import partial

import click

from slicetape.cli.checking import check
from slicetape.cli.output import as_json as to_json
from slicetape.cli.output import progress
from slicetape.cli.problems import Report
from slicetape.cli.target import Target, of_log, target
from slicetape.cli.text import counted, one_line, visible
from slicetape.errors import SlicetapeError
from slicetape.log.store import Store, default_home

_EXAMPLES = """\b
Examples:
  slicetape verify 7f3a
  slicetape verify session.v3.jsonl.zstd --json
  slicetape verify --all"""

_SHOWN = 20


@click.command(epilog=_EXAMPLES)
@click.argument("sessions", metavar="SESSION...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every session at home.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a session.")
def verify(sessions: tuple[str, ...], *, everything: bool, as_json: bool) -> None:
    """Check logs: events, surface, turns, spilled texts, and every request they would send.

    Each request is built again as it was at its step; it must be valid, and it must extend the
    one before it except where a turn began or the host itself rewrote history. Exit status 1
    when a problem is found.
    """
    if not (sessions or everything):
        raise click.UsageError("name a SESSION, or --all")
    sources = [(name, partial(target, name)) for name in sessions]
    if everything:
        sources += [(one.id, partial(of_log, one.log)) for one in Store().sessions()]
    failed = 0
    with progress("verifying", len(sources)) as bar:
        for name, read in sources:
            bar.step(name)
            report = _checked(name, read)
            failed += not report.ok
            bar.pause()
            for line in [to_json(report.shape())] if as_json else _lines(report):
                click.echo(line)
    if len(sources) > 1 and not as_json:
        bad = f", {counted(failed, 'with problems', 'with problems')}" if failed else ", all ok"
        click.echo(f"{counted(len(sources), 'session')}{bad}", err=True)
    if failed:
        click.get_current_context().exit(1)


def _checked(name: str, read: Callable[[], Target]) -> Report:
    try:
        found = read()
    except SlicetapeError as error:
        report = Report(name)
        report.problem(None, "log", str(error))
        return report
    return check(found, home=default_home())


def _lines(report: Report) -> Iterator[str]:
    name = one_line(report.session, 80)
    facts = f"{counted(report.events, 'event')}, {counted(report.requests, 'request')} checked"
    verdict = "ok" if report.ok else counted(len(report.problems), "problem")
    color = "green" if report.ok else "red"
    yield f"{name}: {click.style(verdict, fg=color)} · {facts}"
    for problem in report.problems[:_SHOWN]:
        place = "" if problem.seq is None else f"seq {problem.seq} · "
        yield f"  {place}{problem.rule}: {visible(problem.text)}"
    if len(report.problems) > _SHOWN:
        yield f"  … {len(report.problems) - _SHOWN} more; --json lists them all"
    for note in report.notes:
        yield click.style(f"  note: {visible(note)}", dim=True)
