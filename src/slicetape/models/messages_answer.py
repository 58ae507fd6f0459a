"""One answer of the Messages wire, event by event, to deltas; knows nothing of connections.

    content_block_start, _delta, _stop   blocks: text, thinking, tool_use; others are kept as JSON
    signature_delta                      kept byte for byte in the replay state, beside its block
    message_start, message_delta         usage: input, cache read and cache written are disjoint
    message_delta.stop_reason            end_turn, stop_sequence, tool_use, max_tokens; anything
                                         else is a failure
    error                                ends the stream

An answer without `message_stop` is whole when its stop reason has come: the usage comes with it.
A block without a number is the last one begun, or one more.
"""

from collections.abc import Iterator
from typing import Any

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
from slicetape.models.failures import ended_with, failure, of_error
from slicetape.models.reading import (
    Mended,
    as_count,
    as_object,
    as_string,
    decoded,
    json_text,
)

_KINDS: dict[str, BlockType] = {"text": "text", "thinking": "reasoning", "tool_use": "tool-call"}
_FINISH: dict[str, FinishKind] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "max-tokens",
}
_ENDINGS = {
    "model_context_window_exceeded": failure(
        "CONTEXT_WINDOW_EXCEEDED", "the answer ran into the end of the model's window"
    ),
    "refusal": failure("REFUSAL", "the model refused to answer"),
    "pause_turn": failure("PAUSE_TURN", "the provider paused the answer; send the request again"),
}


class _Open:
    """A block of the answer; `first` is how it began."""

    __slots__ = ("closed", "first", "half", "index", "kind", "parts", "signature")

    def __init__(self, index: int, first: dict[str, Any]) -> None:
        self.index = index
        self.first = first
        self.kind = _KINDS.get(as_string(first.get("type")), "other")
        self.parts: list[str] = []
        self.half = Mended()
        self.signature = as_string(first.get("signature"))
        self.closed = False

    def more(self, text: str) -> Iterator[Delta]:
        """`text` taken in, and as a delta."""
        self.parts.append(text)
        match self.kind:
            case "text":
                yield TextDelta(self.index, text)
            case "reasoning":
                yield ReasoningDelta(self.index, text)
            case "tool-call":
                id, name = as_string(self.first.get("id")), as_string(self.first.get("name"))
                yield ToolCallDelta(self.index, id, text, name or None)

    def block(self) -> Text | Reasoning | ToolCall | OtherBlock:
        text = "".join(self.parts)
        match self.kind:
            case "text":
                return Text(text)
            case "reasoning":
                return Reasoning(text)
            case "tool-call":
                first = self.first
                return ToolCall(as_string(first.get("id")), as_string(first.get("name")), text)
        return OtherBlock(json_text(self.first))

    def replay(self) -> dict[str, str] | None:
        """What the provider wants back with the block."""
        return {"type": "thinking", "signature": self.signature} if self.signature else None


