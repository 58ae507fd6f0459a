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
    SurfaceOp,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from slicetape.log.messages import Message
from slicetape.log.seqs import pack
from slicetape.loop.prestep import Prestep
from slicetape.policy.fold_view import Folding
from slicetape.replay.arms import SLICING, Arm
from slicetape.replay.compacting import Compacting, Room
from slicetape.replay.evidence.references import References
from slicetape.replay.evidence.visible import Visibility
from slicetape.replay.meter import Meter, Sent
from slicetape.replay.nodes import Nodes
from slicetape.replay.policies import BeforeStep, Masking, Nothing, Slicing
from slicetape.replay.recorded_log import RecordedLog
from slicetape.replay.recording import Recording
from slicetape.surface import Session
from slicetape.wire.lint import Rules

Reply = AssistantMessage | AssistantAttempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all arms of a replay share: the rules of the wire, heads and window in tokens.

    `head` stands ahead of every request, `recall_head` too in arms that carry recall tools.
    `references` are what is looked for in the requests; without them nothing is.
    """

    rules: Rules
    head: int = 0
    recall_head: int = 0
    window: int = 200_000
    references: References | None = None


@dataclass(slots=True)
class Run:
    """A finished run: its session, its measures, and each request, in order."""

    arm: Arm
    session: Session
    meter: Meter
    sent: list[Sent]
    entries: list[UserMessage] = field(default_factory=list)
    views: list[ToolResult] = field(default_factory=list)
    policy_ms: list[float] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    compactions: int = 0
    visibility: Visibility | None = None


def run(
    recording: Recording,
    arm: Arm,
    nodes: Nodes,
    setting: Setting,
    *,
    tick: Callable[[], None] = lambda: None,
) -> Run:
    """Send what the recording would have sent under `arm`; `tick` is called once a recorded reply.

    `nodes` are those of this recording, and may be used for every arm.
    """
    return _Replayer(recording, arm, nodes, setting).run(tick)


class _Replayer:
    def __init__(self, recording: Recording, arm: Arm, nodes: Nodes, setting: Setting) -> None:
        self._recording = recording
        self._seqs: dict[int, int] = {}
        self._repeated: Event | None = None
        self._ready = (0, 0)
        session = Session(RecordedLog(recording.header), strict=False)
        head = setting.head + (setting.recall_head if arm.recalls else 0)
        meter = Meter(session, nodes, setting.rules, head=head, recorded=lambda: self._repeated)
        self._run = Run(arm, session, meter, [])
        if setting.references:
            self._run.visibility = Visibility(
                session, setting.references, lambda: self._repeated, recalls=arm.recalls
            )
        self._policy = self._policy_of(arm, nodes, Room(setting.window, head))

    def run(self, tick: Callable[[], None]) -> Run:
        events = self._recording.events
        for at, event in enumerate(events):
            if isinstance(event, TurnStart):
                self._append(event)
                self._ready = (0, 0)
                self._before((event.data.turn, 1), event.time, tuple(_pending(events, at + 1)))
                continue
            if isinstance(event, StepStart | Reply):
                self._before((event.data.turn, event.data.step), event.time)
            if isinstance(event, Reply) and event.is_original:
                self._send(event)
                tick()
            self._append(event)
        self._finish()
        return self._run

    def _policy_of(self, arm: Arm, nodes: Nodes, room: Room) -> BeforeStep:
        session = self._run.session
        if arm.policy in SLICING:
            return Slicing(self._prestep_of(arm))
        if arm.policy == "mask":
            return Masking(session, arm.keep)
        if arm.policy == "compact":
            return Compacting(session, self._run.meter, nodes.counts, room, self._run.sent)
        return Nothing()

    def _prestep_of(self, arm: Arm) -> Prestep:
        settings = arm.settings
        return Prestep(
            self._run.session,
            settings.history if arm.policy != "fold" else None,
            folding=Folding.of(settings) if arm.policy != "tape" else None,
            warn=self._run.warnings.append,
        )

    def _append(self, event: Event) -> None:
        self._repeated = event
        self._seqs[event.seq] = self._run.session.append(self._renumbered(event)).seq
        self._repeated = None

    def _renumbered(self, event: Event) -> Event:
        """The event as it stands in this log: its seq, and those it names, are new."""
        op, sources = event.surface_op, event.source_event_seqs
        if isinstance(op, Replace):
            op = self._moved(op)
        if sources is not None:
            cited = [self._seqs[seq] for seq in event.sources if seq in self._seqs]
            sources = pack(cited) if cited else None
        return msgspec.structs.replace(
            event, seq=len(self._run.session.log.events), surface_op=op, source_event_seqs=sources
        )

    def _moved(self, op: Replace) -> SurfaceOp:
        """Where a newer prompt stands here; at the end when the arm removed the older one."""
        start, end = self._seqs.get(op.start_seq, -1), self._seqs.get(op.end_seq, -1)
        surface = self._run.session.view.surface
        return Replace(start, end) if start in surface and end in surface else "append"

    def _before(self, place: tuple[int, int], time: int, pending: Sequence[Message] = ()) -> None:
        """Let the arm act, once a step: when turn or step start, at the latest at the reply."""
        if place == self._ready:
            return
        self._ready = place
        start = perf_counter()
        self._policy.before_step(place[1], time=time, pending=pending)
        if place[1] == 1 or self._run.arm.policy in ("fold", "slicetape"):
            self._run.policy_ms.append((perf_counter() - start) * 1_000)

    def _send(self, event: Reply) -> None:
        sent = self._run.meter.request(event, first_in_turn=event.data.step == 1)
        self._run.sent.append(sent)
        if self._run.visibility:
            self._run.visibility.request(event, len(self._run.sent) - 1)
        if isinstance(self._policy, Compacting):
            self._policy.sent(sent, event)

    def _finish(self) -> None:
        if isinstance(self._policy, Slicing):
            self._run.entries, self._run.views = self._policy.entries, self._policy.views
        if isinstance(self._policy, Compacting):
            self._run.compactions = self._policy.count


def _pending(events: Sequence[Event], start: int) -> Iterator[Message]:
    """The messages that the first step of a turn is about to append."""
    for at in range(start, len(events)):
        event = events[at]
        if isinstance(event, Reply | TurnEnd):
            return
        if isinstance(event, UserMessage):
            yield event.data
