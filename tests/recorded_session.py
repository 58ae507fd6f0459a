"""Drive our sealing over a recorded log: its entries taken out, everything else as it happened."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from slicetape.log.events import (
    AssistantAttempt,
    AssistantMessage,
    EndSeed,
    Event,
    StepStart,
    TurnEnd,
    TurnStart,
    UserMessage,
    is_entry,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import Message
from slicetape.loop.prestep import Prestep
from slicetape.policy.settings import HistorySettings
from slicetape.surface import Session, View


@dataclass(frozen=True, slots=True)
class Moment:
    """One pre-step: what the recording appended then, and what we did."""

    recorded: tuple[UserMessage, ...]
    ours: tuple[UserMessage, ...]


class Drive:
    """A recorded log and ours, in step: recorded folds are replayed as another writer's.

    `moments` are the first pre-steps of all turns. A recording that was resumed gets a new
    `Prestep` there, as the new process had.
    """

    def __init__(self, log: SessionLog, settings: HistorySettings | None) -> None:
        self.recorded = View(log.events)
        self.session = Session(SessionLog.in_memory(log.header), strict=False)
        self.settings = settings
        self.moments: list[Moment] = []
        self.warnings: list[str] = []
        self._prestep = self._opened()

    def run(self, at_request: Callable[[Event], None] = lambda _: None) -> "Drive":
        events = self.recorded.events
        due = False
        for event in events:
            if isinstance(event, TurnStart):
                due = True
            elif isinstance(event, TurnEnd):
                due = False
            elif due and (is_entry(event) or isinstance(event, StepStart)):
                due = False
                self._seal(event)
            elif isinstance(event, AssistantMessage | AssistantAttempt):
                at_request(event)
            self.recorded.advance(event)
            if not (self.settings and is_entry(event)):
                self.session.append(msgspec.structs.replace(event, seq=-1))
            if isinstance(event, EndSeed):
                self._prestep = self._opened()
        return self

    def _opened(self) -> Prestep | None:
        if self.settings is None:
            return None
        return Prestep(self.session, self.settings, warn=self.warnings.append)

    def _seal(self, at: Event) -> None:
        if self._prestep is None:
            return
        events = self.recorded.events
        pending = tuple(_pending(events[at.seq :]))
        ours = self._prestep.before_step(1, time=at.time, pending=pending).entries
        self.moments.append(Moment(tuple(_entries(events[at.seq :])), ours))


def _entries(events: Sequence[Event]) -> Iterator[UserMessage]:
    for event in events:
        if not is_entry(event):
            return
        assert isinstance(event, UserMessage)
        yield event


def _pending(events: Sequence[Event]) -> Iterator[Message]:
    for event in events:
        if isinstance(event, AssistantMessage | AssistantAttempt | TurnEnd):
            return
        if isinstance(event, UserMessage) and event.is_original:
            yield event.data
