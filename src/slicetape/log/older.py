"""Logs of any format, read as format 3."""

from collections.abc import Iterator
from pathlib import Path

from slicetape.errors import (
    DamagedLog,
    InvalidEvent,
    LogError,
    SessionNotFound,
    StorageFailed,
    UnsupportedFormat,
)
from slicetape.log.codec import header_object, header_version
from slicetape.log.events import FORMAT_VERSION
from slicetape.log.frames import NotFrames, read_frames
from slicetape.log.log import SessionLog
from slicetape.log.scan import is_compressed


def read_any(path: Path, *, to_damage: bool = False) -> SessionLog:
    """The log at `path`, of format 0 to 4, to read.

    Another format than 3 is migrated in memory: `path` of the log is then None, and one that
    format 3 cannot continue is not `writable`. The file is left alone.
    """
    if file_version(path) == FORMAT_VERSION:
        return SessionLog.read(path, to_damage=to_damage)
    from slicetape.log.upgrade import UpgradeReport, upgrade

    report = UpgradeReport()
    try:
        lines = list(upgrade(_lines(path), report=report))
        return SessionLog.of_lines(lines, writable=not report.view_only)
    except UnsupportedFormat as error:
        raise UnsupportedFormat(f"{path}: {error}") from None
    except LogError as error:
        raise DamagedLog(f"{path}: {error}") from None


def file_version(path: Path) -> int:
    """The format version of the log at `path`; SessionNotFound or DamagedLog when it is none."""
    return _header(path)[0]


def first_header(path: Path) -> tuple[str, str | None]:
    """Session id and working directory that the header of a log of any format names."""
    _, header = _header(path)
    session_id, cwd = header.get("id"), header.get("cwd")
    if not isinstance(session_id, str) or not isinstance(cwd, str | None):
        raise DamagedLog(f"{path}: the header names no session")
    return session_id, cwd


def _header(path: Path) -> tuple[int, dict[str, object]]:
    first = next(_lines(path), b"")
    try:
        return header_version(first), header_object(first)
    except InvalidEvent as error:
        if not first.strip(b"\0"):
            what = "filled with NUL bytes" if first else "empty"
            raise DamagedLog(f"{path}: {what}; restore a copy of the file") from None
        raise DamagedLog(f"{path}: not a session log: {error}") from None


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a log file, without a last one that was cut."""
    rest = b""
    try:
        for text in _texts(path):
            *lines, rest = (rest + text).split(b"\n")
            yield from lines
    except FileNotFoundError:
        raise SessionNotFound(f"{path}: no such log") from None
    except OSError as error:
        raise StorageFailed(f"{path}: cannot be read: {error.strerror or error}") from None
    except NotFrames:
        raise DamagedLog(f"{path}: not zstd frames; a plain log is called .jsonl") from None
    if rest.endswith(b"}"):
        yield rest


def _texts(path: Path) -> Iterator[bytes]:
    if not is_compressed(path):
        with path.open("rb") as file:
            yield from file
        return
    for frame in read_frames(path.read_bytes()):
        if frame.problem:
            raise DamagedLog(f"{path}: {frame.problem} at byte {frame.start} of the file")
        yield frame.text
