"""JSON documents that hold whole sessions: one a file, or one a line."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from slicetape.formats.decoding import Damaged, Unexpected
from slicetape.formats.recorder import Recorder
from slicetape.formats.source import Transcript
from slicetape.log.events import Event

T = TypeVar("T")


def documents(transcript: Transcript, decode: Callable[[bytes], T]) -> Iterator[T]:
    """The document of a file, or each one of a file that holds one a line.

    Only one document is in memory. What cannot be decoded raises a `TranscriptError` that
    names the file, and the line where there are several.
    """
    lines = transcript.lines()
    try:
        first = decode(next(lines, b""))
    except Damaged:
        yield transcript.document(decode)
        return
    except Unexpected as error:
        raise transcript.error(f"has an unexpected shape: {error}") from None
    yield first
    number = 1
    try:
        for line in lines:
            number += 1
            if not line.isspace():
                yield decode(line)
    except Damaged as error:
        raise transcript.error(f"is damaged in line {number}: {error}") from None
    except Unexpected as error:
        raise transcript.error(f"has an unexpected shape in line {number}: {error}") from None


def numbered(name: str, items: Iterable[T]) -> Iterator[tuple[str, T]]:
    """Each item with the id of its session: `name` for an only one, else `name/0001` and on."""
    rest = iter(items)
    held = next(rest, None)
    if held is None:
        return
    follower = next(rest, None)
    if follower is None:
        yield name, held
        return
    number = 1
    while held is not None:
        yield f"{name}/{number:04}", held
        held, follower = follower, next(rest, None) if follower is not None else None
        number += 1


def events_of(recorder: Recorder, said: Iterable[None]) -> Iterator[Event]:
    """The events that a recording makes, as soon as they are final."""
    recorder.at(1)
    for _ in said:
        yield from recorder.take()
    recorder.end()
    yield from recorder.take()


def found(value: Any, *keys: str) -> Any:
    """What stands under `keys`, one below the other, in decoded JSON; None where nothing does."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def outcome(recorder: Recorder, data: Mapping[str, Any]) -> None:
    """Keep how a session ended (exit status, submission, reward …), if anything is said of it."""
    told = {key: value for key, value in data.items() if value is not None}
    if told:
        recorder.keep("x/outcome", told)
