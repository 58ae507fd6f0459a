"""Messages that wait for a turn or a step: two durable lists, a fold of `agent/inbox/spliced`.

`next-turn` holds messages that get a turn of their own, `next-step` those that join the next
step. Every change is an event, so what waits survives the process.
"""

from collections.abc import Sequence
from typing import Literal

from slicetape.log.events import EndSeed, Event, InboxSpliced
from slicetape.log.messages import Message
from slicetape.log.payloads import InboxData
from slicetape.surface import Edit, Session

Target = Literal["next-turn", "next-step"]


class Inbox:
    """What waits in one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lists: dict[str, list[Message]] = {"next-turn": [], "next-step": []}
        for event in session.log.events:
            self._take(event)
        session.listen(self._follow)

    def waiting(self, target: Target) -> tuple[Message, ...]:
        """The messages of one list, the next one first."""
        return tuple(self._lists[target])

    def put(self, target: Target, messages: Sequence[Message], *, time: int) -> None:
        """Add messages behind those that wait. ValueError when an id waits already."""
        if not messages:
            return
        known = {message.id for waiting in self._lists.values() for message in waiting}
        for message in messages:
            if message.id in known:
                raise ValueError(f"a message with the id {message.id[:80]!r} waits already")
            known.add(message.id)
        at = len(self._lists[target])
        self._splice(InboxData(target, at, tuple(messages)), time)

    def claim_step(self, *, time: int) -> tuple[Message, ...]:
        """Take every message that waits for the next step."""
        return self._claim("next-step", len(self._lists["next-step"]), time)

    def claim_turn(self, *, time: int) -> tuple[Message, ...]:
        """Take what a new turn begins with: all of `next-step`, then one of `next-turn`."""
        return (*self.claim_step(time=time), *self._claim("next-turn", 1, time))

    def cancel(self, *, time: int) -> tuple[Message, ...]:
        """Drop everything that waits, saying so in the log; what was dropped."""
        dropped: list[Message] = []
        for target, waiting in self._lists.items():
            if waiting:
                dropped += waiting
                data = InboxData(target, 0, (), len(waiting), "canceled")
                self._splice(data, time)
        return tuple(dropped)

    def withdraw(self, message_id: str, *, time: int) -> bool:
        """Drop one message that waits; False when it does not."""
        for target, waiting in self._lists.items():
            for at, message in enumerate(waiting):
                if message.id == message_id:
                    self._splice(InboxData(target, at, (), 1, "canceled"), time)
                    return True
        return False

    def _claim(self, target: Target, most: int, time: int) -> tuple[Message, ...]:
        taken = tuple(self._lists[target][:most])
        if taken:
            self._splice(InboxData(target, 0, (), len(taken)), time)
        return taken

    def _splice(self, data: InboxData, time: int) -> None:
        self._session.append(InboxSpliced(time=time, data=data))

    def _follow(self, event: Event, _: Edit | None) -> None:
        self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, EndSeed) and event.data.inherited:
            for waiting in self._lists.values():  # a fork does not inherit what waits
                waiting.clear()
        elif isinstance(event, InboxSpliced) and event.data.target in self._lists:
            data = event.data
            end = data.start + (data.removed_count or 0)
            self._lists[data.target][data.start : end] = data.inserted
