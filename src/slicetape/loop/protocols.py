"""What a loop needs from outside: a model, tools, a clock, and somebody to ask for permission."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from msgspec import Raw

from slicetape.log.events import Foreign
from slicetape.log.messages import Block, Message, Text
from slicetape.log.payloads import ToolError
from slicetape.loop.deltas import Delta
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.openai_chat import ChatWire


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where requests go and what that place can do.

    `context_window` and `max_tokens` (of one answer) are tokens. `efforts` are the reasoning
    efforts that the model declares: None when unknown, empty when it does not reason;
    `default_effort` is sent when nobody chose one. `system_prompt_update` is
    `in-history` where a changed prompt may be appended behind what was sent. `sheet` names the
    price sheet.
    """

    provider: str
    model: str
    wire: ChatWire | MessagesWire
    context_window: int | None = None
    max_tokens: int | None = None
    efforts: tuple[str, ...] | None = None
    system_prompt_update: str | None = None
    default_effort: str | None = None
    sheet: str | None = None


class Model(Protocol):
    """A model behind one route. The bytes of a request come from the loop, as `wire` made them."""

    @property
    def route(self) -> Route:
        """Where this model is."""
        ...

    def stream(
        self, body: bytes, *, purpose: Literal["step", "summary"] = "step"
    ) -> AsyncIterator[Delta]:
        """Send one request and give its deltas; the last one is the only `Finish`.

        Failures of the provider, the network and the stream are a `Finish` with a failure, never
        an exception, and keys never stand in it. Cancelling the iteration closes the connection.
        """
        ...

    async def close(self) -> None:
        """Give up connections."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call as its body sees it; `raw` are the arguments as the model wrote them."""

    turn: int
    step: int
    call_id: str
    name: str
    raw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a tool returns.

    `error` names a failure (`is_error` results start with `Error: `). `meta` is the tool's
    private JSON. `notes` are ignorable `x/` events, logged ahead of the result. `contexts` are
    messages for the next step. `concludes_turn` ends the turn after this step.
    """

    content: tuple[Block, ...] = ()
    is_error: bool = False
    error: ToolError | None = None
    meta: Raw | None = None
    notes: tuple[Foreign, ...] = ()
    contexts: tuple[Message, ...] = ()
    concludes_turn: bool = False

    @classmethod
    def of(cls, text: str, **rest: Any) -> "Output":
        """The output of a tool that prints `text`."""
        return cls(content=(Text(text),), **rest)

    @classmethod
    def failure(cls, text: str, *, name: str = "", code: str = "") -> "Output":
        """A result that says what went wrong: `Error: ` and `text`."""
        error = ToolError(name or None, code or None) if name or code else None
        return cls(content=(Text(f"Error: {text}"),), is_error=True, error=error)


class Tool(Protocol):
    """Something that a model can call.

    `parameters` is a JSON schema of the subset `type, oneOf, properties, required,
    additionalProperties, items, enum, const`; the loop holds arguments to it before `run`.
    """

    @property
    def name(self) -> str:
        """Its name in requests."""
        ...

    @property
    def description(self) -> str:
        """What the model is told; constant for the session."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The schema of its arguments; constant for the session."""
        ...

    def parallel(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments may run beside others of its kind."""
        ...

    async def run(self, arguments: Mapping[str, Any], call: Call) -> Output:
        """Do the work. A cancelled call ends as soon as it can, leaving no process behind.

        What goes wrong for the model to know is an `Output.failure`; an exception is reported as
        a failed tool.
        """
        ...


class Permission(Protocol):
    """Who may allow or refuse a call before it runs."""

    async def ask(self, call: Call, arguments: Mapping[str, Any]) -> str | None:
        """None to go on, else the reason of the refusal, for the model."""
        ...


class Clock(Protocol):
    """Time, as a loop reads and spends it."""

    def now(self) -> int:
        """Epoch milliseconds; may go backwards."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        ...


class Ids(Protocol):
    """Where new ids come from."""

    def __call__(self) -> str:
        """An id that was not given before."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """Epoch milliseconds."""
        return time.time_ns() // 1_000_000

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        await asyncio.sleep(seconds)


def random_id() -> str:
    """A random UUID."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of an agent, in the order in which requests offer them."""

    tools: Sequence[Tool] = ()
    by_name: Mapping[str, Tool] = field(init=False)

    def __post_init__(self) -> None:
        named = {tool.name: tool for tool in self.tools}
        if len(named) < len(self.tools):
            twice = next(t.name for t in self.tools if named[t.name] is not t)
            raise ValueError(f'tool "{twice}" is already registered')
        object.__setattr__(self, "by_name", named)
