"""What a recorder holds back: the parts of one step until the next one begins."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from msgspec import Raw

from slicetape.log.messages import (
    Block,
    File,
    Image,
    OtherBlock,
    Reasoning,
    Source,
    Text,
)
from slicetape.log.payloads import ToolError, Usage

ResultBlock = Text | Image | File | Reasoning | OtherBlock
"""What may stand in a tool result."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool returned. `is_error` is None where the transcript does not say.

    `meta` is a JSON object, private to the tool; `id` the recorded message id.
    """

    content: tuple[ResultBlock, ...] = ()
    is_error: bool | None = None
    error: ToolError | None = None
    meta: dict[str, Any] | None = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class Route:
    """The model and options of the requests that follow.

    `tools` is a JSON list of schemas, `window` the recorded context window in tokens.
    """

    provider: str
    model: str
    effort: str | None = None
    max_tokens: int | None = None
    tools: Raw | None = None
    window: int | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A message in the user role that waits for the next step."""

    time: int
    content: tuple[Block, ...]
    source: Source
    id: str


@dataclass(frozen=True, slots=True)
class Aside:
    """An `x/` event that waits for the events before it."""

    time: int
    kind: str
    data: Any


@dataclass(slots=True)
class Call:
    """A call of the open step; `original` is its id as the transcript has it."""

    time: int
    id: str
    original: str
    name: str
    arguments: str
    answer: Answer | None = None
    answered: int = 0


@dataclass(slots=True)
class Step:
    """A model response that is still growing: its input, its `blocks` with `states` beside them.

    `waiting` is the input that was said before it, `system` a new system prompt, `asked` the
    calls under each id that a result may name.
    """

    time: int
    id: str
    route: Route | None
    waiting: list[Said | Aside]
    system: tuple[Block, ...] | None
    blocks: list[Block] = field(default_factory=list)
    states: list[dict[str, Any] | None] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    asked: dict[str, deque[Call]] = field(default_factory=dict)
    asides: list[Aside] = field(default_factory=list)
    usage: Usage | None = None
    interrupted: bool | None = None

    def add(self, call: Call) -> None:
        """Add a call that waits for its result."""
        self.calls.append(call)
        for id in {call.original, call.id, ""}:
            self.asked.setdefault(id, deque()).append(call)

    def take(self, id: str) -> Call | None:
        """The first call under `id` without a result; the first of all for an empty id."""
        calls = self.asked.get(id)
        while calls:
            call = calls.popleft()
            if call.answer is None:
                return call
        return None
