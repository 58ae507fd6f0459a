"""A log and its view, kept in step: what a writer holds."""

from collections.abc import Callable

from slicetape.log.events import Event
from slicetape.log.log import SessionLog
from slicetape.log.rules import Rules
from slicetape.surface.surface import Edit
from slicetape.surface.view import View

Listener = Callable[[Event, Edit | None], None]


class Session:
    """One session: append to the log, and the view follows.

    An event that breaks a rule raises InvalidEvent with log and view unchanged. `strict` also
    holds turns and steps to the rules of a live session: dense numbers, calls before results.
    Recordings, which a host has checked, do without.
    """

    __slots__ = ("_listeners", "log", "view")

    def __init__(self, log: SessionLog, *, strict: bool = True) -> None:
        self.log = log
        if strict and log.writable:
            log.attach(Rules.over(log.events))
        self.view = View.of(log.events)
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Call `listener` after each append, with the event and its change of the surface."""
        self._listeners.append(listener)

    def append(self, event: Event, *, line: bytes | None = None) -> Event:
        """Check, record and take in one event; the event as recorded.

        `line` says the event with fields that slicetape does not read, and is kept as it is.
        """
        self.view.check(event)
        recorded = self.log.append(event) if line is None else self.log.extend_lines((line,))[0]
        edit = self.view.advance(recorded)
        for listener in self._listeners:
            listener(recorded, edit)
        return recorded
