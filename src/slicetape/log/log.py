"""The events of one session, in order. Nothing in it is ever changed."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from slicetape.errors import InvalidEvent
from slicetape.log.codec import decode_event, encode_event
from slicetape.log.events import Event, Header


class SessionLog:
    """The events of one session: `events[seq].seq == seq`, appended and never changed."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.path: Path | None = None
        self._events: list[Event] = []

    @classmethod
    def in_memory(cls, header: Header) -> "SessionLog":
        """A log that is on no disk."""
        return cls(header)

    @property
    def events(self) -> Sequence[Event]:
        """Every event, by seq; grows as events are appended."""
        return self._events

    def append(self, event: Event) -> Event:
        """Record `event`; returns it with its seq, as reading the log again gives it."""
        return self.extend((event,))[0]

    def extend(self, events: Iterable[Event]) -> tuple[Event, ...]:
        """Record several events at once: all of them or none."""
        recorded = []
        for seq, event in enumerate(events, len(self._events)):
            given = msgspec.structs.replace(event, seq=seq)
            read = decode_event(encode_event(given))
            if any(source >= seq for source in read.sources):
                raise InvalidEvent(f"event {seq} cites an event that is not before it")
            recorded.append(read)
        self._events.extend(recorded)
        return tuple(recorded)

    def sync(self) -> None:
        """Return once every appended event would survive a power cut."""

    def close(self) -> None:
        """Give up the log; appending is over."""
