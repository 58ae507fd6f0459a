"""The events of one session, in order. Nothing in it is ever changed.

`SessionLog` is the one class that writes a log, so reading, appending and handing lines on stand
here together; where bytes are and how they get there is `lines.py` and `logfile.py`.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol, Self

import msgspec

from slicetape.errors import DamagedLog, InvalidEvent, SessionNotFound, StorageFailed
from slicetape.log.attachments import Attachments
from slicetape.log.checks import check_appended, check_event
from slicetape.log.codec import decode_event, decode_header, encode_event, encode_header
from slicetape.log.events import Event, Header
from slicetape.log.frames import compress
from slicetape.log.lines import FileLines, FrameLines, ending, lines_of
from slicetape.log.lock import SessionLock
from slicetape.log.logfile import LogFile, pieces_of, place
from slicetape.log.scan import Scanned, is_compressed, scan
from slicetape.log.spill import Blobs

_BATCH = 1 << 20


class Guard(Protocol):
    """Rules over a whole log, asked before each append and told after it (see `rules.py`)."""

    def check(self, event: Event) -> None:
        """Raise InvalidEvent unless `event` may come next."""

    def advance(self, event: Event) -> None:
        """Take in `event`, which now stands in the log."""

    def copy(self) -> Self:
        """A guard that goes on from here on its own."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """A log that is or will be in a file; `file` is there when it may be written."""

    path: Path
    found: Scanned
    lines: FileLines
    file: LogFile | None = None


class SessionLog:
    """The events of one session: `events[seq].seq == seq`, appended and never changed.

    Made by `in_memory`, `create`, `open` or `read`; a context manager that closes itself.
    """

    def __init__(self, header: Header, stored: "_Stored | None" = None) -> None:
        found = stored.found if stored else None
        self.header = header
        self.header_line = found.header_line if found else encode_header(header)
        self.path = stored.path if stored else None
        self.damage = found.damage if found else None
        """Where reading stopped before the end of the file, and what lies behind it."""
        self.torn = found.torn if found else 0
        """Bytes of a last line that was never written whole, and is dropped."""
        self.blobs = Blobs.beside(self.path)
        """The spilled texts of the session."""
        self.attachments = Attachments.beside(self.path)
        """The pictures of the session."""
        self._events: list[Event] = found.events if found else []
        self._guards: list[Guard] = []
        self._given: dict[int, bytes] = {}  # lines in memory that were handed in as lines
        self._lines = stored.lines if stored else None
        self._file = stored.file if stored else None
        self._text_end = found.text_end + found.unended if found else 0
        self._writable = stored is None or stored.file is not None
        self._turn = threading.Lock()
        self._owner = 0

    @classmethod
    def in_memory(cls, header: Header) -> Self:
        """A log that is on no disk."""
        return cls(header)

    @classmethod
    def of_lines(cls, lines: Iterable[bytes], *, writable: bool = True) -> Self:
        """A log in memory from the lines of format 3, the header first; they are kept as given."""
        rest = iter(lines)
        first = next(rest, b"")
        log = cls(decode_header(first))
        log.header_line = first
        log.extend_lines(rest)
        if not writable:
            log.close()
        return log

    @classmethod
    def create(cls, path: Path, header: Header) -> Self:
        """A new log that will be at `path`; nothing is on the disk before an append or a sync.

        A name that ends in `.zstd` makes the compressed form. Raises StorageFailed when taken.
        """
        if path.exists():
            raise StorageFailed(f"{path}: already there; a log is never overwritten")
        nothing = Scanned(header, encode_header(header))
        return cls(header, _Stored(path, nothing, lines_of(path, nothing), LogFile(path)))

    @classmethod
    def open(cls, path: Path) -> Self:
        """The log at `path`, to go on writing it.

        Raises SessionLocked when it has a writer and DamagedLog when finished work lies behind a
        damage. A torn or damaged end without finished work is cut off before the first append;
        damaged lines are kept in a file beside it.
        """
        if not path.exists():
            raise SessionNotFound(f"{path}: no such log")
        lock = SessionLock(path)
        try:
            found = _scanned(path)
            lines = lines_of(path, found)
            file = LogFile(path, end=ending(path, found, lines), lock=lock)
        except BaseException:
            lock.release()
            raise
        return cls(found.header, _Stored(path, found, lines, file))

    @classmethod
    def read(cls, path: Path, *, to_damage: bool = False) -> Self:
        """The log at `path`, to read; the file is left alone and not locked.

        Raises DamagedLog when finished work lies behind a damage, unless `to_damage`, which reads
        up to there; `damage` then says what lies behind.
        """
        found = scan(path) if to_damage else _scanned(path)
        return cls(found.header, _Stored(path, found, lines_of(path, found)))

    @property
    def events(self) -> Sequence[Event]:
        """Every event, by seq; grows as events are appended."""
        return self._events

    @property
    def writable(self) -> bool:
        """Whether events can be appended."""
        return self._writable

    def attach(self, guard: Guard) -> None:
        """Ask `guard` before each append, from now on; it must know every event so far."""
        self._guards.append(guard)

    def append(self, event: Event) -> Event:
        """Return once the operating system has `event`: as recorded, with its seq.

        Raises InvalidEvent or StorageFailed with the log unchanged.
        """
        return self.extend((event,))[0]

    def extend(self, events: Iterable[Event]) -> tuple[Event, ...]:
        """Append several events in one write: all of them or none."""
        with self._one_at_a_time():
            lines: list[bytes] = []
            recorded: list[Event] = []
            for seq, event in enumerate(events, len(self._events)):
                line, read = _prepared(event, seq)
                check_appended(read)
                lines.append(line)
                recorded.append(read)
            self._commit(recorded, lines)
        return tuple(recorded)

    def extend_lines(self, lines: Iterable[bytes]) -> tuple[Event, ...]:
        """Append lines of another log as they are, in one write: all of them or none.

        Their seqs must go on from the last event; rules over the whole log are not asked.
        """
        with self._one_at_a_time():
            kept = [bytes(line) for line in lines]
            recorded = []
            for seq, line in enumerate(kept, len(self._events)):
                if b"\n" in line:
                    raise InvalidEvent(f"event {seq}: a line holds a newline")
                event = decode_event(line)
                check_event(event, seq)
                recorded.append(event)
            if self._file is None:
                self._given.update(enumerate(kept, len(self._events)))
            self._commit(recorded, kept, ask=False)
        return tuple(recorded)

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        me = threading.get_ident()
        if self._owner == me:
            raise InvalidEvent("an append within an append: wait until the first has returned")
        if not self._writable:
            raise StorageFailed(f"{self.path or 'the log'}: open for reading only")
        with self._turn:
            self._owner = me
            try:
                yield
            finally:
                self._owner = 0

    def _commit(self, events: Sequence[Event], lines: Sequence[bytes], *, ask: bool = True) -> None:
        if ask:
            self._ask(events)
        if self._file is not None and lines:
            self._write(self._file, lines)
        self._events.extend(events)
        for guard in self._guards:
            for event in events:
                guard.advance(event)

    def _ask(self, events: Sequence[Event]) -> None:
        for guard in self._guards:
            if len(events) == 1:
                guard.check(events[0])
                continue
            trial = guard.copy()
            for event in events:
                trial.check(event)
                trial.advance(event)

    def _write(self, file: LogFile, lines: Sequence[bytes]) -> None:
        index = self._lines
        assert index is not None
        text = b"%b\n" % b"\n".join(lines) if lines else b""
        framed = isinstance(index, FrameLines)
        body = compress(text) if framed and text else text
        if file.exists:
            file.write(body)
            start = file.size - len(body)
        else:
            head = self.header_line + b"\n"
            first = compress(head) if framed else head
            file.publish(first + body)
            start = len(first)
            if isinstance(index, FrameLines):
                index.add_frame(0, 0)
            self._text_end = len(head)
        if isinstance(index, FrameLines) and body:
            index.add_frame(start, self._text_end)
        for line in lines:
            index.add(self._text_end, len(line))
            self._text_end += len(line) + 1

    def sync(self) -> None:
        """Return once every appended event would survive a power cut.

        Makes the file of a log without events. Raises StorageFailed; sync may be tried again.
        """
        if self._file is None:
            return
        if not self._file.exists:
            with self._one_at_a_time():
                self._write(self._file, ())
        self._file.sync()

    def close(self) -> None:
        """Give up writing, and the lock; what was read stays readable."""
        if self._file is not None:
            self._file.close()
        self._writable = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def raw(self, seq: int) -> bytes:
        """The line of event `seq` as it was written, without its newline."""
        return next(self.lines(seq, seq + 1))

    def lines(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The lines of the events from `start` up to `end`, as they were written."""
        seqs = range(len(self._events))[start:end]
        if self._lines is not None:
            yield from self._lines.read(seqs)
            return
        for seq in seqs:
            yield self._given.get(seq) or encode_event(self._events[seq])

    def copy_to(self, path: Path) -> None:
        """Write this log to a new file; a file of the same form is copied byte for byte."""
        same = self.path is not None and is_compressed(self.path) == is_compressed(path)
        if self.path is not None and same and self.path.exists():
            place(path, pieces_of(self.path))
            return
        texts = chain((self.header_line + b"\n",), _batches(self.lines()))
        place(path, map(compress, texts) if is_compressed(path) else texts)


