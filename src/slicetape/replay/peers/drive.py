"""A peer at work in its own process: requests go in and what it would send comes out.

One process serves every setup of a peer, session after session. Its time for a request and its
memory are bounded; it is given no keys, and is told to stay off the network.
"""

import os
import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Self, TypeVar

import msgspec
from msgspec import Raw

from slicetape.errors import PeerError
from slicetape.replay.peers.pins import DRIVERS

_T = TypeVar("_T")
_PASSED = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
_QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HEADROOM_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "LANGSMITH_TRACING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "PYTHONIOENCODING": "utf-8",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a peer may take: seconds to start and for one request, bytes of memory and answer."""

    start_s: float = 120.0
    request_s: float = 60.0
    memory: int = 4 << 30
    answer: int = 256 << 20


@dataclass(frozen=True, slots=True)
class Program:
    """What is started: an interpreter, a driver, the packages it names, and its home folder."""

    name: str
    python: Path
    driver: Path
    packages: tuple[str, ...]
    home: Path


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came back for one request.

    The first `keep` messages are those of the answer before; `add` follows: numbers of messages of
    the request that stand as they came, and whole messages, as JSON. `error` says that the peer
    failed on the request, which is then taken as sent as it came.
    """

    ms: float = 0.0
    keep: int = 0
    add: tuple[Raw, ...] = ()
    error: str | None = None


class _Opened(msgspec.Struct, frozen=True):
    ready: bool = False
    versions: Mapping[str, str] = {}
    failed: str = "it said nothing"


class Driver:
    """A running peer. PeerError when it does not start, ends, or takes longer than it may."""

    def __init__(self, program: Program, limits: Limits | None = None) -> None:
        self._name = program.name
        self._limits = limits or Limits()
        self._said: IO[bytes] = TemporaryFile()  # noqa: SIM115
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._work = self._start(program)
        reader = threading.Thread(target=self._read, daemon=True)
        reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, settings: Mapping[str, object]) -> Mapping[str, str]:
        """Begin a session with `settings`; the versions of what answers."""
        line = self._ask(msgspec.json.encode({"open": settings}), self._limits.start_s)
        opened = self._decoded(line, _Opened)
        if not opened.ready:
            raise PeerError(f"{self._name} cannot be opened: {opened.failed[:300]}")
        return opened.versions

    def request(self, keep: int, add: Sequence[bytes]) -> Answer:
        """What the peer makes of a request: the first `keep` messages of the last one, and `add`.

        The messages are JSON.
        """
        line = b'{"keep":%d,"add":[%s]}' % (keep, b",".join(add))
        return self._decoded(self._ask(line, self._limits.request_s), Answer)

    def close(self) -> None:
        """End the process."""
        if self._work.poll() is None:
            self._work.kill()
        self._work.wait()
        for pipe in (self._work.stdin, self._work.stdout):
            if pipe:
                try:
                    pipe.close()
                except OSError:
                    continue
        self._said.close()

    def _start(self, program: Program) -> subprocess.Popen[bytes]:
        known = {name: os.environ[name] for name in _PASSED if name in os.environ}
        home = str(program.home)
        command = [str(program.python), "-E", "-s", str(DRIVERS / "serve.py"), str(program.driver)]
        try:
            program.home.mkdir(parents=True, exist_ok=True)
            return subprocess.Popen(  # noqa: S603
                [*command, str(self._limits.memory), *program.packages],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                cwd=home,
                env=known | _QUIET | {"HOME": home, "USERPROFILE": home},
            )
        except OSError as error:
            self._said.close()
            why = error.strerror or error
            raise PeerError(f"{program.name}: {program.python} cannot be started: {why}") from None

    def _read(self) -> None:
        """Pass answers on; an empty one when there will be no more."""
        out, longest = self._work.stdout, self._limits.answer
        assert out is not None
        try:
            while (line := out.readline(longest)).endswith(b"\n"):
                self._lines.put(line)
        except (OSError, ValueError):
            pass
        self._work.kill()
        self._lines.put(b"")

    def _ask(self, line: bytes, seconds: float) -> bytes:
        into = self._work.stdin
        assert into is not None
        late = threading.Event()
        timer = threading.Timer(seconds, self._end, (late,))
        timer.daemon = True
        timer.start()
        try:
            into.write(line + b"\n")
            into.flush()
            answer = self._lines.get()
        except OSError:
            answer = b""
        timer.cancel()
        if late.is_set():
            raise PeerError(f"{self._name} did not answer within {seconds:g} s")
        if not answer:
            self._lines.put(b"")
            raise PeerError(f"{self._name} ended before it answered: {self._last_words()}")
        return answer

    def _end(self, late: threading.Event) -> None:
        late.set()
        self._work.kill()

    def _last_words(self) -> str:
        """The last line the process wrote for people, bounded."""
        self._work.wait()
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - 2_000))
        lines = self._said.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else f"exit status {self._work.returncode}"

    def _decoded(self, line: bytes, kind: type[_T]) -> _T:
        try:
            return msgspec.json.decode(line, type=kind)
        except msgspec.MsgspecError:
            raise PeerError(f"{self._name} answered something that is no answer") from None
