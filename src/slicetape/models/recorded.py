"""A model that answers from a recording: replies as deltas, or those of a session's log."""

from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Literal

import msgspec
from msgspec import Raw

from slicetape.log.events import (
    AssistantAttempt,
    AssistantMessage,
    CompactionSummary,
    Event,
)
from slicetape.log.messages import OtherBlock, Reasoning, Text, ToolCall
from slicetape.log.payloads import AssistantData, Usage
from slicetape.loop.deltas import (
    BlockEnd,
    BlockStart,
    BlockType,
    Delta,
    Finish,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageSeen,
    failed,
)
from slicetape.loop.protocols import Route
from slicetape.wire.openai_chat import ChatWire

ROUTE = Route(provider="recorded", model="recorded", wire=ChatWire(), max_tokens=32_000)
_KINDS: dict[type, BlockType] = {
    Text: "text",
    Reasoning: "reasoning",
    ToolCall: "tool-call",
    OtherBlock: "other",
}
_Said = Text | Reasoning | ToolCall | OtherBlock
_CUT = failed("ABORTED", "the recorded answer was cut short here")


class RecordedModel:
    """Gives one recorded reply to each request, whatever it asks; `bodies` are the requests.

    A reply without a finish ends as cut short. When no reply is left the answer is a failure
    with the code `RECORDING_ENDED`.
    """

    def __init__(
        self,
        replies: Iterable[Sequence[Delta]],
        *,
        summaries: Iterable[Sequence[Delta]] = (),
        route: Route = ROUTE,
    ) -> None:
        self._route = route
        self._left = {"step": deque(replies), "summary": deque(summaries)}
        self.bodies: list[bytes] = []

    @classmethod
    def of_log(cls, events: Iterable[Event], *, route: Route = ROUTE) -> "RecordedModel":
        """The answers of a session in their order: messages, failed attempts, and summaries."""
        replies: list[list[Delta]] = []
        summaries: list[list[Delta]] = []
        for event in events:
            if isinstance(event, AssistantMessage):
                replies.append(reply_of(event.data))
            elif isinstance(event, AssistantAttempt):
                replies.append(_ended(expanded(event.data.stream)))
            elif isinstance(event, CompactionSummary):
                raw = event.data.raw_output or event.data.summary
                summaries.append(_told(_blocks(raw), event.data.usage, Raw()))
        return cls(replies, summaries=summaries, route=route)

    @property
    def route(self) -> Route:
        """The route that it was given."""
        return self._route

    @property
    def left(self) -> int:
        """How many replies are left for steps."""
        return len(self._left["step"])

    async def stream(
        self, body: bytes, *, purpose: Literal["step", "summary"] = "step"
    ) -> AsyncIterator[Delta]:
        """The next reply of that purpose."""
        self.bodies.append(body)
        replies = self._left[purpose]
        if not replies:
            yield failed("RECORDING_ENDED", f"no recorded reply is left for another {purpose}")
            return
        for delta in _ended(replies.popleft()):
            yield delta

    async def close(self) -> None:
        """There is nothing to give up."""


def reply_of(data: AssistantData) -> list[Delta]:
    """The deltas of a logged answer, or such as make its message when none were kept."""
    if deltas := expanded(data.stream):
        return _ended(deltas)
    message = data.message
    blocks = [block for block in message.content if isinstance(block, _Said)]
    return _told(blocks, data.usage, message.source.replay_state)


def expanded(stream: Raw) -> list[Delta]:
    """The deltas that the stream records of a log stand for.

    Records that cannot be read are left out; nothing is given for a stream that is no list.
    """
    if not stream:
        return []
    try:
        records = msgspec.json.decode(stream, type=list[Raw])
    except msgspec.MsgspecError:
        return []
    deltas: list[Delta] = []
    for record in records:
        try:
            deltas += msgspec.json.decode(record, type=_Record).deltas()
        except (msgspec.MsgspecError, ValueError):
            continue
    return deltas


class _Texts(msgspec.Struct, frozen=True, tag="text-chunks", tag_field="type"):
    index: int
    texts: tuple[str, ...]

    def deltas(self) -> Iterator[Delta]:
        return (TextDelta(self.index, text) for text in self.texts)


class _Reasonings(msgspec.Struct, frozen=True, tag="reasoning-chunks", tag_field="type"):
    index: int
    texts: tuple[str, ...]

    def deltas(self) -> Iterator[Delta]:
        return (ReasoningDelta(self.index, text) for text in self.texts)


class _Calls(msgspec.Struct, frozen=True, tag="tool-call-chunks", tag_field="type"):
    index: int
    id: str
    args: tuple[str, ...]
    name: str | None = None

    def deltas(self) -> Iterator[Delta]:
        return (ToolCallDelta(self.index, self.id, args, self.name) for args in self.args)


class _Chunk(msgspec.Struct, frozen=True, tag="chunk", tag_field="type"):
    chunk: Delta

    def deltas(self) -> Iterator[Delta]:
        yield self.chunk


_Record = _Texts | _Reasonings | _Calls | _Chunk


def _ended(deltas: Sequence[Delta]) -> list[Delta]:
    """`deltas` up to their first finish; cut short when they have none."""
    for at, delta in enumerate(deltas):
        if isinstance(delta, Finish):
            return list(deltas[: at + 1])
    return [*deltas, _CUT]


def _told(blocks: Sequence[_Said], usage: Usage | None, state: Raw) -> list[Delta]:
    deltas: list[Delta] = []
    for index, block in enumerate(blocks):
        deltas += [BlockStart(index, _KINDS[type(block)]), BlockEnd(index, block)]
    if usage is not None:
        deltas.append(UsageSeen(usage))
    called = any(isinstance(block, ToolCall) for block in blocks)
    return [*deltas, Finish(FinishReason("tool-calls" if called else "stop"), state)]


def _blocks(raw: Raw) -> list[_Said]:
    try:
        return msgspec.json.decode(raw, type=list[_Said])
    except msgspec.MsgspecError:
        return []