def _prepared(event: Event, seq: int) -> tuple[bytes, Event]:
    """The line of `event` at `seq` and what that line reads as, which must be the same."""
    given = msgspec.structs.replace(event, seq=seq)
    line = encode_event(given)
    read = decode_event(line)
    if read != given and encode_event(read) != line:
        raise InvalidEvent(f"event {seq}: a value that JSON does not give back as it was")
    check_event(read, seq)
    return line, read


def _batches(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines, ended, in pieces of about a megabyte."""
    piece: list[bytes] = []
    size = 0
    for line in lines:
        piece += (line, b"\n")
        size += len(line) + 1
        if size >= _BATCH:
            yield b"".join(piece)
            piece, size = [], 0
    if piece:
        yield b"".join(piece)


def _scanned(path: Path) -> Scanned:
    """What a scan finds, when no finished work lies behind a damage."""
    found = scan(path)
    if found.damage is not None and found.damage.committed:
        raise DamagedLog(_damage_text(path, found))
    return found


def _damage_text(path: Path, found: Scanned) -> str:
    count = len(found.events)
    readable = f"events 0 to {count - 1} can still be read" if count else "no event can be read"
    return (
        f"{path}: damaged at {found.damage}.\n"
        f"Nothing was changed; {readable} (reading to the damage), or restore a copy of the file."
    )
