"""Which session an agent works in: a new one, the last of this directory, or a named one."""

import secrets
import time
from datetime import datetime
from pathlib import Path

from slicetape.errors import LogError, SessionNotFound, UsageError
from slicetape.log.events import FORMAT_VERSION, Header
from slicetape.log.fork import child_header, fork
from slicetape.log.log import SessionLog
from slicetape.log.older import first_header
from slicetape.log.project import project_name
from slicetape.log.store import Store
from slicetape.loop.resume import taken_up
from slicetape.surface import Session


def now_ms() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


def new_id() -> str:
    """A session id that sorts by time: the local date and time, and four letters."""
    return f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def chosen(
    store: Store, cwd: Path, *, resume: bool, session: str | None, compressed: bool = False
) -> Session:
    """The session to write: taken up where it was left, or new."""
    if resume and session is not None:
        raise UsageError("--resume takes the last session, --session a named one; give one of them")
    if resume:
        session = last_here(store, cwd)
    if session is None:
        return begun(store, cwd, compressed=compressed)
    return taken_up(store.open(session), time=now_ms())


def begun(store: Store, cwd: Path, *, compressed: bool = False) -> Session:
    """A new session; nothing of it is on the disk before its first event."""
    header = Header(
        type="session",
        version=FORMAT_VERSION,
        id=new_id(),
        created_at=now_ms(),
        is_seeded=False,
        delegation_depth=0,
        cwd=str(cwd),
    )
    return Session(store.create(header, compressed=compressed))


def last_here(store: Store, cwd: Path) -> str:
    """The id of the session of this directory that was written last. SessionNotFound when none."""
    project = store.sessions_folder / project_name(str(cwd))
    newest: tuple[float, str] | None = None
    for row in store.sessions():
        if row.folder.parent != project or row.problem:
            continue
        try:
            if first_header(row.log)[1] != str(cwd):
                continue
            written = row.log.stat().st_mtime
        except (LogError, OSError):
            continue
        newest = max(newest or (0.0, ""), (written, row.id))
    if newest is None:
        raise SessionNotFound(f"no session of {cwd} yet; run without --resume to begin one")
    return newest[1]


def undone(store: Store, log: SessionLog, *, compressed: bool = False) -> Session:
    """A new session with everything before the last turn of `log`. UsageError when it has none."""
    from slicetape.log.events import InboxSpliced, TurnStart

    starts = [event.seq for event in log.events if isinstance(event, TurnStart)]
    if not starts:
        raise UsageError("nothing to undo: no turn was run yet")
    end = starts[-1]
    while end and isinstance(log.events[end - 1], InboxSpliced):
        end -= 1
    header = child_header(log.header, id=new_id(), created_at=now_ms())
    child = store.create(header, compressed=compressed)
    fork(log, child, time=now_ms(), end=end)
    return Session(child)
