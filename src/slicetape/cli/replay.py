"""`slicetape replay`: what recorded sessions cost, under several arms and price sheets."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from slicetape.cli.output import warn
from slicetape.cli.text import safe_json
from slicetape.replay.arms import DEFAULT_ARMS, arms
from slicetape.replay.recording import Recording
from slicetape.replay.replay import (
    DEFAULT_SHEETS,
    Options,
    Progress,
    chosen_sheets,
    recordings,
    replay,
)

_EXAMPLES = """\b
Examples:
  slicetape replay ~/.claude/projects/-proj/7f3a.jsonl
  slicetape replay rollout.jsonl --arms tape,mask:30 --prices rel-30,v41-flash-20260910-offpeak
  slicetape replay 7f3a --arms 'tape{history.keepRecentTurns=1}' --json"""


@click.command(name="replay", epilog=_EXAMPLES)
@click.argument("files", metavar="FILE|SESSION…", nargs=-1, required=True)
@click.option(
    "--arms",
    "arm_list",
    default=",".join(DEFAULT_ARMS),
    show_default=True,
    metavar="NAMES",
    help="Arms: transcript, compact, mask:N, tape, tape{key=value,…}. transcript always runs.",
)
@click.option(
    "--prices",
    default=",".join(DEFAULT_SHEETS),
    show_default=True,
    metavar="IDS",
    help="Price sheets; `--prices list` names them all.",
)
@click.option(
    "--head",
    type=click.IntRange(min=0),
    metavar="N",
    help="Tokens of system prompt and tools where none were recorded (4000); 0 leaves them out.",
)
@click.option(
    "--window",
    type=click.IntRange(min=1),
    metavar="N",
    help="Context window in tokens for the compact arm. [default: recorded, else 200000]",
)
@click.option("--ttl", is_flag=True, help="Let cache entries expire by the recorded times.")
@click.option("--format", "format_name", metavar="NAME", help="Format of the files, not detected.")
@click.option(
    "--tokenizer",
    metavar="NAME",
    help="Token counter. [default: by the recorded model; `bytes` is bytes / 3.3]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
def replay_(
    *,
    files: tuple[str, ...],
    arm_list: str,
    prices: str,
    head: int | None,
    window: int | None,
    ttl: bool,
    format_name: str | None,
    tokenizer: str | None,
    as_json: bool,
) -> None:
    """Price recorded sessions under several policies, without a model.

    Replies are taken as recorded, so output tokens are equal in all arms. Costs are those of the
    requests; what a policy hides is not yet weighed against them here.
    """
    from slicetape.cli.replay_table import report_lines, sheet_lines

    if prices == "list":
        click.echo("\n".join(sheet_lines()))
        return
    options = Options(
        arms=arms(arm_list),
        sheets=chosen_sheets(prices),
        head=head,
        window=window,
        ttl=ttl,
        tokenizer=tokenizer,
    )
    with _bar() as tick:
        report = replay(_sessions(files, format_name), options, progress=tick)
    for session in report.sessions:
        for note in session.notes:
            warn(f"{session.id}: {note}")
    if as_json:
        import msgspec

        click.echo(safe_json(msgspec.json.encode(report).decode()))
    else:
        click.echo("\n".join(report_lines(report)))


def _sessions(names: tuple[str, ...], format_name: str | None) -> Iterator[Recording]:
    """The sessions of every file, or of the log that an id names."""
    from slicetape.log.store import Store

    for name in names:
        path = Path(name).expanduser()
        if not path.exists():
            path = Store().find(name).log
        yield from recordings(path, format=format_name)


@contextmanager
def _bar() -> Iterator[Progress]:
    """The session, the arm and a count of requests on stderr; nothing on a pipe."""
    if not sys.stderr.isatty():
        yield lambda _session, _arm: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        done = 0

        def tick(session: str, arm: str) -> None:
            nonlocal done
            done += 1
            if done % 16 == 0:
                text = f"{session[:40]} · {arm[:40]} · {done} requests".replace("[", "(")
                bar.update(task, description=text)

        yield tick
