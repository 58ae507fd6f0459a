"""What the parts of a running agent share: its session, its surroundings, and who watches."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from slicetape.log.codec import foreign
from slicetape.log.messages import NO_JSON, Message, Source, Text
from slicetape.log.payloads import Failure
from slicetape.loop.deltas import Delta
from slicetape.loop.header import Headers
from slicetape.loop.inbox import Inbox
from slicetape.loop.prestep import Prepared, Prestep
from slicetape.loop.prompt import Prompt
from slicetape.loop.protocols import Call, Clock, Ids, Model, Output, Permission, Route, Tools
from slicetape.loop.request import Requests
from slicetape.surface import Session

RETRIED = frozenset({"EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT"})
"""Failure codes that are tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """How turns run.

    `max_steps` ends a turn after so many steps, None never. `retries` are those of one step;
    waits are `first_delay_ms` doubled up to `longest_delay_ms`, give or take a tenth. `effort` is
    the reasoning effort wanted where the model declares it, `chosen_effort` is sent in any case.
    `notes` says whether ignorable `x/`
    events are logged.
    """

    max_steps: int | None = None
    parallel: int = 10
    retries: int = 5
    retried: frozenset[str] = RETRIED
    first_delay_ms: float = 500
    longest_delay_ms: float = 10_000
    effort: str = "inherit"
    chosen_effort: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    notes: bool = True


class Watcher(Protocol):
    """Who looks on while an agent works. Events of the log come through `Session.listen`."""

    def delta(self, delta: Delta) -> None:
        """The model streamed something."""
        ...

    def prepared(self, prepared: Prepared) -> None:
        """The policy sealed or folded something."""
        ...

    def failed(self, failure: Failure, retry_in_ms: float | None) -> None:
        """A model call failed; it is tried again after `retry_in_ms`, or not (None)."""
        ...

    def warning(self, text: str) -> None:
        """One line for the person."""
        ...


class Unwatched:
    """Nobody looks on."""

    def delta(self, delta: Delta) -> None:
        """Nothing."""

    def prepared(self, prepared: Prepared) -> None:
        """Nothing."""

    def failed(self, failure: Failure, retry_in_ms: float | None) -> None:
        """Nothing."""

    def warning(self, text: str) -> None:
        """Nothing."""


class Context(Protocol):
    """Who adds messages to a step: instruction files, reminders."""

    def before_step(self, turn: int, step: int, claimed: Sequence[Message]) -> Sequence[Message]:
        """Messages to stand behind those that were claimed; called once for a step."""
        ...

    def after_call(self, call: Call, arguments: Mapping[str, Any] | str, output: Output) -> None:
        """A call was answered."""
        ...


class Room(Protocol):
    """Who makes room when the window is full: the host's compaction."""

    async def before_step(self, turn: int, step: int) -> None:
        """Compact when the next request fills too much of the window."""
        ...

    async def when_full(self, turn: int, step: int) -> bool:
        """The provider said that the window is full; whether the request is smaller now."""
        ...


@dataclass(slots=True, kw_only=True)
class Live:
    """One running agent. Only its own loop appends to the session."""

    session: Session
    model: Model
    tools: Tools
    prompt: Prompt
    prestep: Prestep
    inbox: Inbox
    headers: Headers
    requests: Requests
    settings: LoopSettings
    clock: Clock
    ids: Ids
    permission: Permission | None = None
    watcher: Watcher = field(default_factory=Unwatched)
    contexts: Sequence[Context] = ()
    room: Room | None = None
    jitter: Callable[[], float] = random.random
    tool_schemas: Raw = field(default_factory=Raw)
    recalls: bool = False

    def now(self) -> int:
        """Epoch milliseconds for an event."""
        return self.clock.now()

    def wanted_effort(self, route: Route) -> str | None:
        """The effort that the settings want and the model declares; None to inherit."""
        wanted = self.settings.effort
        if wanted == "inherit" or route.efforts is None or wanted not in route.efforts:
            return None
        return wanted

    def message(self, text: str, source: Source) -> Message:
        """A new message in the user role."""
        return Message(self.ids(), "user", (Text(text),), source)

    def note(self, kind: str, data: object) -> None:
        """Append an ignorable event of our own, when those are logged."""
        if self.settings.notes:
            self.session.append(foreign(kind, data, time=self.now()))


def schemas_of(tools: Tools) -> Raw:
    """The tools as a request header keeps them."""
    rows = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in tools.tools
    ]
    return Raw(msgspec.json.encode(rows)) if rows else NO_JSON
