"""Replies as the two wires stream them: server-sent events, a few characters at a time."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from slicetape.prices.cache import Charge
from slicetape.testing.replies import Reply

STEP = 24
"""Characters of one delta."""

CUT = object()
"""Where the connection breaks."""

_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
Parts = Iterator[bytes | object]


def chat_stream(reply: Reply, usage: Mapping[str, Any], model: str) -> Parts:
    """A chat-completions stream."""

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event({"object": "chat.completion.chunk", "model": model, "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    if reply.fault == "malformed":
        yield b'data: {"choices": [{"delta": {"content": \n\n'
    if reply.fault != "empty":
        for part in _parts(reply.reasoning):
            yield chunk({"reasoning_content": part})
        for part in _parts(reply.text):
            yield chunk({"content": part})
            if reply.fault == "cut":
                yield CUT
        for index, asked in enumerate(reply.tools):
            first = {"name": asked.name, "arguments": ""}
            yield chunk({"tool_calls": [{"index": index, "id": asked.id, "function": first}]})
            for part in _parts(asked.raw):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
                if reply.fault == "cut-call":
                    yield CUT
    yield chunk({}, "stop" if reply.fault == "empty" else reply.ending)
    yield _event({"object": "chat.completion.chunk", "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def messages_stream(reply: Reply, usage: Mapping[str, Any], model: str) -> Parts:
    """A stream of the Messages wire."""
    start = {**usage, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model}
    yield _named("message_start", message={**message, "content": [], "usage": start})
    index = 0
    if reply.fault == "malformed":
        yield b'event: content_block_delta\ndata: {"type": \n\n'
    if reply.fault != "empty":
        for kind, key, text in (
            ("thinking", "thinking", reply.reasoning),
            ("text", "text", reply.text),
        ):
            if not text:
                continue
            first = {"type": kind, key: "", **({"signature": ""} if kind == "thinking" else {})}
            yield _named("content_block_start", index=index, content_block=first)
            for part in _parts(text):
                yield _delta(index, {"type": f"{kind}_delta", key: part})
                if reply.fault == "cut":
                    yield CUT
            if kind == "thinking":
                signed = {"type": "signature_delta", "signature": f"signed:{len(text)}"}
                yield _delta(index, signed)
            yield _named("content_block_stop", index=index)
            index += 1
        for asked in reply.tools:
            call: dict[str, Any] = {
                "type": "tool_use",
                "id": asked.id,
                "name": asked.name,
                "input": {},
            }
            yield _named("content_block_start", index=index, content_block=call)
            for part in _parts(asked.raw):
                yield _delta(index, {"type": "input_json_delta", "partial_json": part})
                if reply.fault == "cut-call":
                    yield CUT
            yield _named("content_block_stop", index=index)
            index += 1
    stop = "end_turn" if reply.fault == "empty" else _STOPS[reply.ending]
    done = {"output_tokens": usage["output_tokens"]}
    yield _named("message_delta", delta={"stop_reason": stop}, usage=done)
    yield _named("message_stop")


def chat_usage(charge: Charge, output: int) -> dict[str, Any]:
    """The usage of a chat answer, as DeepSeek and OpenAI name it."""
    prompt = charge.cached + charge.written + charge.fresh
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_cache_hit_tokens": charge.cached,
        "prompt_cache_miss_tokens": prompt - charge.cached,
        "prompt_tokens_details": {"cached_tokens": charge.cached},
    }


def messages_usage(charge: Charge, output: int) -> dict[str, Any]:
    """The usage of a Messages answer: three disjoint counts of the input."""
    return {
        "input_tokens": charge.fresh,
        "cache_creation_input_tokens": charge.written,
        "cache_read_input_tokens": charge.cached,
        "output_tokens": output,
    }


def _parts(text: str) -> Iterator[str]:
    return (text[at : at + STEP] for at in range(0, len(text), STEP))


def _delta(index: int, delta: Mapping[str, Any]) -> bytes:
    return _named("content_block_delta", index=index, delta=delta)


def _named(kind: str, **rest: Any) -> bytes:
    return f"event: {kind}\n".encode() + _event({"type": kind, **rest})


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"
