"""One answer of the chat wire, chunk by chunk, to deltas; knows nothing of connections.

    delta.reasoning_content, delta.reasoning   a reasoning block; an empty first one opens nothing
    delta.content, delta.refusal               a text block
    delta.tool_calls[i]                        a call; its id and name are the first that are not
                                               empty, later ones never clear them
    usage                                      held until the end
    finish_reason                              stop, tool_calls, length; anything else is a failure

Some servers never send `[DONE]`: an answer without it is whole when both its finish reason and its
usage have come, and closed too early otherwise. Calls without a place, and calls that share one
(each with an id and a name of its own), are told apart by their ids.
"""

from collections.abc import Generator, Iterator
from typing import Any, Literal

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
from slicetape.models.failures import ended_with, failure, of_error
from slicetape.models.reading import (
    Mended,
    as_count,
    as_object,
    as_string,
    decoded,
    json_text,
)

Kind = Literal["text", "reasoning", "tool-call"]
_FINISH: dict[str, FinishKind] = {
    "stop": "stop",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "length": "max-tokens",
}


class _Open:
    """A block of the answer that is being streamed."""

    __slots__ = ("half", "id", "index", "kind", "name", "parts")

    def __init__(self, index: int, kind: Kind) -> None:
        self.index = index
        self.kind: Kind = kind
        self.parts: list[str] = []
        self.half = Mended()
        self.id = ""
        self.name = ""

    def more(self, text: str) -> Delta:
        """`text` taken in, as a delta."""
        self.parts.append(text)
        if self.kind == "tool-call":
            return ToolCallDelta(self.index, self.id, text, self.name or None)
        if self.kind == "reasoning":
            return ReasoningDelta(self.index, text)
        return TextDelta(self.index, text)

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
        self._calls: dict[int | str, _Open] = {}
        self._last_call: _Open | None = None
        self._usage: Usage | None = None
        self._finish: str | None = None
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
        if data.strip() == "[DONE]":
            self._terminated = True
            return
        chunk = decoded(data)
        if chunk is None:
            self.fail(failure("MALFORMED_RESPONSE", "a part of the answer is no JSON object"))
            return
        if chunk.get("error"):
            self.fail(of_error(chunk["error"], secret=self._secret))
            return
        self._usage = usage_of(chunk.get("usage")) or self._usage
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices:
            yield from self._choice(as_object(choices[0]))

    def end(self) -> Iterator[Delta]:
        """Everything that closes the answer: open blocks, usage, and the finish."""
        reason = self._reason()
        if reason.failure is None:
            for block in self._open:
                if rest := block.half.rest():
                    yield block.more(rest)
                yield BlockEnd(block.index, block.block())
        if self._usage is not None:
            yield UsageSeen(self._usage)
        yield Finish(reason)

    def fail(self, failure: Failure) -> None:
        """The answer ends with `failure`, unless it has failed before."""
        self._failure = self._failure or failure

    def _choice(self, choice: dict[str, Any]) -> Iterator[Delta]:
        delta = as_object(choice.get("delta") or choice.get("message"))
        yield from self._said("reasoning", delta.get("reasoning_content") or delta.get("reasoning"))
        yield from self._said("text", delta.get("content"))
        yield from self._said("text", delta.get("refusal"))
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                yield from self._call(call)
        self._finish = as_string(choice.get("finish_reason")) or self._finish

    def _said(self, kind: Kind, value: object) -> Iterator[Delta]:
        if not isinstance(value, str) or not value:
            return
        last = self._open[-1] if self._open else None
        if last is None or last.kind != kind:
            last = yield from self._begin(kind)
        if text := last.half.take(value):
            yield last.more(text)

    def _call(self, call: dict[str, Any]) -> Iterator[Delta]:
        function = as_object(call.get("function"))
        id, name = as_string(call.get("id")), as_string(function.get("name"))
        place = as_count(call.get("index"))
        block = self._known_call(place, id, name)
        if block is None:
            block = yield from self._begin("tool-call")
        if place is not None:
            self._calls[place] = block
        if id:
            self._calls[id] = block
        self._last_call = block
        block.id, block.name = block.id or id, block.name or name
        given = function.get("arguments")
        if given is not None and not isinstance(given, str):
            given = json_text(given)
        yield block.more(block.half.take(given))

    def _known_call(self, place: int | None, id: str, name: str) -> _Open | None:
        """The call that a part belongs to; None when it begins one."""
        if place is None:
            block = self._calls.get(id) if id else self._last_call
            return None if block is not None and not id and name and block.name else block
        block = self._calls.get(place)
        if block is not None and id and name and block.id and id != block.id:
            return self._calls.get(id)
        return block

    def _begin(self, kind: Kind) -> Generator[Delta, None, _Open]:
        block = _Open(len(self._open), kind)
        self._open.append(block)
        yield BlockStart(block.index, kind)
        return block

    def _reason(self) -> FinishReason:
        if self._failure is None:
            self._failure = self._shortcoming()
        if self._failure is not None:
            return FinishReason("error", self._failure)
        return FinishReason(_FINISH[self._finish or ""])

    def _shortcoming(self) -> Failure | None:
        """Why the answer does not count, if it does not."""
        if not self._terminated and (self._finish is None or self._usage is None):
            return failure("STREAM_CLOSED", "the stream ended before the answer did")
        if self._finish is None:
            return failure("MALFORMED_RESPONSE", "the answer ended without saying why")
        if self._finish not in _FINISH:
            return ended_with(self._finish, secret=self._secret)
        if _FINISH[self._finish] == "stop" and not self._open:
            text = "the model ended its answer without saying anything"
            return failure("EMPTY_RESPONSE", text)
        return None


def usage_of(usage: object) -> Usage | None:
    """Disjoint counts of a `usage` object; None when there is none that can be read."""
    counts = as_object(usage)
    prompt, output = (
        as_count(counts.get("prompt_tokens")),
        as_count(counts.get("completion_tokens")),
    )
    if prompt is None or output is None:
        return None
    details = as_object(counts.get("prompt_tokens_details"))
    cached = as_count(details.get("cached_tokens"))
    if cached is None:
        cached = as_count(counts.get("prompt_cache_hit_tokens"))
    written = as_count(details.get("cache_write_tokens"))
    if written is None:
        written = as_count(details.get("cache_creation_tokens"))
    total = as_count(counts.get("total_tokens"))
    cached = None if cached is None else min(cached, prompt)
    written = None if written is None else min(written, prompt - (cached or 0))
    return Usage(
        input_tokens=prompt - (cached or 0) - (written or 0),
        output_tokens=output,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=as_count(
            as_object(counts.get("completion_tokens_details")).get("reasoning_tokens")
        ),
        total_tokens=total if total == prompt + output else None,
    )
