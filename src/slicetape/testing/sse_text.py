"""Replies as the two wires stream them: server-sent events, a few characters at a time."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from slicetape.testing.answers import Answer
from slicetape.testing.replies import Asked

STEP = 24
"""Characters of one delta."""

CUT: Final = "cut"
"""Where the connection breaks."""

STALL: Final = "stall"
"""Where nothing more comes."""

Parts = Iterator[bytes | str]
Json = Mapping[str, Any]


def chat_stream(answer: Answer) -> Parts:
    """A chat-completions stream; usage only where the request asks for it."""
    reply = answer.reply
    yield _chunk(answer, {"role": "assistant", "content": ""})
    if reply.fault == "malformed":
        yield b'data: {"choices": [{"delta": {"content": \n\n'
    if reply.fault != "empty":
        for part in parts(reply.reasoning):
            yield _chunk(answer, {"reasoning_content": part})
        for part in parts(reply.text):
            yield _chunk(answer, {"content": part})
            yield from _broken(reply.fault)
        for index, asked in enumerate(reply.tools):
            yield from _chat_call(answer, index, asked)
    if reply.fault in ("cut", "stall"):
        yield from _broken(reply.fault)
    yield _chunk(answer, {}, "stop" if reply.fault == "empty" else reply.ending)
    if answer.streams_usage:
        yield _event({**_frame(answer), "choices": [], "usage": answer.chat_usage()})
    yield b"data: [DONE]\n\n"


def messages_stream(answer: Answer) -> Parts:
    """A stream of the Messages wire."""
    reply = answer.reply
    start = {**answer.messages_usage(), "output_tokens": 1}
    message = answer.messages_head()
    yield _named("message_start", message={**message, "stop_reason": None, "usage": start})
    if reply.fault == "malformed":
        yield b'event: content_block_delta\ndata: {"type": \n\n'
    if reply.fault != "empty":
        index = 0
        for kind, text in (("thinking", reply.reasoning), ("text", reply.text)):
            if text:
                yield from _said(index, kind, text, reply.fault)
                index += 1
        for asked in reply.tools:
            yield from _messages_call(index, asked, reply.fault)
            index += 1
    if reply.fault in ("cut", "stall"):
        yield from _broken(reply.fault)
    end = {"stop_reason": answer.stop_reason, "stop_sequence": None}
    yield _named("message_delta", delta=end, usage={"output_tokens": answer.bill.output})
    yield _named("message_stop")


def parts(text: str) -> Iterator[str]:
    """The text in pieces as they are streamed."""
    return (text[at : at + STEP] for at in range(0, len(text), STEP))


def _broken(fault: str) -> Iterator[str]:
    if fault == "cut":
        yield CUT
    elif fault == "stall":
        yield STALL


def _chat_call(answer: Answer, index: int, asked: Asked) -> Parts:
    first = {"name": asked.name, "arguments": ""}
    whole = {"index": index, "id": asked.id, "type": "function", "function": first}
    yield _chunk(answer, {"tool_calls": [whole]})
    for part in parts(asked.raw):
        more = {"index": index, "function": {"arguments": part}}
        yield _chunk(answer, {"tool_calls": [more]})
        if answer.reply.fault == "cut-call":
            yield CUT


def _said(index: int, kind: str, text: str, fault: str) -> Parts:
    """A block of text or thinking."""
    first = {"type": kind, kind: "", **({"signature": ""} if kind == "thinking" else {})}
    yield _named("content_block_start", index=index, content_block=first)
    for part in parts(text):
        yield _delta(index, {"type": f"{kind}_delta", kind: part})
        if kind == "text":
            yield from _broken(fault)
    if kind == "thinking":
        yield _delta(index, {"type": "signature_delta", "signature": f"signed:{len(text)}"})
    yield _named("content_block_stop", index=index)


def _messages_call(index: int, asked: Asked, fault: str) -> Parts:
    empty: Json = {}
    call = {"type": "tool_use", "id": asked.id, "name": asked.name, "input": empty}
    yield _named("content_block_start", index=index, content_block=call)
    for part in parts(asked.raw):
        yield _delta(index, {"type": "input_json_delta", "partial_json": part})
        if fault == "cut-call":
            yield CUT
    yield _named("content_block_stop", index=index)


def _chunk(answer: Answer, delta: Json, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event({**_frame(answer), "choices": [choice]})


def _frame(answer: Answer) -> dict[str, Any]:
    return {**answer.chat_head(), "object": "chat.completion.chunk"}


def _delta(index: int, delta: Json) -> bytes:
    return _named("content_block_delta", index=index, delta=delta)


def _named(kind: str, **rest: Any) -> bytes:
    return f"event: {kind}\n".encode() + _event({"type": kind, **rest})


def _event(value: Json) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n"
