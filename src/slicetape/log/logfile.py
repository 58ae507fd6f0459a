"""The open end of a session's file: bytes go to its end, or the file stays as it was.

A file appears with its first bytes: written beside its place, made durable, then published
under its name, which must be free.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from slicetape.errors import StorageFailed
from slicetape.log.lock import SessionLock


@dataclass(frozen=True, slots=True)
class End:
    """Where a file that exists goes on.

    Before the first write the file is cut at `keep` bytes and `mend` is written there. `aside`,
    when given, names a new file for the bytes that are cut.
    """

    size: int
    keep: int
    mend: bytes = b""
    aside: Path | None = None


class LogFile:
    """The one writer of a file; `size` is what this writer left it at, 0 before it exists."""

    def __init__(self, path: Path, *, end: End | None = None, lock: SessionLock | None = None):
        self.path = path
        self.size = end.size if end else 0
        self._end = end
        self._lock = lock
        self._fd = -1
        self._synced = 0
        self._unsure = False  # a failed write could not be taken back yet
        self._unsynced = False  # a sync failed: what it covered must be written again
        self._closed = False
        self._pid = os.getpid()
        if end is not None:
            self._fd = self._opened(path)

    @property
    def exists(self) -> bool:
        """Whether the file has been published."""
        return self._fd >= 0

    def _opened(self, path: Path) -> int:
        try:
            return os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise StorageFailed(f"{path}: cannot be written: {_reason(error)}") from None

    def publish(self, data: bytes) -> None:
        """Make the file with its first bytes, durable; raises StorageFailed when it is taken."""
        self._require_open()
        try:
            _make_folder(self.path.parent)
            if self._lock is None:
                self._lock = SessionLock(self.path)
            self._fd = _published(self.path, (data,))
        except FileExistsError:
            raise StorageFailed(f"{self.path}: already there; a log is never overwritten") from None
        except OSError as error:
            raise StorageFailed(
                f"{self.path}: nothing was written: {_reason(error)}; append again when mended"
            ) from None
        self.size = self._synced = len(data)

    def write(self, data: bytes) -> None:
        """Return once the operating system has `data` at the end of the file.

        Raises StorageFailed with the file as it was; the write may be tried again.
        """
        self._require_open()
        self._require_ours()
        try:
            if self._end is not None:
                self._mend(self._end)
            _write_all(self._fd, data, self.size)
        except OSError as error:
            self._unsure = not self._cut()
            raise StorageFailed(
                f"{self.path}: nothing was written: {_reason(error)}; the log is unchanged,"
                " append again when it is mended"
            ) from None
        self.size += len(data)

    def _require_open(self) -> None:
        if self._closed:
            raise StorageFailed(f"{self.path}: the log is closed; open it again to write")
        if os.getpid() != self._pid:
            raise StorageFailed(f"{self.path}: opened by another process; each opens its own log")

    def _require_ours(self) -> None:
        state = os.fstat(self._fd)
        if state.st_nlink == 0:
            raise StorageFailed(
                f"{self.path}: the file was removed; what is appended would be lost"
            )
        if self._unsure and self._cut():
            self._unsure = False
        elif state.st_size != self.size:
            raise StorageFailed(
                f"{self.path}: {state.st_size} bytes where this writer left {self.size}: something"
                " else wrote to it; nothing was written, close the log and open it again"
            )

    def _mend(self, end: End) -> None:
        """Drop a torn end and write again what was readable of it."""
        if end.aside is not None and self.size > end.keep:
            _put_aside(end.aside, _read(self._fd, end.keep, self.size))
        os.ftruncate(self._fd, end.keep)
        self.size = end.keep
        _write_all(self._fd, end.mend, self.size)
        self.size += len(end.mend)
        os.fsync(self._fd)
        self._end = None

    def _cut(self) -> bool:
        """Cut the file back to what was written whole; whether that worked."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self.size)
            os.fsync(self._fd)
            return True
        return False

    def sync(self) -> None:
        """Return once everything written would survive a power cut."""
        self._require_open()
        try:
            if self._unsynced:  # a failed sync may have dropped the pages: make them dirty again
                _write_all(self._fd, _read(self._fd, self._synced, self.size), self._synced)
            os.fsync(self._fd)
        except OSError as error:
            self._unsynced = True
            raise StorageFailed(
                f"{self.path}: not yet safe from a power cut: {_reason(error)}; sync again"
            ) from None
        self._unsynced = False
        self._synced = self.size

    def close(self) -> None:
        """Let go of the file and its lock."""
        if self._fd >= 0:
            os.close(self._fd)
        if self._lock is not None and os.getpid() == self._pid:
            self._lock.release()
        self._fd = -1
        self._closed = True


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _write_all(fd: int, data: bytes, at: int) -> None:
    done = os.pwrite(fd, data, at)
    while done < len(data):  # a nearly full disk takes a part before it refuses
        done += os.pwrite(fd, memoryview(data)[done:], at + done)


def _read(fd: int, start: int, end: int) -> bytes:
    return os.pread(fd, end - start, start)


def _put_aside(path: Path, data: bytes) -> None:
    """Keep `data` in a new file, numbered when others were cut at the same place."""
    names = chain((path,), (path.with_name(f"{path.name}-{n}") for n in count(2)))
    os.close(_published(next(name for name in names if not name.exists()), (data,)))


def _published(path: Path, pieces: Iterable[bytes]) -> int:
    """Write beside `path`, make that durable and give it its name; an open descriptor."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()  # left by a crash of a process with our number
    fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        size = 0
        for piece in pieces:
            _write_all(fd, piece, size)
            size += len(piece)
        os.fsync(fd)
        _named(temporary, path)
    except BaseException:
        os.close(fd)
        raise
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
    _sync_folder(path.parent)
    return fd


def place(path: Path, pieces: Iterable[bytes]) -> None:
    """Make a whole file at once, private and durable; raises StorageFailed when it is taken."""
    try:
        _make_folder(path.parent)
        os.close(_published(path, pieces))
    except FileExistsError:
        raise StorageFailed(f"{path}: already there; choose another name") from None
    except OSError as error:
        raise StorageFailed(f"{path}: nothing was written: {_reason(error)}") from None


def pieces_of(path: Path) -> Iterator[bytes]:
    """The bytes of a file, a megabyte at a time."""
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            yield piece


def _named(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: the lock keeps other writers away
        if path.exists():
            raise FileExistsError(path) from None
        temporary.rename(path)


def _make_folder(folder: Path) -> None:
    """Make `folder` and its parents, private and durable."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
