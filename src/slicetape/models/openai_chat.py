"""Chat completions on the official `openai` SDK: DeepSeek, OpenAI, and every server that speaks it.

The SDK carries the bytes that the wire made; what comes back becomes deltas:

    delta.reasoning_content, delta.reasoning   a reasoning block; an empty first one opens nothing
    delta.content, delta.refusal               a text block
    delta.tool_calls[i]                        a call; its id and name are the first that are not
                                               empty, later ones never clear them
    usage                                      held until the end
    finish_reason                              stop, tool_calls, length; anything else is a failure

A stream that was finished and closed without `[DONE]` counts when a finish reason was seen.
"""

from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any, Literal

import msgspec

from slicetape.log.messages import Reasoning, Text, ToolCall
from slicetape.log.payloads import Failure, Usage
from slicetape.loop.deltas import (
    BlockEnd,
    BlockStart,
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
    "stop": "stop",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "length": "max-tokens",
}


class ChatModel:
    """A model behind `POST …/chat/completions`. Nothing is loaded or sent before it is asked."""

    def __init__(self, route: Route, *, url: str, key: Secret, silence: float = SILENCE_S) -> None:
        need("openai")
        self._route = route
        self._carrier = Carrier("openai", "AsyncOpenAI", url=url, key=key, silence=silence)

    @property
    def route(self) -> Route:
        """Where this model is."""
        return self._route

    async def stream(
        self, body: bytes, *, purpose: Literal["step", "summary"] = "step"
    ) -> AsyncIterator[Delta]:
        """Send one request; its deltas, and one `Finish` at the end."""
        answer = ChatAnswer(self._carrier.secret)
        try:
            async for _, data in self._carrier.stream("/chat/completions", body):
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
    """A block of the answer that is being streamed."""

    def __init__(self, index: int, kind: Literal["text", "reasoning", "tool-call"]) -> None:
        self.index = index
        self.kind: Literal["text", "reasoning", "tool-call"] = kind
        self.parts: list[str] = []
        self.id = ""
        self.name = ""

    def block(self) -> Text | Reasoning | ToolCall:
        text = "".join(self.parts)
        if self.kind == "tool-call":
            return ToolCall(self.id, self.name, text)
        return Reasoning(text) if self.kind == "reasoning" else Text(text)


class ChatAnswer:
    """One answer as its chunks come in; knows nothing of connections."""

    def __init__(self, secret: str = "") -> None:
        self._secret = secret
        self._open: list[_Open] = []
        self._calls: dict[object, _Open] = {}
        self._count = 0
        self._usage: Usage | None = None
        self._finish: str | None = None
        self._failure: Failure | None = None
        self.done = False

    def take(self, data: str) -> Iterator[Delta]:
        """The deltas of one event."""
        if data.strip() == "[DONE]":
            self.done = True
            return
        try:
            chunk = msgspec.json.decode(data)
        except (msgspec.MsgspecError, UnicodeError):
            self._fail("MALFORMED_RESPONSE", "a part of the answer is no JSON")
            return
        if not isinstance(chunk, dict):
            self._fail("MALFORMED_RESPONSE", "a part of the answer is no object")
            return
        if chunk.get("error"):
            self._report(chunk["error"])
            return
        self._usage = usage_of(chunk.get("usage")) or self._usage
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            yield from self._choice(choices[0])

    def end(self) -> Iterator[Delta]:
        """Everything that closes the answer: open blocks, usage, and the finish."""
        for block in self._open:
            yield BlockEnd(block.index, block.block())
        if self._usage is not None:
            yield UsageSeen(self._usage)
        yield Finish(self._reason())

    def _choice(self, choice: dict[str, Any]) -> Iterator[Delta]:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            reasoning = delta.get("reasoning_content") or delta.get("reasoning")
            if isinstance(reasoning, str) and reasoning:
                yield from self._more("reasoning", reasoning)
            for key in ("content", "refusal"):
                text = delta.get(key)
                if isinstance(text, str) and text:
                    yield from self._more("text", text)
            calls = delta.get("tool_calls")
            if isinstance(calls, list):
                for place, call in enumerate(calls):
                    if isinstance(call, dict):
                        yield from self._call(place, call)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish = reason

    def _more(self, kind: Literal["text", "reasoning"], text: str) -> Iterator[Delta]:
        last = self._open[-1] if self._open else None
        if last is None or last.kind != kind:
            last = yield from self._begin(kind)
        last.parts.append(text)
        make = TextDelta if kind == "text" else ReasoningDelta
        yield make(last.index, text)

    def _call(self, place: int, call: dict[str, Any]) -> Iterator[Delta]:
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        name, id, args = function.get("name"), call.get("id"), function.get("arguments")
        name = name if isinstance(name, str) else ""
        id = id if isinstance(id, str) else ""
        args = args if isinstance(args, str) else _as_text(args)
        index = call.get("index")
        key: object = index if isinstance(index, int) else (id or place)
        block = self._calls.get(key)
        if block is None:
            block = yield from self._begin("tool-call")
            self._calls[key] = block
        block.id = block.id or id
        block.name = block.name or name
        block.parts.append(args)
        yield ToolCallDelta(block.index, block.id, args, block.name or None)

    def _begin(
        self, kind: Literal["text", "reasoning", "tool-call"]
    ) -> Generator[Delta, None, _Open]:
        block = _Open(self._count, kind)
        self._count += 1
        self._open.append(block)
        yield BlockStart(block.index, kind)
        return block

    def _report(self, error: object) -> None:
        if isinstance(error, dict):
            kind = str(error.get("type") or error.get("code") or "")
            message = str(error.get("message") or kind)
        else:
            kind, message = "", str(error)
        self._failure = self._failure or of_text(message, kind, secret=self._secret)
        self.done = True

    def _fail(self, code: str, message: str) -> None:
        self._failure = self._failure or failure(code, message)
        self.done = True

    def _reason(self) -> FinishReason:
        if self._failure is not None:
            return FinishReason("error", self._failure)
        if self._finish is None:
            text = "the stream ended before the answer did"
            return FinishReason("error", failure("STREAM_CLOSED", text))
        kind = _FINISH.get(self._finish)
        if kind is None:
            code = clean(self._finish).upper().replace("-", "_")[:64]
            text = f"the provider ended the answer with {self._finish[:80]!r}"
            return FinishReason("error", failure(code, text))
        if kind == "stop" and not self._open:
            text = "the model ended its answer without saying anything"
            return FinishReason("error", failure("EMPTY_RESPONSE", text))
        return FinishReason(kind)


def usage_of(usage: object) -> Usage | None:
    """Disjoint counts of a `usage` object; None when there is none that can be read."""
    if not isinstance(usage, dict):
        return None
    prompt, output = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or output is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    written = _count(details.get("cache_write_tokens")) if isinstance(details, dict) else None
    if cached is None:
        cached = _count(usage.get("prompt_cache_hit_tokens"))
    more = usage.get("completion_tokens_details")
    reasoning = _count(more.get("reasoning_tokens")) if isinstance(more, dict) else None
    total = _count(usage.get("total_tokens"))
    fresh = max(0, prompt - (cached or 0) - (written or 0))
    return Usage(
        input_tokens=fresh,
        output_tokens=output,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
        total_tokens=total if total == prompt + output else None,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _as_text(value: object) -> str:
    """Arguments that a server sends as an object instead of a string."""
    return "" if value is None else msgspec.json.encode(value).decode()
