"""The environment of a peer: a virtual environment of its own, made when it is first asked for.

It stands under `peers/<package>-<version>` of slicetape's home, never in the environment that
slicetape itself runs in. A file `installed` in it, written last, says that it is whole.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from slicetape.errors import PeerError
from slicetape.log.store import default_home
from slicetape.replay.peers.pins import Peer

Told = Callable[[str], None]
"""Told one line about what is being done."""

_OUT_OF_REACH = (
    "connection",
    "name resolution",
    "name or service not known",
    "timed out",
    "max retries",
    "no matching distribution",
    "proxy",
    "network is unreachable",
)
_KEPT_LINES = 40


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a peer is, or would be, installed."""

    peer: Peer
    folder: Path

    @classmethod
    def of(cls, peer: Peer, *, home: Path | None = None) -> "Environment":
        """The environment of `peer` under `home`, by default slicetape's own."""
        name = f"{peer.names[0]}-{peer.version}"
        return cls(peer, (home or default_home()) / "peers" / name)

    @property
    def python(self) -> Path:
        """The interpreter of the environment."""
        parts = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
        return self.folder.joinpath(*parts)

    @property
    def home(self) -> Path:
        """The folder that the peer takes for the home of its user."""
        return self.folder / "home"

    @property
    def ready(self) -> bool:
        """Whether everything that is pinned was installed."""
        try:
            said = (self.folder / "installed").read_text(encoding="utf-8")
        except OSError:
            return False
        return said.split() == list(self.peer.packages) and self.python.exists()

    def install(self, tell: Told = lambda _line: None) -> None:
        """Make the environment unless it is there; PeerError says why it could not be made."""
        if self.ready:
            return
        with _lock(self.folder):
            self._make(tell)

    def _make(self, tell: Told) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        tell(f"{self.peer.name}: making an environment for {', '.join(self.peer.packages)}")
        # Our own pip can work there; without one, the environment gets its own.
        ours = find_spec("pip") is not None
        bare = ["--without-pip"] if ours else []
        pip = [sys.executable, "-m", "pip", "--python"] if ours else []
        self._run([sys.executable, "-m", "venv", *bare, str(self.folder)], tell)
        install = [*pip, str(self.python), *([] if ours else ["-m", "pip"]), "install"]
        options = ["--no-input", "--only-binary=:all:", "--disable-pip-version-check"]
        self._run([*install, *options, *self.peer.packages], tell)
        mark = self.folder / "installed"
        mark.write_text("\n".join(self.peer.packages) + "\n", encoding="utf-8")

    def _run(self, command: list[str], tell: Told) -> None:
        last: deque[str] = deque(maxlen=_KEPT_LINES)
        try:
            with subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            ) as work:
                for line in work.stdout or ():
                    last.append(line.strip())
                    if line.startswith(("Collecting", "Installing")):
                        tell(f"{self.peer.name}: {line.strip()[:100]}")
        except OSError as error:
            raise PeerError(f"{command[0]}: cannot be started: {error.strerror or error}") from None
        if work.returncode:
            raise PeerError(self._why(list(last)))

    def _why(self, lines: list[str]) -> str:
        errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
        reason = errors[-1][:200] if errors else "no reason was given"
        text = " ".join(lines).lower()
        if any(mark in text for mark in _OUT_OF_REACH):
            return (
                f"{self.peer.name} ({self.peer.packages[0]}) cannot be installed: no package "
                f"registry that pip is set up for offers it ({reason}).\nCheck the network and "
                "the settings of pip, then try again; without it the peer is reported as absent"
            )
        return (
            f"{self.peer.name} ({self.peer.packages[0]}) cannot be installed: {reason}.\n"
            f"Python {sys.version_info.major}.{sys.version_info.minor} with venv and pip is needed"
        )


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Hold others off while an environment is made; PeerError when somebody else makes it."""
    path = folder.with_name(folder.name + ".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = path.open("a")
    except OSError as error:
        raise PeerError(f"{path}: cannot be written: {error.strerror or error}") from None
    with held:
        try:
            import fcntl

            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass
        except OSError:
            raise PeerError(f"{folder}: another process installs it; wait for it") from None
        yield
