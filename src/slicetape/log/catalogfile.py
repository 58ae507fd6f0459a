"""The SQLite file below the catalog: opened by many processes at once, made anew when damaged."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slicetape.errors import StorageFailed

SCHEMA = 1
"""Written into the file; a file with another number is made anew."""

BUSY_SECONDS = 10
REFUSED = frozenset({3, 5, 6, 7, 8, 10, 13, 14, 23})
"""SQLite's codes for a disk, a permission, a memory or another process that says no.

Every other failure is damage.
"""

TABLES = """
create table sessions(
  id text primary key, path text not null, format text not null, created integer not null,
  cwd text not null, title text not null, turns integer not null, steps integer not null,
  calls integer not null, events integer not null, size integer not null, mtime integer not null);
create table documents(
  id integer primary key, session text not null, seq integer not null, turn integer not null,
  step integer not null, kind text not null, block integer not null, text text not null);
create index documents_of_session on documents(session, seq);
create virtual table terms using
  fts5(words, kind, content='', tokenize="unicode61 remove_diacritics 2");
insert into terms(terms, rank) values('rank', 'bm25(1.0, 0.0)');
"""


def opened(path: Path) -> sqlite3.Connection:
    """A connection to the index at `path`, made when missing, made anew when it is no index.

    StorageFailed when the disk refuses.
    """
    try:
        if db := _connected(path):
            return db
    except sqlite3.Error as error:
        raise_refusal(path, error)
    except OSError as error:
        raise StorageFailed(f"{path}: the index cannot be made: {error.strerror}") from None
    return remade(path, instead_of=inode_of(path))


def remade(path: Path, *, instead_of: int | None) -> sqlite3.Connection:
    """A connection to a new, empty index, unless another process has made one meanwhile.

    `instead_of` is the inode of the file that is damaged. StorageFailed when the disk refuses.
    """
    try:
        with _repairing(path):
            if inode_of(path) == instead_of:
                for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
                    path.with_name(name).unlink(missing_ok=True)
            if db := _connected(path):
                return db
            raise StorageFailed(f"{path}: another program uses this file; move its file away")
    except sqlite3.Error as error:
        raise_refusal(path, error)
        raise StorageFailed(f"{path}: {error}; delete it, it is made anew") from None
    except OSError as error:
        raise StorageFailed(f"{path}: the index cannot be made: {error.strerror}") from None


def raise_refusal(path: Path, error: Exception) -> None:
    """Raise StorageFailed for what starting anew would not repair; return for damage."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in REFUSED:
        raise StorageFailed(f"{path}: the index cannot be used now: {error}") from None


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Everything within happens at once, or not at all."""
    db.execute("begin immediate")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            db.execute("rollback")
        raise
    db.execute("commit")


def inode_of(path: Path) -> int | None:
    """What tells this file from one made anew at the same path; None when there is none."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _connected(path: Path) -> sqlite3.Connection | None:
    """A connection to the file, made when missing; None when its tables are not ours."""
    if not path.exists():
        path.touch(mode=0o600)
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = normal")
        if _has_schema(db):
            return db
    except BaseException:
        db.close()
        raise
    db.close()
    return None


def _has_schema(db: sqlite3.Connection) -> bool:
    """Whether the file has our tables; they are made in an empty one."""
    if _version(db) == SCHEMA:
        return True
    with transaction(db):
        if _version(db) == 0 and not db.execute("select 1 from sqlite_schema").fetchone():
            for statement in TABLES.split(";\n"):
                db.execute(statement)
            db.execute(f"pragma user_version = {SCHEMA}")
        return _version(db) == SCHEMA


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("pragma user_version").fetchone()[0])


@contextmanager
def _repairing(path: Path) -> Iterator[None]:
    """One process at a time; the lock file stays."""
    import fcntl

    fd = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
