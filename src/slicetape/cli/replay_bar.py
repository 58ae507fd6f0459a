"""The progress of a replay on a terminal; nothing on a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from slicetape.cli.output import warn
from slicetape.cli.text import one_line
from slicetape.replay.recording import Recording

_EVERY = 16


class ReplayBar:
    """Which file, session and arm is at work, and how many replies of the session are done.

    `show` is the bar of a terminal, None where nobody looks.
    """

    def __init__(self, files: int, arms: int, show: Any = None) -> None:
        self._files = files
        self._arms = arms
        self._show = show
        self._task = show.add_task("reading", total=None) if show else None
        self._file = self._done = 0
        self._recording: Recording | None = None

    def file(self) -> None:
        """The next file is being read."""
        self._file += 1
        if self._show:
            self._show.start()
            self._show.reset(self._task, total=None, description=f"{self._place} reading")

    def reply(self, recording: Recording, arm: str) -> None:
        """One more reply of a session was replayed under an arm."""
        if not self._show:
            return
        if recording is not self._recording:
            self._recording, self._done = recording, 0
            self._show.start()
            self._show.reset(self._task, total=recording.facts.steps * self._arms)
        self._done += 1
        if self._done % _EVERY == 1:
            text = f"{self._place} {one_line(recording.id, 40)} · {one_line(arm, 30)}"
            self._show.update(self._task, completed=self._done, description=text)

    def working(self, text: str) -> None:
        """Something is at work that counts no replies."""
        if self._show:
            self._recording = None
            self._show.start()
            text = f"{self._place} {one_line(text, 60)}"
            self._show.reset(self._task, total=None, description=text)

    def say(self, text: str, *, word: str) -> None:
        """Tell a person something while the bar is away."""
        if self._show:
            self._show.stop()
        warn(text, word=word)

    @property
    def _place(self) -> str:
        return f"{self._file}/{self._files}"


@contextmanager
def replay_bar(files: int, arms: int) -> Iterator[ReplayBar]:
    """A bar on stderr while `files` are replayed under a number of arms."""
    if not sys.stderr.isatty():
        yield ReplayBar(files, arms)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as show:
        yield ReplayBar(files, arms, show)