class MessagesAnswer:
    """One answer as its events come in; knows nothing of connections."""

    def __init__(self, secret: str = "") -> None:
        self._secret = secret
        self._blocks: dict[int, _Open] = {}
        self._next = 0
        self._usage: dict[str, int] = {}
        self._stop: str | None = None
        self._failure: Failure | None = None
        self._terminated = False

    @property
    def done(self) -> bool:
        """Whether nothing more is expected."""
        return self._terminated or self._failure is not None

    def take(self, data: str) -> Iterator[Delta]:
        """The deltas of one event."""
        if self.done or not data.strip():
            return
        event = decoded(data)
        if event is None:
            self.fail(failure("MALFORMED_RESPONSE", "a part of the answer is no JSON object"))
            return
        match event.get("type"):
            case "message_start":
                self._count(as_object(as_object(event.get("message")).get("usage")))
            case "content_block_start":
                yield from self._start(event)
            case "content_block_delta":
                yield from self._delta(event)
            case "content_block_stop":
                yield from self._end(self._named(event))
            case "message_delta":
                self._count(as_object(event.get("usage")))
                reason = as_string(as_object(event.get("delta")).get("stop_reason"))
                self._stop = reason or self._stop
            case "message_stop":
                self._terminated = True
            case "error":
                request_id = as_string(event.get("request_id"))
                error = event.get("error")
                self.fail(of_error(error, secret=self._secret, request_id=request_id))

    def end(self) -> Iterator[Delta]:
        """Everything that closes the answer: open blocks, usage, and the finish."""
        reason = self._reason()
        if reason.failure is None:
            for block in self._blocks.values():
                yield from self._end(block)
        if self._usage:
            yield UsageSeen(self._counted())
        yield Finish(reason, self._state() if reason.failure is None else NO_JSON)

    def fail(self, failure: Failure) -> None:
        """The answer ends with `failure`, unless it has failed before."""
        self._failure = self._failure or failure

    def _named(self, event: dict[str, Any]) -> _Open | None:
        place = as_count(event.get("index"))
        if place is not None:
            return self._blocks.get(place)
        return next(reversed(self._blocks.values()), None)

    def _start(self, event: dict[str, Any]) -> Iterator[Delta]:
        index = as_count(event.get("index"))
        if index is None:
            index = self._next
        if index in self._blocks:
            return
        self._next = max(self._next, index + 1)
        block = self._blocks[index] = _Open(index, as_object(event.get("content_block")))
        yield BlockStart(index, block.kind)
        for key in ("text", "thinking"):
            if said := block.half.take(block.first.get(key)):
                yield from block.more(said)
        given = block.first.get("input")
        if block.kind == "tool-call" and given:
            yield from block.more(json_text(given))

    def _delta(self, event: dict[str, Any]) -> Iterator[Delta]:
        block, delta = self._named(event), as_object(event.get("delta"))
        if block is None or block.closed:
            return
        block.signature += as_string(delta.get("signature"))
        for key in ("text", "thinking", "partial_json"):
            if said := block.half.take(delta.get(key)):
                yield from block.more(said)

    def _end(self, block: _Open | None) -> Iterator[Delta]:
        if block is None or block.closed:
            return
        if rest := block.half.rest():
            yield from block.more(rest)
        block.closed = True
        yield BlockEnd(block.index, block.block())

    def _count(self, usage: dict[str, Any]) -> None:
        thought = as_object(usage.get("output_tokens_details")).get("thinking_tokens")
        for key, value in (*usage.items(), ("thinking_tokens", thought)):
            if (count := as_count(value)) is not None:
                self._usage[key] = count

    def _counted(self) -> Usage:
        return Usage(
            input_tokens=self._usage.get("input_tokens", 0),
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=self._usage.get("cache_read_input_tokens"),
            cache_write_tokens=self._usage.get("cache_creation_input_tokens"),
            reasoning_tokens=self._usage.get("thinking_tokens"),
        )

    def _state(self) -> Raw:
        """The signatures, one entry for each block in its order; nothing when there are none."""
        entries = [block.replay() for block in self._blocks.values()]
        if not any(entries):
            return NO_JSON
        return Raw(msgspec.json.encode({"blocks": entries}))

    def _reason(self) -> FinishReason:
        if self._failure is None:
            self._failure = self._shortcoming()
        if self._failure is not None:
            return FinishReason("error", self._failure)
        return FinishReason(_FINISH[self._stop or ""])

    def _shortcoming(self) -> Failure | None:
        """Why the answer does not count, if it does not."""
        if self._stop is None:
            if self._terminated:
                return failure("MALFORMED_RESPONSE", "the answer ended without saying why")
            return failure("STREAM_CLOSED", "the stream ended before the answer did")
        if self._stop not in _FINISH:
            return _ENDINGS.get(self._stop) or ended_with(self._stop, secret=self._secret)
        if _FINISH[self._stop] == "stop" and not self._blocks:
            text = "the model ended its answer without saying anything"
            return failure("EMPTY_RESPONSE", text)
        return None
