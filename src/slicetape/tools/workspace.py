"""The folder that tools work in, and which paths they may touch.

A path is followed to the end of its symbolic links before it is judged, and a file is opened
without following a link in its last part, so what was judged is what is opened.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from slicetape.loop.protocols import Output


class Refused(Exception):
    """A path that may not be used, or a file that cannot; `output` tells the model."""

    def __init__(self, text: str, code: str, name: str = "FsError") -> None:
        super().__init__(text)
        self.code = code
        self.output = Output.failure(text, name=name, code=code)


@dataclass(frozen=True, slots=True)
class Place:
    """A path as tools use it: `shown` absolute as asked for, `real` behind all links."""

    shown: Path
    real: Path


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder, and paths outside it that were allowed by name. `everywhere` lifts the limits."""

    root: Path
    allowed: tuple[Path, ...] = ()
    everywhere: bool = False

    def place(self, asked: str, *, verb: str = "use") -> Place:
        """The path that a model names. Refused when it leads out of the allowed folders."""
        if not asked or "\0" in asked:
            raise Refused(f"cannot {verb} {quoted(asked)}: no such path", "FS_NOT_FOUND")
        try:
            os.fsencode(asked)
            shown = Path(os.path.normpath(self.root / Path(asked).expanduser()))
        except (UnicodeEncodeError, RuntimeError):  # half a character; a home of nobody
            raise Refused(f"cannot {verb} {quoted(asked)}: no such path", "FS_NOT_FOUND") from None
        try:
            real = shown.resolve()
        except (OSError, RuntimeError):
            raise Refused(
                f"cannot {verb} {quoted(shown)}: a loop of links", "FS_IO_ERROR"
            ) from None
        if not self.everywhere and not any(real.is_relative_to(one) for one in self._roots()):
            raise Refused(
                f"cannot {verb} {quoted(shown)}: it lies outside the workspace {self.root}; ask "
                "the user to allow it (--allow PATH)",
                "FS_SANDBOX_DENIED",
            )
        return Place(shown, real)

    def relative(self, path: Path) -> str:
        """A path as seen from the workspace; absolute when it lies outside."""
        try:
            return str(path.relative_to(self.root))
        except ValueError:
            return str(path)

    def lead(self, place: Place) -> str:
        """What makes a path from a searched folder, or a searched file's folder, one to read by."""
        folder = place.shown if place.real.is_dir() else place.shown.parent
        start = self.relative(folder)
        return "" if start == "." else start.rstrip("/") + "/"

    def _roots(self) -> tuple[Path, ...]:
        return tuple(path.resolve() for path in (self.root, *self.allowed))


def printable(name: str) -> str:
    """A name from the disk as text; bytes that are no UTF-8 become U+FFFD."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def quoted(path: object) -> str:
    """A path for an error text: in quotes, bounded."""
    text = str(path).encode("utf-8", "replace").decode()
    return f'"{text if len(text) <= 300 else text[:300] + "…"}"'


def regular(place: Place, verb: str) -> os.stat_result:
    """The facts of a regular file. Refused when it is missing or something else."""
    try:
        facts = place.real.stat()
    except OSError as error:
        raise told(error, place, verb) from None
    if not stat.S_ISREG(facts.st_mode):
        kind = "a directory" if stat.S_ISDIR(facts.st_mode) else "not a regular file"
        raise Refused(f"cannot {verb} {quoted(place.shown)}: {kind}", "FS_NOT_REGULAR_FILE")
    return facts


def opened(place: Place, verb: str) -> int:
    """A descriptor to read a file by; never waits, as a pipe would. Refused when it cannot."""
    try:
        return os.open(place.real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise told(error, place, verb) from None


def told(error: OSError, place: Place, verb: str) -> Refused:
    """What an error of the operating system means for the model."""
    where = f"cannot {verb} {quoted(place.shown)}"
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return Refused(f"{where}: not found", "FS_NOT_FOUND")
        case PermissionError():
            return Refused(f"{where}: permission denied", "FS_PERMISSION_DENIED")
        case IsADirectoryError():
            return Refused(f"{where}: a directory", "FS_NOT_REGULAR_FILE")
        case _:
            return Refused(f"{where}: {error.strerror or error}", "FS_IO_ERROR")
