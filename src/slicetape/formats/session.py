"""An imported session, and the way from the lines of a transcript to its events."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice

from slicetape.formats.decoding import Damaged, Unexpected, decoder
from slicetape.formats.recorder import Recorder
from slicetape.formats.source import Transcript
from slicetape.log.events import FORMAT_VERSION, Event, Header

Feed = Callable[[int, bytes], None]
"""Takes the number of a line, from 1, and the line."""

_HEAD_LINES = 50
_MAX_NOTES = 20


@dataclass(frozen=True, slots=True)
class ImportedSession:
    """One session of a transcript.

    `events` can be read once and is made while it is read. `notes` says what could not be
    imported; it is complete when `events` is exhausted.
    """

    id: str
    format: str
    header: Header
    events: Iterator[Event]
    notes: list[str] = field(default_factory=list)


def header(
    id: str, *, created_at: int = 0, cwd: str | None = None, parent: str | None = None
) -> Header:
    """The header of an imported session; `created_at` is epoch ms, 0 where none is recorded.

    `parent` is the session that delegated it.
    """
    return Header(
        type="session",
        version=FORMAT_VERSION,
        id=id,
        created_at=created_at,
        is_seeded=False,
        delegation_depth=1 if parent else 0,
        cwd=cwd,
        parent_session=parent,
        origin="subagent" if parent else None,
    )


def open_lines(
    transcript: Transcript,
    format: str,
    *,
    look: Callable[[bytes], tuple[int | None, str | None]],
    begin: Callable[[Recorder], Feed],
) -> ImportedSession:
    """The one session of a transcript of lines, read as its events are taken.

    `look` finds time (epoch ms) and working directory in a line: the first ones of the head of
    the file go into the header. `begin` makes the reader of the lines.
    """
    lines = _held(transcript.lines())
    start: list[bytes | Damaged] = []
    created_at, cwd = None, None
    for line in islice(lines, _HEAD_LINES):
        start.append(line)
        if isinstance(line, Damaged):
            break
        with suppress(Damaged, Unexpected):
            time, folder = look(line)
            created_at = time if created_at is None else created_at
            cwd = cwd or folder
        if created_at is not None and cwd:
            break
    recorder = Recorder(transcript.name, created_at=created_at or 0)
    notes: list[str] = []
    events = events_of_lines(_raised(chain(start, lines)), recorder, begin(recorder), notes)
    head = header(transcript.name, created_at=created_at or 0, cwd=cwd)
    return ImportedSession(transcript.name, format, head, events, notes)


def _held(lines: Iterator[bytes]) -> Iterator[bytes | Damaged]:
    """The lines; damage of the file is the last of them."""
    try:
        yield from lines
    except Damaged as error:
        yield error


def _raised(lines: Iterable[bytes | Damaged]) -> Iterator[bytes]:
    for line in lines:
        if isinstance(line, Damaged):
            raise line
        yield line


def events_of_lines(
    lines: Iterable[bytes], recorder: Recorder, feed: Feed, notes: list[str]
) -> Iterator[Event]:
    """The events that `feed` records of each line, as soon as they are final.

    A line that is no JSON ends the import; a line of an unexpected shape is skipped. Either
    leaves a note and an `x/unread` event.
    """
    rest = iter(lines)
    number = 0
    while True:
        number += 1
        recorder.at(number)
        try:
            line = next(rest, None)
            if line is None:
                break
            if not line.isspace():
                feed(number, line)
        except Unexpected as error:
            _skip(number, str(error), recorder, notes)
        except Damaged as error:
            note = f"line {number} is damaged: {error}; {_behind(rest)}"
            recorder.keep("x/unread", {"line": number, "note": note[:1000]})
            notes.append(note[:1000])
            break
        yield from recorder.take()
    recorder.end()
    yield from recorder.take()


def _skip(number: int, problem: str, recorder: Recorder, notes: list[str]) -> None:
    note = f"line {number} has an unexpected shape and was skipped: {problem}"[:1000]
    recorder.keep("x/unread", {"line": number, "note": note})
    if len(notes) < _MAX_NOTES:
        notes.append(note)


def _behind(rest: Iterator[bytes]) -> str:
    decode = decoder(object)
    lines = size = good = 0
    try:
        for line in rest:
            lines += 1
            size += len(line)
            try:
                decode(line)
            except Damaged:
                continue
            good += 1
    except Damaged:
        pass
    if not lines:
        return "nothing lies behind it"
    return (
        f"behind it lie {lines:,} lines ({size:,} bytes), {good:,} of them readable, not imported"
    )
