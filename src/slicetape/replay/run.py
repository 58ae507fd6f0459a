"""One recording under one arm: the recorded events, in order, through the live pre-step code."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import msgspec

from slicetape.log.events import (
    AssistantAttempt,
    AssistantMessage,
    Event,
    Replace,
    StepStart,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import Message
from slicetape.log.seqs import pack
from slicetape.loop.prestep import Prestep
from slicetape.replay.arms import Arm
from slicetape.replay.compacting import Compacting
from slicetape.replay.counting import Counts
from slicetape.replay.meter import Meter, Sent
from slicetape.replay.policies import BeforeStep, Masking, Nothing, Sealing
from slicetape.replay.recording import Recording
from slicetape.surface import Session
from slicetape.wire.fragment import Wire
from slicetape.wire.lint import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all arms of a replay share: the wire, its rules, and tokens ahead of every request.

    Without `system`, recorded system prompts weigh nothing.
    """

    wire: Wire
    rules: Rules
    head: int = 0
    recall_head: int = 0
    system: bool = True
    window: int = 200_000


@dataclass(slots=True)
class Run:
    """A finished run: its session, its measures, and each request, in order."""

    arm: Arm
    session: Session
    meter: Meter
    sent: list[Sent]
    entries: list[UserMessage] = field(default_factory=list)
    policy_ms: list[float] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    compactions: int = 0


def run(
    recording: Recording,
    arm: Arm,
    counts: Counts,
    setting: Setting,
    *,
    tick: Callable[[], None] = lambda: None,
) -> Run:
    """Send what the recording would have sent under `arm`; `tick` is called once a request."""
    return _Replayer(recording, arm, counts, setting).run(tick)


class _Replayer:
    def __init__(self, recording: Recording, arm: Arm, counts: Counts, setting: Setting) -> None:
        self._recording = recording
        self._counts = counts
        self._seqs: dict[int, int] = {}
        self._origin: Event | None = None
        session = Session(SessionLog.in_memory(recording.header), strict=False)
        head = setting.head + (setting.recall_head if arm.recalls else 0)
        meter = Meter(
            session,
            counts,
            setting.wire,
            setting.rules,
            head=head,
            system=setting.system,
            recorded=self._recorded,
        )
        self._run = Run(arm, session, meter, [])
        self._policy = self._policy_of(arm, setting)

    def run(self, tick: Callable[[], None]) -> Run:
        events = self._recording.events
        for at, event in enumerate(events):
            if isinstance(event, AssistantMessage | AssistantAttempt) and event.is_original:
                self._send(event)
                tick()
            elif isinstance(event, StepStart) and event.data.step > 1:
                self._before(event.data.step, event.time, ())
            self._append(event)
            if isinstance(event, TurnStart):
                self._before(1, event.time, tuple(_pending(events, at + 1)))
        self._finish()
        return self._run

    def _policy_of(self, arm: Arm, setting: Setting) -> BeforeStep:
        session = self._run.session
        if arm.policy == "tape":
            warn = self._run.warnings.append
            return Sealing(Prestep(session, arm.settings.history, warn=warn))
        if arm.policy == "mask":
            return Masking(session, arm.keep)
        if arm.policy == "compact":
            return Compacting(
                session, self._run.meter, self._counts, setting.window, self._run.sent
            )
        return Nothing()

    def _recorded(self, _: int) -> Event | None:
        return self._origin

    def _append(self, event: Event) -> None:
        self._origin = event
        recorded = self._run.session.append(self._renumbered(event))
        self._origin = None
        self._seqs[event.seq] = recorded.seq

    def _renumbered(self, event: Event) -> Event:
        sources = [self._seqs[seq] for seq in event.sources if seq in self._seqs]
        op = event.surface_op
        if isinstance(op, Replace):
            op = Replace(self._seqs[op.start_seq], self._seqs[op.end_seq])
        return msgspec.structs.replace(
            event, seq=-1, surface_op=op, source_event_seqs=pack(sources) if sources else None
        )

    def _before(self, step: int, time: int, pending: Sequence[Message]) -> None:
        start = perf_counter()
        self._policy.before_step(step, time=time, pending=pending)
        if step == 1:
            self._run.policy_ms.append((perf_counter() - start) * 1_000)

    def _send(self, event: AssistantMessage | AssistantAttempt) -> None:
        sent = self._run.meter.request(event, first_in_turn=event.data.step == 1)
        self._run.sent.append(sent)
        if isinstance(self._policy, Compacting):
            self._policy.sent(sent)

    def _finish(self) -> None:
        if isinstance(self._policy, Sealing):
            self._run.entries = self._policy.entries
        if isinstance(self._policy, Compacting):
            self._run.compactions = self._policy.count


def _pending(events: Sequence[Event], start: int) -> Iterator[Message]:
    """The messages that the first step of a turn is about to append."""
    for event in events[start:]:
        if isinstance(event, AssistantMessage | AssistantAttempt | TurnEnd):
            return
        if isinstance(event, UserMessage):
            yield event.data
