"""What a SESSION or FILE on the command line names: a session at home, a log, or a transcript.

An id (or its only possible beginning) names a session of the store; a path, or a file of that
name, is opened by its content, whatever it is called. Everything is opened for reading.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from slicetape.cli.output import warn
from slicetape.errors import (
    DamagedLog,
    InvalidEvent,
    LogError,
    SessionNotFound,
    TranscriptError,
    UsageError,
)
from slicetape.log.events import Event, Foreign, Header
from slicetape.log.log import SessionLog
from slicetape.surface import View

LOG_FORMAT = "dsh-session"
"""What detection calls a session log, of whatever version."""

_SUFFIXES = (".jsonl", ".json", ".zst", ".zstd", ".gz", ".md", ".traj")
_PATHS = ("./", "../", "/", "~/")
_BATCH = 512


@dataclass(frozen=True, slots=True)
class Target:
    """A session that was opened for reading.

    `where` is the file it was read from; `damage` says where reading had to stop and what lies
    behind, `notes` what else could not be read.
    """

    id: str
    format: str
    log: SessionLog
    where: Path
    damage: str = ""
    notes: tuple[str, ...] = ()

    @property
    def view(self) -> View:
        """A view of the whole log. InvalidEvent, naming the file, when it breaks a rule."""
        try:
            return View.of(self.log.events)
        except InvalidEvent as error:
            raise InvalidEvent(
                f"{self.where}: {error}.\n`slicetape verify` says more, "
                "`slicetape show --events` prints what is there"
            ) from None

    def tell(self) -> "Target":
        """Warn about everything that could not be read; the target itself."""
        if self.damage:
            warn(f"{self.where}: read up to the damage at {self.damage}")
        for note in self.notes:
            warn(note)
        return self


def target(text: str, *, format: str | None = None) -> Target:
    """The one session that `text` names, read as far as it can be.

    Raises SessionNotFound, AmbiguousSession, DamagedLog, UnsupportedFormat or TranscriptError.
    """
    path, number = _as_file(text)
    if path is None:
        return of_log(_at_home(text))
    if path.is_dir():
        return of_log(_in_folder(path))
    return _chosen(path, read_file(path, format=format), number)


def transcript_path(text: str) -> str:
    """The file that a FILE or SESSION on the command line names; all sessions in it are meant."""
    path, number = _as_file(text)
    if number is not None:
        raise UsageError(f"{text[:300]}: name the file alone; all its sessions are taken")
    if path is None:
        return str(_at_home(text))
    return str(_in_folder(path) if path.is_dir() else path)


def read_file(
    path: Path,
    *,
    format: str | None = None,
    keep: Callable[[str, bytes], None] | None = None,
    changed: Callable[[Header], Header] = lambda header: header,
) -> Iterator[Target]:
    """Every session of a log or transcript file.

    `keep` takes the pictures of a transcript, `changed` may give sessions another header.
    """
    if path.is_dir():
        raise TranscriptError(f"{path}: a folder; name the files in it")
    if format in (None, LOG_FORMAT) and _is_log(path):
        yield of_log(path)
        return
    from slicetape.formats.detect import open_sessions

    for session in open_sessions(path, format=format, attachments=keep):
        log = SessionLog.in_memory(changed(session.header))
        _fill(log, session.events, path)
        damage = "; ".join(session.notes) if session.format == LOG_FORMAT else ""
        notes = () if damage else tuple(f"{path}: {note}" for note in session.notes)
        yield Target(log.header.id, session.format, log, path, damage, notes)


def view_only_from(log: SessionLog) -> int | None:
    """The first event behind which requests cannot be rebuilt; None when all of them can."""
    for event in log.events:
        if isinstance(event, Foreign) and event.kind == "x/dsh4":
            held = json.loads(bytes(event.data))
            if held.get("type") == "developer/message":
                return event.seq
    return None


def _as_file(text: str) -> tuple[Path | None, int | None]:
    """The path that `text` is, and the number of a session in it; no path when it is an id."""
    if not text or "\0" in text:
        raise UsageError("SESSION is empty or holds a NUL byte; give an id or a file")
    if not text.startswith(_PATHS) and _is_session(text):
        return None, None
    path = Path(text).expanduser()
    if path.exists():
        return path, None
    name, mark, number = text.rpartition("#")
    if mark and number.isdecimal() and Path(name).expanduser().is_file():
        return Path(name).expanduser(), int(number[:9])
    if text.startswith(_PATHS) or text.endswith(_SUFFIXES):
        raise SessionNotFound(f"{text[:300]}: no such file")
    return None, None


def _at_home(text: str) -> Path:
    """The log of a session of the store; the error says that no file is called so either."""
    from slicetape.log.store import Store

    try:
        return Store().find(text).log
    except SessionNotFound as error:
        raise SessionNotFound(f"{error}; no file is called so either") from None


def _is_session(text: str) -> bool:
    """Whether the store has exactly this id."""
    from slicetape.log.store import Store

    try:
        return any(session.id == text for session in Store().sessions())
    except LogError:
        return False


def _in_folder(folder: Path) -> Path:
    """The log of a session's folder."""
    from slicetape.log.store import Store

    for session in Store().sessions():
        if session.folder == folder.absolute():
            return session.log
    logs = sorted(folder.glob("session*.jsonl*"))
    if not logs:
        raise TranscriptError(f"{folder}: a folder without a session log; name a file")
    return logs[-1]


def _is_log(path: Path) -> bool:
    """Whether the file is a session log whose events are numbered; it may be packed."""
    from slicetape.formats.detect import detect
    from slicetape.formats.source import Transcript

    head = Transcript(path).head(1 << 16)
    lines = head.split(b"\n", 2)
    if not lines[0].startswith(b"{") or b'"session"' not in lines[0]:
        return False
    try:
        if detect(lines[0] + b"\n", path.name) != LOG_FORMAT:
            return False
    except TranscriptError:
        return False
    return len(lines) < 3 or not lines[1].startswith(b"{") or b'"seq' in lines[1]


def of_log(path: Path) -> Target:
    """The session of a log of any version, read up to a damage."""
    from slicetape.cli.logs import in_its_place, unpacked

    log, damage = in_its_place(path) or unpacked(path)
    notes: list[str] = []
    if log.torn:
        notes.append(f"{path}: the last {log.torn} bytes were never written whole and are left out")
    seq = view_only_from(log)
    if seq is not None:
        notes.append(
            f"{path}: event {seq} changes the tools in a way of format 4 alone; to be read only, "
            "requests behind it cannot be rebuilt"
        )
    return Target(log.header.id, LOG_FORMAT, log, path, damage, tuple(notes))


def _fill(log: SessionLog, events: Iterable[Event], path: Path) -> None:
    rest = iter(events)
    try:
        while batch := tuple(islice(rest, _BATCH)):
            log.extend(batch)
    except InvalidEvent as error:
        raise DamagedLog(f"{path}: gives no valid session: {error}") from None


def _chosen(path: Path, sessions: Iterator[Target], number: int | None) -> Target:
    """The only session of a file, or the one asked for."""
    first = next(sessions, None)
    if first is None:
        raise TranscriptError(f"{path}: no session in it")
    if number == 1:
        return first
    count, last = 1, first
    for count, last in enumerate(sessions, 2):
        if count == number:
            return last
    if number is None and count == 1:
        return first
    asked = f"there is no session {number} in it" if number else f"{count:,} sessions in one file"
    raise UsageError(f"{path}: {asked}; name one as {path.name}#1 to {path.name}#{count}")
