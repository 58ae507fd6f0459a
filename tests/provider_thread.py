"""A scripted provider in a thread of its own, for commands that run in other processes."""

import asyncio
import os
import pty
import select
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from slicetape.testing.replies import Asked, Reply, Script
from slicetape.testing.server import Provider, Received

__all__ = ["Asked", "ProviderThread", "Received", "Reply", "Terminal", "command"]


class ProviderThread:
    """Serves a script until it is left."""

    def __init__(self, replies: Iterable[Reply], faults: Mapping[int, str] | None = None) -> None:
        script = Script.of(replies)
        script.faults = dict(faults or {})
        self.provider = Provider(script)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.provider.start(), self._loop).result(5)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self.provider.stop(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    @property
    def bodies(self) -> list[Any]:
        """The requests that were answered, as JSON."""
        import json

        return [json.loads(one.body) for one in self.provider.received if one.status == 200]

    def environ(self, home: Path) -> dict[str, str]:
        """The environment of a command that talks to it and keeps its sessions in `home`."""
        kept = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
        return {**kept, **self.provider.environ, "SLICETAPE_HOME": str(home), "TERM": "xterm"}


def command(*words: str) -> list[str]:
    """A command line of the program."""
    return [sys.executable, "-m", "slicetape.cli", *words]


class Terminal:
    """A command behind a pseudo-terminal, as a person uses it."""

    def __init__(self, words: list[str], environ: Mapping[str, str], folder: Path) -> None:
        self._main, side = pty.openpty()
        self._process = subprocess.Popen(
            words, stdin=side, stdout=side, stderr=side, env=dict(environ), cwd=folder
        )
        os.close(side)
        self.screen = ""
        self._seen = 0

    def wait_for(self, text: str, *, seconds: float = 20) -> None:
        """Read until `text` was printed behind what was waited for last."""
        deadline = time.monotonic() + seconds
        while (at := self.screen.find(text, self._seen)) < 0:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} did not come; the screen says:\n{self.screen[-2_000:]}"
            self._read(left)
        self._seen = at + len(text)

    def type(self, text: str) -> None:
        """Type a line."""
        self._ready()
        os.write(self._main, text.encode() + b"\r")

    def press(self, key: bytes) -> None:
        """Press a key."""
        self._ready()
        os.write(self._main, key)

    def end(self, *, seconds: float = 10) -> int:
        """Wait for the command to end; its status."""
        deadline = time.monotonic() + seconds
        while self._process.poll() is None and time.monotonic() < deadline:
            self._read(0.1)
        if self._process.poll() is None:
            self._process.kill()
        status = self._process.wait(5)
        os.close(self._main)
        return status

    def _ready(self) -> None:
        """Wait until a prompt takes keys one by one: between two prompts some would be lost."""
        deadline = time.monotonic() + 20
        while termios.tcgetattr(self._main)[3] & termios.ICANON:
            assert time.monotonic() < deadline, f"no prompt:\n{self.screen[-2_000:]}"
            self._read(0.05)

    def _read(self, seconds: float) -> None:
        ready, _, _ = select.select([self._main], [], [], min(seconds, 0.5))
        if ready:
            try:
                data = os.read(self._main, 65_536)
            except OSError:
                return
            if b"\x1b[6n" in data:
                os.write(self._main, b"\x1b[1;1R")  # the terminal says where its cursor is
            self.screen += data.decode("utf-8", "replace")
