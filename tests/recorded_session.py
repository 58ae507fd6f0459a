"""Drive our policy over a recorded log: what it wrote taken out, everything else as it happened."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from slicetape.log.events import (
    AssistantAttempt,
    AssistantMessage,
    EndSeed,
    Event,
    StepStart,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
    is_entry,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import Message
from slicetape.log.spill import SessionSpills
from slicetape.loop.prestep import Prestep
from slicetape.policy.fold_state import FoldStats
from slicetape.policy.fold_view import Folding
from slicetape.policy.settings import HistorySettings
from slicetape.surface import Session, View


@dataclass(frozen=True, slots=True)
class Moment:
    """One pre-step: what the recording appended then, and what we did."""

    recorded: tuple[UserMessage, ...]
    ours: tuple[UserMessage, ...]


@dataclass(frozen=True, slots=True)
class Policies:
    """What is at work: without `folding`, recorded views are replayed as another writer's.

    `known` maps the paths of spilled outputs to the blobs they were imported as.
    """

    history: HistorySettings | None
    folding: Folding | None = None
    known: Mapping[str, str | None] | None = None


class Drive:
    """A recorded log and ours, in step.

    `moments` are the first pre-steps of all turns, `views` what we folded. A recording that was
    resumed gets a new `Prestep` there, as the new process had; `stats` has one row a process.
    """

    def __init__(
        self, log: SessionLog, settings: HistorySettings | None, policies: Policies | None = None
    ) -> None:
        self.log = log
        self.recorded = View(log.events)
        self.session = Session(SessionLog.in_memory(log.header), strict=False)
        self.policies = policies or Policies(settings)
        self.moments: list[Moment] = []
        self.views: list[ToolResult] = []
        self.stats: list[FoldStats] = []
        self.warnings: list[str] = []
        self._ready = (0, 0)
        self._turn = 0
        self._prestep = self._opened()

    def run(self, at_request: Callable[[Event], None] = lambda _: None) -> "Drive":
        for event in self.recorded.events:
            if isinstance(event, TurnStart):
                self._turn, self._ready = event.data.turn, (event.data.turn, 0)
            elif isinstance(event, StepStart) or self._is_ours(event):
                self._prepare(event)
            elif isinstance(event, AssistantMessage | AssistantAttempt):
                at_request(event)
            self.recorded.advance(event)
            if not self._is_ours(event):
                self.session.append(event, line=self.log.raw(event.seq))
            if isinstance(event, EndSeed):
                self._closed()
                self._prestep = self._opened()
        self._closed()
        return self

    def _is_ours(self, event: Event) -> bool:
        """Whether the recorded policy wrote the event, and ours writes its own instead."""
        if isinstance(event, ToolResult):
            return self.policies.folding is not None and not event.is_original
        return self.policies.history is not None and is_entry(event)

    def _closed(self) -> None:
        if self._prestep is not None:
            self.stats.append(self._prestep.stats)

    def _opened(self) -> Prestep | None:
        """A prestep, as a process makes it when it opens the session."""
        policies = self.policies
        if policies.history is None and policies.folding is None:
            return None
        log = self.session.log
        return Prestep(
            self.session,
            policies.history,
            folding=policies.folding,
            spills=SessionSpills(log.events, log.blobs, policies.known),
            warn=self.warnings.append,
        )

    def _prepare(self, at: Event) -> None:
        """The pre-step of the step that `at` starts, or that a policy's event comes before."""
        events = self.recorded.events
        step = next(e.data.step for e in events[at.seq :] if isinstance(e, StepStart))
        if self._prestep is None or self._ready == (self._turn, step):
            return
        self._ready = (self._turn, step)
        pending = tuple(_pending(events[at.seq :])) if step == 1 else ()
        made = self._prestep.before_step(step, time=at.time, pending=pending)
        self.views += made.views
        if step == 1:
            self.moments.append(Moment(tuple(_entries(events[at.seq :])), made.entries))


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
