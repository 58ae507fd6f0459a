"""`slicetape replay`: what recorded sessions cost, under several arms and price sheets."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import click

from slicetape.cli.output import told, width
from slicetape.cli.replay_bar import ReplayBar, replay_bar
from slicetape.cli.target import transcript_path
from slicetape.cli.text import safe_json
from slicetape.errors import ConfigError, PriceError, SlicetapeError, UsageError
from slicetape.replay.arms import DEFAULT_ARMS, arms
from slicetape.replay.recording import Recording
from slicetape.replay.replay import (
    DEFAULT_SHEETS,
    Options,
    chosen_sheets,
    recordings,
    replay_session,
    report_of,
)
from slicetape.replay.report import SessionReport

_EXAMPLES = """\b
Examples:
  slicetape replay ~/.claude/projects/-proj/7f3a.jsonl
  slicetape replay rollout.jsonl --arms tape,mask:30 --prices rel-30,v41-flash-20260910-offpeak
  slicetape replay 7f3a --arms 'tape{history.keepRecentTurns=1}' --json
  slicetape replay --prices list"""


@click.command(name="replay", epilog=_EXAMPLES)
@click.argument("files", metavar="FILE|SESSION…", nargs=-1)
@click.option(
    "--arms",
    "arm_list",
    default=",".join(DEFAULT_ARMS),
    show_default=True,
    metavar="NAMES",
    help="Arms, separated by commas; `list` names them. transcript always runs.",
)
@click.option(
    "--prices",
    default=",".join(DEFAULT_SHEETS),
    show_default=True,
    metavar="IDS",
    help="Price sheets, separated by commas; `list` names them.",
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
    help="Token counter; `list` names them. [default: by the recorded model]",
)
@click.option(
    "--peers",
    "with_peers",
    is_flag=True,
    help="Run other libraries on the same requests; installs each once, apart from this program.",
)
@click.option(
    "--explain", is_flag=True, help="List the worst of what each arm hid, with the calls for it."
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
    with_peers: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Price recorded sessions under several policies, without a model.

    Replies are taken as recorded, so output tokens are equal in all arms. Beside the cost of its
    requests stands what each policy hid of what the model went on to use. One bad FILE does not
    stop the others; the exit status is then 1.
    """
    from slicetape.cli.replay_peers import Peers, lineup, peer_lines
    from slicetape.cli.replay_table import report_lines

    lists = _lists(arm_list, prices, tokenizer)
    if lists:
        click.echo("\n".join(lists))
        return
    if not files:
        raise click.UsageError("name a FILE or SESSION")
    with _usage_errors():
        _check_names(format_name, tokenizer)
        options = Options(
            arms=arms(arm_list),
            sheets=chosen_sheets(prices),
            head=head,
            window=window,
            ttl=ttl,
            tokenizer=tokenizer,
            explain=explain,
        )
    bars = replay_bar(len(files), len(options.arms))
    with bars as bar, lineup(bar, wanted=with_peers) as running:
        peers = Peers(options, running)
        work = _Work(options, format_name, bar, peers.take)
        sessions = [report for file in files for report in work.file(file)]
    report = peers.added_to(report_of(sessions, options))
    if as_json and (sessions or not work.failed):
        import msgspec

        click.echo(safe_json(msgspec.json.encode(report).decode()))
    elif sessions:
        click.echo("\n".join(report_lines(report, width())))
        if with_peers:
            click.echo("\n".join(("", *peer_lines(peers.sessions, report.prices, width()))))
    if work.failed:
        click.get_current_context().exit(1)


def _lists(arm_list: str, prices: str, tokenizer: str | None) -> list[str]:
    """The lines of every list that was asked for."""
    from slicetape.cli import replay_table as table

    wanted: Mapping[str, tuple[str | None, Callable[[], Iterator[str]]]] = {
        "arms": (arm_list, table.arm_lines),
        "prices": (prices, table.sheet_lines),
        "tokenizer": (tokenizer, table.counter_lines),
    }
    return [line for text, lines in wanted.values() if text == "list" for line in lines()]


@contextmanager
def _usage_errors() -> Iterator[None]:
    """A name on the command line that means nothing is wrong usage."""
    try:
        yield
    except (PriceError, ConfigError) as wrong:
        raise UsageError(str(wrong)) from wrong


def _check_names(format_name: str | None, tokenizer: str | None) -> None:
    from slicetape.formats.detect import MODULES
    from slicetape.prices.tokens import counter

    if tokenizer is not None:
        counter(tokenizer)
    if format_name is not None and format_name not in MODULES:
        known = ", ".join(sorted(MODULES))
        raise UsageError(f"unknown format {format_name[:60]!r}; known formats: {known}")


class _Work:
    """Replays file after file; what cannot be read is told, and remembered in `failed`."""

    def __init__(
        self,
        options: Options,
        format: str | None,
        bar: ReplayBar,
        also: Callable[[Recording], None],
    ) -> None:
        self.failed = False
        self._also = also
        self._options = options
        self._format = format
        self._bar = bar

    def file(self, name: str) -> list[SessionReport]:
        """Every session of a file, or of the log that an id names, as far as they can be read."""
        self._bar.file()
        found: list[SessionReport] = []
        try:
            for recording in recordings(transcript_path(name), format=self._format):
                for note in recording.notes:
                    self._bar.say(f"{name}: {note}", word="warning")
                found.append(replay_session(recording, self._options, progress=self._bar.reply))
                self._also(recording)
            if not found:
                self._fail(name, "no session in it")
        except UsageError:
            raise
        except (SlicetapeError, OSError) as error:
            self._fail(name, told(error))
        return found

    def _fail(self, name: str, problem: str) -> None:
        self.failed = True
        where = "" if name.rpartition("/")[2] in problem else f"{name[:300]}: "
        self._bar.say(f"{where}{problem}", word="error")
