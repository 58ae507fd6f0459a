"""The log of an arm: in memory, and without a second check of what the recording already passed."""

from slicetape.log.events import Event
from slicetape.log.log import SessionLog


class RecordedLog(SessionLog):
    """A log in memory that takes recorded events as they are.

    An event that already carries the next seq comes from the recording, whose reader checked it:
    its texts are shared by all arms and not written out. What an arm writes itself carries no seq
    and is held to the rules of every log.
    """

    def append(self, event: Event) -> Event:
        """The event as it now stands in the log. InvalidEvent for what an arm may not write."""
        if event.seq != len(self._events):
            return super().append(event)
        self._events.append(event)
        return event
