"""A live agent with everything scripted: what its model says, what its tools do, what time it is."""

import asyncio
import itertools
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from slicetape.log.events import Event, Foreign, Header, type_of
from slicetape.log.log import SessionLog
from slicetape.log.messages import Message, Source, Text, ToolCall
from slicetape.log.payloads import EndReason, Failure, Usage
from slicetape.loop.agent import Agent, Around
from slicetape.loop.deltas import (
    BlockEnd,
    BlockStart,
    Delta,
    Finish,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageSeen,
)
from slicetape.loop.live import LoopSettings
from slicetape.loop.prestep import Prepared, Prestep
from slicetape.loop.prompt import Prompt, Section
from slicetape.loop.protocols import Call, Output, Route, Tool, Tools
from slicetape.policy.fold_view import Folding
from slicetape.policy.settings import HistorySettings, Settings
from slicetape.surface import Session
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.lint_wire import lint_chat, lint_messages
from slicetape.wire.openai_chat import ChatWire

CHAT = Route(provider="test", model="chat", wire=ChatWire(), max_tokens=100)
MESSAGES = Route(provider="test", model="messages", wire=MessagesWire(), max_tokens=100)

Act = Callable[[], Any]
Reply = Sequence["Delta | Act"]


class Hang:
    """A place where nothing more comes."""


HANG = Hang()


def says(text: str, *, usage: Usage | None = None) -> list[Any]:
    """An answer that ends the turn."""
    return [*text_of(text), UsageSeen(usage or Usage(10, 2)), Finish(FinishReason("stop"))]


def text_of(text: str, index: int = 0) -> list[Any]:
    half = len(text) // 2
    return [
        BlockStart(index, "text"),
        TextDelta(index, text[:half]),
        TextDelta(index, text[half:]),
        BlockEnd(index, Text(text)),
    ]


def thinks(text: str, index: int = 0) -> list[Any]:
    return [BlockStart(index, "reasoning"), ReasoningDelta(index, text)]


def calls(*made: tuple[str, str, str], text: str = "") -> list[Any]:
    """An answer that calls tools: id, name and raw arguments of each."""
    deltas = text_of(text) if text else []
    for index, (call_id, name, raw) in enumerate(made, len(deltas) and 1):
        deltas += [
            BlockStart(index, "tool-call"),
            ToolCallDelta(index, call_id, raw[:3], name),
            ToolCallDelta(index, call_id, raw[3:], name),
            BlockEnd(index, ToolCall(call_id, name, raw)),
        ]
    return [*deltas, UsageSeen(Usage(10, 2)), Finish(FinishReason("tool-calls"))]


def fails(code: str, message: str = "it failed", **facts: Any) -> list[Any]:
    """An attempt that gives nothing."""
    failure = msgspec.structs.replace(Failure(message, code), **facts)
    return [Finish(FinishReason("error", failure))]


class ScriptModel:
    """Gives one reply a request; steps of a reply that are no deltas are called, or hang."""

    def __init__(self, replies: Sequence[Any], route: Route) -> None:
        self.route = route
        self.replies = deque(replies)
        self.summaries: deque[Any] = deque()
        self.bodies: list[bytes] = []
        self.asked: list[str] = []
        self.closed = False

    async def stream(self, body: bytes, *, purpose: str = "step") -> AsyncIterator[Delta]:
        self.bodies.append(body)
        self.asked.append(purpose)
        queue = self.replies if purpose == "step" else self.summaries
        assert queue, f"no reply is left for request {len(self.bodies)}"
        for item in queue.popleft():
            if isinstance(item, Hang):
                await asyncio.Event().wait()
            elif callable(item):
                item()
                await asyncio.sleep(0)
            else:
                yield item

    async def close(self) -> None:
        self.closed = True


@dataclass(slots=True)
class ScriptTool:
    """A tool that does as it is told; `act` gets the arguments and gives text or an output."""

    name: str
    act: Callable[[Mapping[str, Any]], Any] = lambda _: "ok"
    side_by_side: bool = False
    description: str = "A tool."
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "object", "properties": {"n": {"type": "number"}}}
    )
    ran: list[str] = field(default_factory=list)

    def parallel(self, arguments: Mapping[str, Any]) -> bool:
        return self.side_by_side

    async def run(self, arguments: Mapping[str, Any], call: Call) -> Output:
        self.ran.append(call.call_id)
        made = self.act(arguments)
        if isinstance(made, Awaitable):
            made = await made
        return made if isinstance(made, Output) else Output.of(str(made))


