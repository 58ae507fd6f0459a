"""Where output goes: text and JSON to stdout, warnings and progress to stderr."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import click

from slicetape.cli.text import counted, one_line, plain, safe_json, visible

_DEFAULT_WIDTH = 100
_LONG = 20_000_000


def on_terminal() -> bool:
    """Whether a person reads stdout."""
    return sys.stdout.isatty()


def width() -> int:
    """Columns of the terminal; a fixed number where there is none."""
    if not on_terminal():
        return _DEFAULT_WIDTH
    try:
        return max(40, os.get_terminal_size(sys.stdout.fileno()).columns)
    except OSError:
        return _DEFAULT_WIDTH


def as_json(value: Mapping[str, object]) -> str:
    """The value as one line of JSON; letters that a terminal would act on are escaped."""
    return safe_json(json.dumps(value, ensure_ascii=False))


def echo_json(value: Mapping[str, object]) -> None:
    """Print one JSON object on one line."""
    click.echo(as_json(value))


def paged(lines: Iterable[str]) -> None:
    """Print lines; through a pager when a person reads them and they fill more than a screen."""
    if not on_terminal():
        for line in lines:
            click.echo(line)
        return
    os.environ.setdefault("LESS", "-FRX")
    click.echo_via_pager(f"{line}\n" for line in lines)


def verbatim(text: str, *, json_too: bool = True) -> None:
    """Print a text as it is; on a terminal, with what a terminal would act on escaped.

    Halves of surrogate pairs, which UTF-8 cannot say, become U+FFFD and a note on stderr.
    """
    body = text if text.endswith("\n") else f"{text}\n"
    if on_terminal():
        click.echo(visible(body), nl=False)
        return
    data, lost = plain(body)
    out = sys.stdout.buffer
    out.write(data)
    out.flush()
    if lost:
        where = "; --json has them as escapes" if json_too else ""
        halves = counted(lost, "half of a surrogate pair", "halves of surrogate pairs")
        warn(f"{halves} printed as U+FFFD{where}", word="note")


def warn(text: str, *, word: str = "warning") -> None:
    """Tell a person something that does not stop the work."""
    click.secho(f"{word}: {visible(text)}", fg="yellow", err=True)


class Bar(Protocol):
    """Progress that a person sees."""

    def step(self, name: str) -> None:
        """Say that the next piece of the work begins."""

    def pause(self) -> None:
        """Leave the terminal to lines of output until the next step."""


class _NoBar:
    def step(self, name: str) -> None:
        """Nobody looks."""

    def pause(self) -> None:
        """Nothing is on the terminal."""


class _RichBar:
    def __init__(self, label: str, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        # A redirected stdout would end on stderr, and ids and JSON are for the pipe behind it.
        self.show = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._label = label
        self._task = self.show.add_task(label, total=total)
        self._begun = 0

    def step(self, name: str) -> None:
        """Show the name, and one piece more as done."""
        self.show.start()
        text = f"{self._label} {one_line(name, 40)}"
        self.show.update(self._task, completed=self._begun, description=text)
        self._begun += 1

    def pause(self) -> None:
        """Take the bar away."""
        self.show.stop()


def told(error: Exception) -> str:
    """What an error says to a person; of the operating system, the file and the reason."""
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return f"{str(error.filename)[:300]}: {reason}" if error.filename else reason
    return str(error)


@contextmanager
def progress(label: str, total: int, *, size: int = 0) -> Iterator[Bar]:
    """A bar on stderr while work of `total` pieces is done; nothing on a pipe.

    One piece gets a bar only when its `size` in bytes says that it takes a while.
    """
    if not sys.stderr.isatty() or (total < 2 and size < _LONG):
        yield _NoBar()
        return
    bar = _RichBar(label, total)
    try:
        yield bar
    finally:
        bar.pause()
