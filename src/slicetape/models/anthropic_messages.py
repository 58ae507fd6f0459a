"""Anthropic messages on the official `anthropic` SDK.

content_block_start, _delta, _stop   blocks: text, thinking, tool_use; others are kept as JSON
signature_delta                      kept byte for byte in the replay state, beside its block
message_start, message_delta         usage (input, cache read, cache written are disjoint)
message_delta.stop_reason            end_turn, stop_sequence, tool_use, max_tokens; anything
else is a failure
error                                ends the stream
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Raw

from slicetape.log.messages import NO_JSON, OtherBlock, Reasoning, Text, ToolCall
from slicetape.log.payloads import Failure, Usage
from slicetape.loop.deltas import (
    BlockEnd,
    BlockStart,
    BlockType,
    Delta,
    Finish,
    FinishKind,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageSeen,
)
from slicetape.loop.protocols import Route
from slicetape.models.failures import clean, failure, of_text
from slicetape.models.keys import Secret
from slicetape.models.transport import SILENCE_S, Broken, Carrier, need

_FINISH: dict[str, FinishKind] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "max-tokens",
}
_WINDOW = "model_context_window_exceeded"


class AnthropicModel:
    """A model behind `POST …/v1/messages`. Nothing is loaded or sent before it is asked."""

    def __init__(self, route: Route, *, url: str, key: Secret, silence: float = SILENCE_S) -> None:
        need("anthropic")
        self._route = route
        self._carrier = Carrier("anthropic", "AsyncAnthropic", url=url, key=key, silence=silence)

    @property
    def route(self) -> Route:
        """Where this model is."""
        return self._route

    async def stream(
        self, body: bytes, *, purpose: Literal["step", "summary"] = "step"
    ) -> AsyncIterator[Delta]:
        """Send one request; its deltas, and one `Finish` at the end."""
        answer = MessagesAnswer(self._carrier.secret)
        try:
            async for _, data in self._carrier.stream("/v1/messages", body):
                for delta in answer.take(data):
                    yield delta
                if answer.done:
                    break
        except Broken as broken:
            yield Finish(FinishReason("error", broken.failure))
            return
        for delta in answer.end():
            yield delta

    async def close(self) -> None:
        """Give up connections."""
        await self._carrier.close()


class _Open:
    """A block of the answer; `first` is how it began."""

    def __init__(self, index: int, first: dict[str, Any]) -> None:
        self.index = index
        self.first = first
        self.kind = str(first.get("type", ""))
        self.parts: list[str] = []
        self.signature = _string(first.get("signature"))
        self.closed = False

    def block(self) -> Text | Reasoning | ToolCall | OtherBlock:
        text = "".join(self.parts)
        if self.kind == "text":
            return Text(text)
        if self.kind == "thinking":
            return Reasoning(text)
        if self.kind == "tool_use":
            return ToolCall(_string(self.first.get("id")), _string(self.first.get("name")), text)
        return OtherBlock(msgspec.json.encode(self.first).decode())

    def replay(self) -> dict[str, str] | None:
        return {"type": "thinking", "signature": self.signature} if self.signature else None


class MessagesAnswer:
    """One answer as its events come in; knows nothing of connections."""

    def __init__(self, secret: str = "") -> None:
        self._secret = secret
        self._blocks: dict[int, _Open] = {}
        self._usage: dict[str, int] = {}
        self._stop: str | None = None
        self._failure: Failure | None = None
        self.done = False

    def take(self, data: str) -> Iterator[Delta]:
        """The deltas of one event."""
        try:
            event = msgspec.json.decode(data)
        except (msgspec.MsgspecError, UnicodeError):
            self._fail("MALFORMED_RESPONSE", "a part of the answer is no JSON")
            return
        if not isinstance(event, dict):
            self._fail("MALFORMED_RESPONSE", "a part of the answer is no object")
            return
        match event.get("type"):
            case "message_start":
                self._count(_object(_object(event.get("message")).get("usage")))
            case "content_block_start":
                yield from self._start(event)
            case "content_block_delta":
                yield from self._delta(event)
            case "content_block_stop":
                yield from self._end(self._blocks.get(_index(event)))
            case "message_delta":
                self._count(_object(event.get("usage")))
                self._stop = _string(_object(event.get("delta")).get("stop_reason")) or self._stop
            case "message_stop":
                self.done = True
            case "error":
                self._report(_object(event.get("error")))

    def end(self) -> Iterator[Delta]:
        """Everything that closes the answer: open blocks, usage, and the finish."""
        for block in self._blocks.values():
            yield from self._end(block)
        if self._usage:
            yield UsageSeen(self._counted())
        yield Finish(self._reason(), self._state())

    def _start(self, event: dict[str, Any]) -> Iterator[Delta]:
        index = _index(event)
        if index in self._blocks:
            return
        block = self._blocks[index] = _Open(index, _object(event.get("content_block")))
        kinds: dict[str, BlockType] = {
            "text": "text",
            "thinking": "reasoning",
            "tool_use": "tool-call",
        }
        yield BlockStart(index, kinds.get(block.kind, "other"))
        said = _string(block.first.get("text")) or _string(block.first.get("thinking"))
        if said:
            yield from self._said(block, said)
        given = block.first.get("input")
        if block.kind == "tool_use" and given:
            yield from self._said(block, msgspec.json.encode(given).decode())

    def _delta(self, event: dict[str, Any]) -> Iterator[Delta]:
        block, delta = self._blocks.get(_index(event)), _object(event.get("delta"))
        if block is None or block.closed:
            return
        block.signature += _string(delta.get("signature"))
        text = (
            _string(delta.get("text"))
            or _string(delta.get("thinking"))
            or _string(delta.get("partial_json"))
        )
        if text:
            yield from self._said(block, text)

    def _said(self, block: _Open, text: str) -> Iterator[Delta]:
        block.parts.append(text)
        if block.kind == "text":
            yield TextDelta(block.index, text)
        elif block.kind == "thinking":
            yield ReasoningDelta(block.index, text)
        elif block.kind == "tool_use":
            id, name = _string(block.first.get("id")), _string(block.first.get("name"))
            yield ToolCallDelta(block.index, id, text, name or None)

    def _end(self, block: _Open | None) -> Iterator[Delta]:
        if block is not None and not block.closed:
            block.closed = True
            yield BlockEnd(block.index, block.block())

    def _count(self, usage: dict[str, Any]) -> None:
        for key, value in usage.items():
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                self._usage[key] = value

    def _counted(self) -> Usage:
        return Usage(
            input_tokens=self._usage.get("input_tokens", 0),
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=self._usage.get("cache_read_input_tokens"),
            cache_write_tokens=self._usage.get("cache_creation_input_tokens"),
        )

    def _state(self) -> Raw:
        """The signatures, one entry for each block in its order; nothing when there are none."""
        entries = [block.replay() for block in self._blocks.values()]
        if not any(entries):
            return NO_JSON
        return Raw(msgspec.json.encode({"blocks": entries}))

    def _report(self, error: dict[str, Any]) -> None:
        kind, message = _string(error.get("type")), _string(error.get("message"))
        self._failure = self._failure or of_text(message, kind, secret=self._secret)
        self.done = True

    def _fail(self, code: str, message: str) -> None:
        self._failure = self._failure or failure(code, message)
        self.done = True

    def _reason(self) -> FinishReason:
        if self._failure is not None:
            return FinishReason("error", self._failure)
        if self._stop is None:
            text = "the stream ended before the answer did"
            return FinishReason("error", failure("STREAM_CLOSED", text))
        if self._stop == _WINDOW:
            text = "the model's window is full"
            return FinishReason("error", failure("CONTEXT_WINDOW_EXCEEDED", text))
        kind = _FINISH.get(self._stop)
        if kind is None:
            text = f"the provider ended the answer with {self._stop[:80]!r}"
            return FinishReason("error", failure(clean(self._stop).upper()[:64], text))
        if kind == "stop" and not self._blocks:
            text = "the model ended its answer without saying anything"
            return FinishReason("error", failure("EMPTY_RESPONSE", text))
        return FinishReason(kind)


def _index(event: dict[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else 0


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
