"""Where sessions live: one folder each, below a folder for each working directory.

`$SLICETAPE_HOME` (by default `~/.slicetape`) holds
`sessions/--<project>--/<encoded id>/session.v3.jsonl`, its `session.lock`, `blobs/` and
`attachments/`. Folder names are lossy for projects and exact for ids, so a session is found by its
folder and its header must agree with it.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slicetape.errors import AmbiguousSession, DamagedLog, SessionNotFound, StorageFailed
from slicetape.log.attachments import Attachments, copy_attachments
from slicetape.log.events import FORMAT_VERSION, Header
from slicetape.log.log import SessionLog
from slicetape.log.older import first_header, read_any
from slicetape.log.project import NO_PROJECT, decoded_id, encoded_id, project_name
from slicetape.log.scan import is_compressed
from slicetape.log.spill import Blobs, copy_spills

_LOG_NAME = re.compile(r"session(?:\.v([1-9][0-9]{0,3}))?\.jsonl(\.zstd)?")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session in a store: its id, its folder, and its log of the highest format.

    `problem` says why it cannot be opened, when its folder alone shows that.
    """

    id: str
    folder: Path
    log: Path
    version: int
    problem: str = ""


class Store:
    """The sessions of one home folder."""

    def __init__(self, home: Path | None = None) -> None:
        """`home` is by default `$SLICETAPE_HOME`, else `~/.slicetape`; it need not exist."""
        self.home = home or default_home()

    @property
    def sessions_folder(self) -> Path:
        """Where the projects are."""
        return self.home / "sessions"

    def sessions(self) -> Iterator[StoredSession]:
        """Every session, by project and id; no log is opened."""
        for project in _folders(self.sessions_folder):
            if project.name != NO_PROJECT and not _is_project(project.name):
                continue
            for folder in _folders(project):
                session = _session_in(folder)
                if session is not None:
                    yield session

    def find(self, name: str) -> StoredSession:
        """The session whose id is `name`, or the only one whose id starts with it.

        Raises SessionNotFound, AmbiguousSession, or DamagedLog when folder and header disagree.
        """
        found = (
            [session for session in self.sessions() if session.id.startswith(name)] if name else []
        )
        exact = [session for session in found if session.id == name]
        if len(exact) > 1:
            paths = " and ".join(str(session.folder) for session in exact[:2])
            raise AmbiguousSession(f"the session {name[:80]!r} is there twice: {paths}; keep one")
        if not exact and len(found) > 1:
            ids = ", ".join(session.id[:80] for session in found[:_SHOWN])
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            raise AmbiguousSession(
                f"{name[:80]!r} is the start of {len(found)} session ids: {ids}{more};"
                " give more of the id"
            )
        if not found:
            raise SessionNotFound(
                f"no session {name[:80]!r} in {self.sessions_folder};"
                " `slicetape sessions` lists them"
            )
        session = (exact or found)[0]
        self._check(session)
        return session

    def _check(self, session: StoredSession) -> None:
        if session.problem:
            raise DamagedLog(session.problem)
        header_id, cwd = first_header(session.log)
        if header_id != session.id:
            raise DamagedLog(
                f"{session.log}: its header names the session {header_id[:80]!r}, its folder"
                f" {session.id[:80]!r}; move it to the folder of its id"
            )
        due = self.sessions_folder / project_name(cwd) / encoded_id(header_id)
        if due != session.folder and not _same_folder(due, session.folder):
            raise DamagedLog(
                f"{session.log}: its header's working directory belongs into {due}; move it there"
            )

    def path_for(self, header: Header, *, compressed: bool = False) -> Path:
        """Where the log of a session of format 3 is or would be."""
        folder = self.sessions_folder / project_name(header.cwd) / encoded_id(header.id)
        return folder / f"session.v{FORMAT_VERSION}.jsonl{'.zstd' if compressed else ''}"

    def create(self, header: Header, *, compressed: bool = False) -> SessionLog:
        """A new session; nothing is on the disk before its first event or sync.

        Raises StorageFailed when the id is taken, in whatever project.
        """
        path = self._free_path(header, compressed=compressed)
        return SessionLog.create(path, header)

    def _free_path(self, header: Header, *, compressed: bool) -> Path:
        path = self.path_for(header, compressed=compressed)
        for project in _folders(self.sessions_folder):
            taken = project / path.parent.name
            if taken.is_dir() and _session_in(taken) is not None:
                raise StorageFailed(f"{taken}: the session {header.id[:80]!r} is already there")
        return path

    def open(self, name: str) -> SessionLog:
        """The session `name` (an id or its start), to go on writing it.

        One of an older format is first published in format 3 beside its file, which stays.
        """
        session = self.find(name)
        if session.version >= FORMAT_VERSION:
            return SessionLog.open(session.log)
        compressed = is_compressed(session.log)
        log = session.log.with_name(f"session.v{FORMAT_VERSION}.jsonl{'.zstd' * compressed}")
        read_any(session.log).copy_to(log)
        return SessionLog.open(log)

    def read(self, name: str, *, to_damage: bool = False) -> SessionLog:
        """The session `name` (an id or its start), to read; of format 0 to 4."""
        return read_any(self.find(name).log, to_damage=to_damage)

    def take_in(self, log: SessionLog, *, compressed: bool = False) -> Path:
        """Copy a log of any place, its spills and pictures into the store; the path of the copy.

        Raises StorageFailed when its id is taken.
        """
        path = self._free_path(log.header, compressed=compressed)
        copy_spills(log.events, log.blobs, Blobs.beside(path))
        copy_attachments(log.events, log.attachments, Attachments.beside(path))
        log.copy_to(path)
        return path


def default_home() -> Path:
    """`$SLICETAPE_HOME`, else `~/.slicetape`."""
    named = os.environ.get("SLICETAPE_HOME")
    return Path(named).expanduser() if named else Path.home() / ".slicetape"


def _is_project(name: str) -> bool:
    return len(name) > 4 and name.startswith("--") and name.endswith("--")


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if entry.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageFailed(f"{folder}: cannot be read: {error.strerror or error}") from None


def _session_in(folder: Path) -> StoredSession | None:
    """The session of a folder, when it has one."""
    session_id = decoded_id(folder.name)
    if session_id is None:
        return None
    logs: dict[int, list[Path]] = {}
    try:
        for entry in sorted(folder.iterdir()):
            name = _LOG_NAME.fullmatch(entry.name)
            if name:
                logs.setdefault(int(name[1] or 0), []).append(entry)
    except OSError as error:
        problem = f"{folder}: cannot be read: {error.strerror or error}"
        return StoredSession(session_id, folder, folder, -1, problem)
    if not logs:
        return None
    version = max(logs)
    problem = ""
    if len(logs[version]) > 1:
        problem = f"{folder}: holds the log plain and compressed; move one of them away"
    return StoredSession(session_id, folder, logs[version][0], version, problem)


def _same_folder(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
