"""One writer for each session: a lock that ends with its process.

The lock is `flock` on a file that is never removed, and a claim within this process, which covers
file systems where a second `flock` of one process succeeds.
"""

import contextlib
import os
from pathlib import Path

from slicetape.errors import SessionLocked, StorageFailed

_claims: set[str] = set()


def lock_path(log: Path) -> Path:
    """The lock file of a log: `session.lock` in a session's folder, else beside the file."""
    name = "session.lock" if log.name.startswith("session.") else f"{log.name}.lock"
    return log.parent / name


class SessionLock:
    """The right to write one session, held until `release` or the end of the process."""

    def __init__(self, log: Path) -> None:
        """Take the lock of `log`, whose folder exists; raises SessionLocked."""
        path = lock_path(log)
        self._claim = os.path.realpath(path)
        self._fd = -1
        if self._claim in _claims:
            raise SessionLocked(f"{log}: this program already writes this session; use that one")
        _claims.add(self._claim)
        try:
            self._fd = _locked(path, log)
        except OSError as error:
            raise StorageFailed(f"{path}: cannot be locked: {error.strerror or error}") from None
        finally:
            if self._fd < 0:
                _claims.discard(self._claim)

    def release(self) -> None:
        """Let others write. The lock file stays."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            _claims.discard(self._claim)


def _locked(path: Path, log: Path) -> int:
    """A descriptor that holds the lock of the file that is at `path` after locking."""
    import fcntl

    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(fd), path.stat()):
                    return fd
        except BlockingIOError:
            os.close(fd)
            raise SessionLocked(
                f"{log}: another process writes this session; end it or wait for it,"
                " or only read the session"
            ) from None
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # the file was replaced between opening and locking