class Recalls(ScriptTool):
    """Stands for a recall tool where only its being offered matters."""


def recall_tools() -> list[ScriptTool]:
    names = ("expand_result", "recall_search", "recall_step", "recall_turn")
    return [ScriptTool(name) for name in names]


class TestClock:
    """Counts milliseconds; sleeping takes no time and is written down."""

    __test__ = False

    def __init__(self) -> None:
        self.time = 1_000
        self.slept: list[float] = []
        self.hang = False

    def now(self) -> int:
        self.time += 1
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.hang:
            await asyncio.Event().wait()


class Watch:
    """Keeps what a watcher was told."""

    def __init__(self) -> None:
        self.deltas: list[Delta] = []
        self.sealed: list[int] = []
        self.folded: list[int] = []
        self.failures: list[tuple[str, float | None]] = []
        self.warnings: list[str] = []
        self.on_delta: Callable[[Delta], None] = lambda _: None

    def delta(self, delta: Delta) -> None:
        self.deltas.append(delta)
        self.on_delta(delta)

    def prepared(self, prepared: Prepared) -> None:
        self.sealed += [entry.seq for entry in prepared.entries]
        self.folded += [view.seq for view in prepared.views]

    def failed(self, failure: Failure, retry_in_ms: float | None) -> None:
        self.failures.append((failure.code, retry_in_ms))

    def warning(self, text: str) -> None:
        self.warnings.append(text)


class LiveAgent:
    """An agent over a session in memory, or over a log at `path`; made inside an event loop."""

    def __init__(
        self,
        replies: Sequence[Any] = (),
        tools: Sequence[Tool] = (),
        *,
        route: Route = CHAT,
        session: Session | None = None,
        path: Path | None = None,
        settings: LoopSettings | None = None,
        sealing: bool = False,
        recalls: bool = True,
        prompt: Prompt | None = None,
        **around: Any,
    ) -> None:
        header = Header("session", 3, "live", 1, False, 0, cwd="/work")
        if session is None:
            log = SessionLog.create(path, header) if path else SessionLog.in_memory(header)
            session = Session(log)
        self.session = session
        self.model = ScriptModel(replies, route)
        self.clock = TestClock()
        self.watch = Watch()
        numbers = itertools.count(len(session.log.events))
        offered = [*tools, *(recall_tools() if sealing and recalls else ())]
        history = HistorySettings(seal_only_if_shorter=False) if sealing else None
        folding = Folding.of(Settings()) if sealing else None
        self.agent = Agent(
            session,
            self.model,
            Tools(offered),
            Prestep(session, history, folding=folding),
            replace(
                Around(
                    settings=settings or LoopSettings(),
                    prompt=prompt or Prompt([Section("test", 0, "You are tested.")]),
                    clock=self.clock,
                    ids=lambda: f"id-{next(numbers)}",
                    watcher=self.watch,
                    jitter=lambda: 0.5,
                ),
                **around,
            ),
        )

    async def turn(self, text: str = "Do it.") -> EndReason:
        """One message, until nothing runs."""
        self.agent.followup(text)
        reason = await self.agent.when_idle()
        assert reason is not None
        return reason

    def cancel(self) -> None:
        self.agent.cancel()

    @property
    def events(self) -> Sequence[Event]:
        return self.session.log.events

    def kinds(self, start: int = 0) -> list[str]:
        """The kinds of the logged events, those of our own left out."""
        return [
            type_of(event)
            for event in self.events[start:]
            if not (isinstance(event, Foreign) and event.kind.startswith("x/"))
        ]

    def of(self, kind: type) -> list[Any]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def sent(self, number: int = -1) -> list[Any]:
        """The messages of a request."""
        found: list[Any] = json.loads(self.model.bodies[number])["messages"]
        return found

    def checked(self) -> "LiveAgent":
        """The same, after every request was linted."""
        lint = lint_chat if isinstance(self.model.route.wire, ChatWire) else lint_messages
        for body in self.model.bodies:
            assert lint(body) == []
        return self


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    """Run one scenario to its end."""

    async def limited() -> Any:
        return await asyncio.wait_for(asyncio.ensure_future(work()), 20)

    return asyncio.run(limited())


def human(text: str, id: str = "m-1") -> Message:
    return Message(id, "user", (Text(text),), Source("user"))


def notice(text: str, id: str = "n-1") -> Message:
    return Message(id, "user", (Text(text),), Source("plugin", "test:notice", "notice"))
