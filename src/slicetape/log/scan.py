"""A log file, read once: its events, where their lines stand, and what cannot be read.

A line that cannot be read, or does not continue the log, withholds everything behind it; what
stands there is counted, so that nothing committed is dropped silently. A last line without its
newline that cannot be read was being written when its writer stopped, and is dropped.
"""

import gc
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from slicetape.errors import (
    DamagedLog,
    InvalidEvent,
    SessionNotFound,
    StorageFailed,
    UnsupportedFormat,
)
from slicetape.log.checks import check_event
from slicetape.log.codec import decode_event, decode_header
from slicetape.log.events import Event, Header
from slicetape.log.frames import NotFrames, read_frames

COMPRESSED = (".zstd", ".zst")
"""Endings of file names of the compressed form."""


@dataclass(slots=True)
class Damage:
    """Where a log stops being readable and what lies behind that place.

    `line` counts from 1, the header included. `committed` says that finished work lies behind: a
    turn ended there, or a whole compressed frame is damaged. `offset` is the byte of the file
    where the line starts; in a compressed file, of its text. `last_seq` is -1 when no
    event lies behind.
    """

    line: int
    offset: int
    problem: str
    committed: bool = False
    lines_behind: int = 0
    events_behind: int = 0
    turns_behind: int = 0
    last_seq: int = -1

    def __str__(self) -> str:
        where = f"line {self.line} (byte {self.offset}): {self.problem}; "
        if not self.lines_behind:
            return where + "nothing is behind it"
        more = "1 more line" if self.lines_behind == 1 else f"{self.lines_behind} more lines"
        behind = f"behind it: {more}, {self.events_behind} of them events"
        if self.last_seq >= 0:
            behind += f" (up to seq {self.last_seq}, {self.turns_behind} ends of turns)"
        return where + behind


@dataclass(slots=True)
class Scanned:
    """What a scan found.

    `text_end` is where the last readable line ends in the text; `torn` counts the bytes of a
    dropped last line, `torn_frame` says that the last frame was cut,
    `unended` that the last readable line has no newline.
    """

    header: Header
    header_line: bytes
    events: list[Event] = field(default_factory=list)
    starts: "array[int]" = field(default_factory=lambda: array("Q"))
    sizes: "array[int]" = field(default_factory=lambda: array("Q"))
    frame_starts: "array[int]" = field(default_factory=lambda: array("Q"))
    frame_texts: "array[int]" = field(default_factory=lambda: array("Q"))
    text_end: int = 0
    file_size: int = 0
    torn: int = 0
    unended: bool = False
    torn_frame: bool = False
    damage: Damage | None = None


class _Peek(msgspec.Struct):
    """As much of a line as tells what it was."""

    type: str
    seq: int = -1


def is_compressed(path: Path) -> bool:
    """Whether the name of a log file says that it is compressed."""
    return path.suffix in COMPRESSED


def scan(path: Path) -> Scanned:
    """Read the log at `path`.

    Raises SessionNotFound, UnsupportedFormat for what this build may not read, and DamagedLog when
    not even the header can be read.
    """
    try:
        with _collecting_later():
            return _scan_frames(path) if is_compressed(path) else _scan_plain(path)
    except FileNotFoundError:
        raise SessionNotFound(f"{path}: no such log") from None
    except OSError as error:
        raise StorageFailed(f"{path}: cannot be read: {error.strerror or error}") from None


@contextmanager
def _collecting_later() -> Iterator[None]:
    """Hold the garbage collector, which would walk every event again for each few thousand."""
    held = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if held:
            gc.enable()


def _scan_plain(path: Path) -> Scanned:
    with path.open("rb") as file:
        first = file.readline()
        scanning = _Scanning(path, first)
        take = scanning.take
        for line in file:
            take(line)
        scanning.found.file_size = file.tell()
    return scanning.found


def _scan_frames(path: Path) -> Scanned:
    data = path.read_bytes()
    scanning: _Scanning | None = None
    starts, texts = array("Q"), array("Q")
    rest = b""
    at = 0
    torn = False
    try:
        for frame in read_frames(data):
            starts.append(frame.start)
            texts.append(at)
            at += len(frame.text)
            torn = not frame.whole
            *lines, rest = (rest + frame.text).split(b"\n")
            for line in lines:
                if scanning is None:
                    scanning = _Scanning(path, line + b"\n")
                else:
                    scanning.take(line + b"\n")
            if frame.problem and scanning is not None:
                scanning.damaged(f"{frame.problem} at byte {frame.start} of the file", frame.whole)
    except NotFrames:
        raise DamagedLog(f"{path}: not zstd frames; a plain log is called .jsonl") from None
    if scanning is None:
        scanning = _Scanning(path, rest)
    elif rest:
        scanning.take(rest)
    found = scanning.found
    found.file_size = len(data)
    found.torn_frame = torn
    found.frame_starts, found.frame_texts = starts, texts
    return found


class _Scanning:
    """One scan on its way: takes the lines of a log in order."""

    def __init__(self, path: Path, first: bytes) -> None:
        self._path = path
        self._line = 1
        self._at = len(first)
        self.found = Scanned(_read_header(path, first), first.rstrip(b"\n"), text_end=len(first))

    def take(self, line: bytes) -> None:
        """Take the next line, with its newline unless it is the last and has none."""
        found = self.found
        self._line += 1
        if found.damage is not None:
            self._count(line)
            return
        ended = line.endswith(b"\n")
        body = line[:-1] if ended else line
        seq = len(found.events)
        try:
            event = decode_event(body)
            check_event(event, seq)
        except InvalidEvent as error:
            if ended:
                found.damage = Damage(self._line, self._at, _nul_or(str(error), body))
                self._count(line, behind=0)
            else:
                found.torn = len(line)
            return
        except UnsupportedFormat as error:
            raise UnsupportedFormat(f"{self._path}, line {self._line}: {error}") from None
        found.events.append(event)
        found.starts.append(self._at)
        found.sizes.append(len(body))
        self._at += len(line)
        found.text_end = self._at
        found.unended = not ended

    def damaged(self, problem: str, committed: bool) -> None:
        """Note that the text cannot be read from here on."""
        if self.found.damage is None:
            self.found.damage = Damage(self._line + 1, self._at, problem, committed)

    def _count(self, line: bytes, behind: int = 1) -> None:
        """Count what a line was that is withheld; `behind` is 0 for the damaged line itself."""
        damage = self.found.damage
        assert damage is not None
        damage.lines_behind += behind
        try:
            peek = msgspec.json.decode(line, type=_Peek)
        except (msgspec.DecodeError, RecursionError):
            return
        damage.events_behind += behind
        damage.last_seq = max(damage.last_seq, peek.seq)
        if peek.type == "turn/end":
            damage.turns_behind += 1
            damage.committed = True


def _read_header(path: Path, line: bytes) -> Header:
    if not line:
        raise DamagedLog(f"{path}: the file is empty; a log starts with its header line")
    if not line.strip(b"\0\n"):
        raise DamagedLog(
            f"{path}: filled with NUL bytes, as after a power cut or a failed copy; restore a copy"
        )
    try:
        return decode_header(line)
    except UnsupportedFormat as error:
        raise UnsupportedFormat(f"{path}: {error}") from None
    except InvalidEvent as error:
        raise DamagedLog(f"{path}: not a session log: {error}") from None


def _nul_or(problem: str, line: bytes) -> str:
    return f"{line.count(0)} NUL bytes where an event is due" if b"\0" in line else problem
