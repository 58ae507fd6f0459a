"""Run a recorded session again through the live loop: its input, its replies, its results."""

import asyncio
import itertools
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from slicetape.log.codec import encode_header, foreign
from slicetape.log.events import (
    AssistantAttempt,
    AssistantMessage,
    EndSeed,
    Event,
    Foreign,
    InboxSpliced,
    RequestHeader,
    SystemMessage,
    ToolCalled,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
    is_snapshot,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import Message, Reasoning, Text, ToolCall, ToolResultBlock, text_of
from slicetape.log.spill import SessionSpills
from slicetape.loop.agent import Agent, Around
from slicetape.loop.deltas import (
    BlockEnd,
    BlockStart,
    BlockType,
    Delta,
    Finish,
    FinishReason,
    UsageSeen,
)
from slicetape.loop.live import LoopSettings
from slicetape.loop.prestep import Prestep
from slicetape.loop.prompt import Fact, Prompt, Section
from slicetape.loop.protocols import Call, Output, Route, Tool, Tools
from slicetape.loop.resume import taken_up
from slicetape.policy.fold_view import Folding
from slicetape.policy.settings import HistorySettings
from slicetape.surface import Session
from slicetape.wire.openai_chat import ChatWire

HOST_PREAMBLE = (
    "Current runtime context. This snapshot supersedes earlier runtime-context snapshots."
)
KINDS: dict[type, BlockType] = {ToolCall: "tool-call", Reasoning: "reasoning", Text: "text"}
PARALLEL = frozenset({"read", "read_image", "web_search", "web_fetch"})


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded session, cut where a process took it up again."""

    log: SessionLog
    phases: tuple[tuple[Event, ...], ...]

    @classmethod
    def of(cls, log: SessionLog) -> "Recorded":
        phases: list[list[Event]] = [[]]
        for event in log.events:
            if isinstance(event, EndSeed):
                phases.append([])
            else:
                phases[-1].append(event)
        return cls(log, tuple(map(tuple, phases)))


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """What the recorded run had around it; `aborts` are calls or replies that were cut short."""

    history: HistorySettings | None
    folding: Folding | None = None
    known: Mapping[str, str | None] = field(default_factory=dict)
    notes: bool = False
    tools: Callable[[Session, Sequence[Tool]], Sequence[Tool]] | None = None
    before_message: Callable[[int], None] = lambda _: None


class Ticks:
    def __init__(self) -> None:
        self._now = itertools.count(1)

    def now(self) -> int:
        return next(self._now)

    async def sleep(self, seconds: float) -> None:
        return


class Rerun:
    """One recording, run again. `sent` are the messages of each request, in order."""

    def __init__(self, recorded: Recorded, around: Surroundings) -> None:
        self._recorded = recorded
        self._around = around
        self.session = Session(SessionLog.in_memory(recorded.log.header))
        self.sent: list[list[Any]] = []
        self.warnings: list[str] = []
        self.bodies: list[bytes] = []

    def run(self) -> "Rerun":
        asyncio.run(self._run())
        return self

    async def _run(self) -> None:
        for number, events in enumerate(self._recorded.phases):
            if number:
                lines = [encode_header(self._recorded.log.header), *self.session.log.lines()]
                self.session = taken_up(SessionLog.of_lines(lines), time=0)
            await self._phase(events)

    async def _phase(self, events: Sequence[Event]) -> None:
        around, session = self._around, self.session
        spills = SessionSpills(session.log.events, session.log.blobs, around.known)
        prestep = Prestep(
            session,
            around.history,
            folding=around.folding,
            spills=spills,
            warn=self.warnings.append,
        )
        said = RecordedPrompt(events, self._recorded.log)
        model = RecordedModel(self, events)
        tools: Sequence[Tool] = recorded_tools(events, self._recorded)
        if around.tools:
            tools = around.tools(session, tools)
        agent = Agent(
            session,
            model,
            Tools(tools),
            prestep,
            Around(
                settings=LoopSettings(notes=around.notes),
                prompt=said,
                clock=Ticks(),
                ids=ids(),
            ),
        )
        model.cancel = lambda: agent.cancel(keep_inbox=True)
        interrupt(agent, events)
        first = next((at for at, event in enumerate(events) if _waits(event)), len(events))
        for event in events[:first]:
            session.append(_unplaced(event))
        for number, event in enumerate(waiting_messages(events)):
            around.before_message(number)
            said.turn_of(event)
            if event.data.target == "next-step":
                agent.inject(*event.data.inserted)
            else:
                agent.followup(*event.data.inserted)
                await agent.when_idle()


class RecordedPrompt(Prompt):
    """The prompt and facts that the recording showed, each from the turn that showed it on."""

    def __init__(self, events: Sequence[Event], log: SessionLog) -> None:
        super().__init__(facts=self._facts, preamble=HOST_PREAMBLE)
        self._events = events
        self._log = log
        self._now: tuple[Fact, ...] = ()
        earlier = [e for e in log.events if not events or e.seq < events[0].seq]
        self._see(earlier)

    def turn_of(self, waiting: InboxSpliced) -> None:
        """Take in what the turn of this message showed."""
        start = next(
            (e.seq for e in self._events if isinstance(e, TurnStart) and e.seq > waiting.seq), None
        )
        if start is None:
            return
        rest = [e for e in self._events if e.seq > start]
        end = next((at for at, e in enumerate(rest) if isinstance(e, TurnStart)), len(rest))
        self._see(rest[:end])

    def _facts(self) -> Sequence[Fact]:
        return self._now

    def _see(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, SystemMessage):
                text = text_of(event.data.message.content)
                self.sections = (Section("host", 0, text),)
            elif isinstance(event, UserMessage) and is_snapshot(event):
                rows = msgspec.json.decode(event.data.source.sections or b"[]")
                self._now = tuple(Fact(row["name"], row["text"]) for row in rows)


class RecordedModel:
    """Gives the recorded replies; where one was cut short, it stops there until it is cancelled."""

    def __init__(self, rerun: Rerun, events: Sequence[Event]) -> None:
        self.route = Route(
            provider="deepseek-official",
            model="deepseek-flash",
            wire=ChatWire(),
            context_window=1_000_000,
            max_tokens=256_000,
            efforts=("off", "low", "high", "max"),
            default_effort="high",
            system_prompt_update="in-history",
        )
        self.cancel: Callable[[], None] = lambda: None
        self._rerun = rerun
        self._replies = deque(
            (at, event)
            for at, event in enumerate(events)
            if isinstance(event, AssistantMessage | AssistantAttempt)
        )
        self._events = events

    async def stream(self, body: bytes, *, purpose: str = "step") -> AsyncIterator[Delta]:
        at, reply = self._replies.popleft()
        self._rerun.bodies.append(body)
        self._rerun.sent.append(json.loads(body)["messages"])
        self._append_other_events(at)
        if isinstance(reply, AssistantMessage):
            for index, block in enumerate(reply.data.message.content):
                kind: BlockType = KINDS[type(block)]
                yield BlockStart(index, kind)
                yield BlockEnd(index, block)  # type: ignore[arg-type]
            if reply.data.interrupted:
                self.cancel()
                await asyncio.Event().wait()
            if reply.data.usage:
                yield UsageSeen(reply.data.usage)
        yield Finish(_finish_of(reply))

    async def close(self) -> None:
        return

    def _append_other_events(self, before: int) -> None:
        """Events of the host that ours does not write stand where they stood."""
        at = before
        while at and isinstance(self._events[at - 1], Foreign):
            at -= 1
        for event in self._events[at:before]:
            self._rerun.session.append(_unplaced(event))


def _finish_of(reply: AssistantMessage | AssistantAttempt) -> FinishReason:
    rows = msgspec.json.decode(reply.data.stream)
    found = [r["chunk"]["reason"] for r in rows if r.get("chunk", {}).get("type") == "finish"]
    return msgspec.convert(found[-1], FinishReason) if found else FinishReason("stop")


@dataclass(slots=True)
class RecordedTool:
    """A tool of the recording; a result is found by its call id, in the order of the log."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    results: Mapping[str, deque[ToolResult]]

    def parallel(self, arguments: Mapping[str, Any]) -> bool:
        return self.name in PARALLEL

    async def run(self, arguments: Mapping[str, Any], call: Call) -> Output:
        result = self.results[call.call_id].popleft()
        if result.data.error and result.data.error.code == "ABORTED":
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        [block] = result.data.message.content
        assert isinstance(block, ToolResultBlock)
        return Output(
            content=block.content,
            is_error=bool(block.is_error),
            error=result.data.error,
            meta=result.data.meta or None,
            notes=(foreign("x/ran", {"callId": call.call_id}),),
        )


def recorded_tools(events: Sequence[Event], recorded: Recorded) -> list[RecordedTool]:
    """The tools that the recording offered."""
    results: dict[str, deque[ToolResult]] = {}
    for event in events:
        if isinstance(event, ToolResult) and event.is_original:
            call_id = event.data.message.source.call_id
            assert call_id is not None
            results.setdefault(call_id, deque()).append(event)
    header = next(e for e in recorded.log.events if isinstance(e, RequestHeader))
    rows = msgspec.json.decode(header.data.header.tools or b"[]")
    return [
        RecordedTool(row["name"], row.get("description", ""), row["parameters"], results)
        for row in rows
    ]


def interrupt(agent: Agent, events: Sequence[Event]) -> None:
    """Abort and steer when the calls start during which the recording did."""
    aborted, steers = set[str](), dict[str, Message]()
    running: ToolCalled | None = None
    for event in events:
        if isinstance(event, ToolCalled):
            running = event
        elif isinstance(event, ToolResult) and event.is_original:
            if event.data.error and event.data.error.code == "ABORTED" and running:
                aborted.add(running.data.call_id)
            running = None
        elif isinstance(event, InboxSpliced) and event.data.inserted and running:
            steers[running.data.call_id] = event.data.inserted[0]

    def started(event: Event, _: object) -> None:
        if isinstance(event, ToolCalled):
            loop = asyncio.get_running_loop()
            if event.data.call_id in aborted:
                loop.call_soon(lambda: agent.cancel(keep_inbox=True))
            elif event.data.call_id in steers:
                message = steers[event.data.call_id]
                loop.call_soon(lambda: agent.steer(message))

    agent.session.listen(started)


def waiting_messages(events: Sequence[Event]) -> list[InboxSpliced]:
    """The messages that came between turns."""
    found: list[InboxSpliced] = []
    open_turn = False
    for event in events:
        open_turn = isinstance(event, TurnStart) or (open_turn and not isinstance(event, TurnEnd))
        if isinstance(event, InboxSpliced) and event.data.inserted and not open_turn:
            found.append(event)
    return found


def ids() -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"live-{next(numbers)}"


def _waits(event: Event) -> bool:
    return isinstance(event, InboxSpliced)


def _unplaced(event: Event) -> Event:
    return msgspec.structs.replace(event, seq=-1)
