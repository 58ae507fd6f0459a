"""Anthropic messages: a request's `messages` with `system` beside them, or the bare list.

A user message that holds tool results continues the turn; text beside them is a note.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from slicetape.formats.decoding import decoder
from slicetape.formats.documents import documents, events_of, numbered, outcome
from slicetape.formats.media import Attachments
from slicetape.formats.parts import Content, Part, block, blocks, schemas
from slicetape.formats.recorder import Answer, Recorder, Route, plugin
from slicetape.formats.session import ImportedSession, header
from slicetape.formats.source import Transcript
from slicetape.formats.usages import messages_usage
from slicetape.formats.values import arguments, epoch_ms

FORMAT = "anthropic-messages"


class _Message(msgspec.Struct):
    role: str = ""
    content: Content = None
    model: str | None = None
    usage: Any = None
    stop_reason: str | None = None
    ts: float | None = None


class _Request(msgspec.Struct):
    messages: list[_Message]
    system: Content = None
    tools: list[Any] | None = None
    model: str | None = None
    max_tokens: int | None = None
    usage: Any = None


_decode = decoder(_Request | list[_Message])  # type: ignore[arg-type]


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """The session of the file, or one of each line."""
    for id, document in numbered(transcript.name, documents(transcript, _decode)):
        request = _Request(list(document)) if isinstance(document, list) else document
        times = (epoch_ms(message.ts) for message in request.messages)
        created_at = next((time for time in times if time), 0)
        recorder = Recorder(id, created_at=created_at)
        said = _record(request, recorder, transcript.attachments)
        head = header(id, created_at=created_at)
        yield ImportedSession(id, FORMAT, head, events_of(recorder, said))


def _record(request: _Request, recorder: Recorder, keep: Attachments) -> Iterator[None]:
    tools = schemas(request.tools)
    recorder.route(
        Route("anthropic", request.model or "", max_tokens=request.max_tokens, tools=tools)
    )
    if request.system:
        recorder.system(blocks(request.system, keep))
    for number, message in enumerate(request.messages, 1):
        recorder.at(number, epoch_ms(message.ts))
        if message.role == "user":
            _user(message, recorder, keep)
        elif message.role == "assistant":
            _assistant(message, recorder, keep)
        else:
            content = blocks(message.content, keep)
            recorder.keep("x/message", {"role": message.role, "content": content})
        yield
    outcome(recorder, {"usage": request.usage})


def _user(message: _Message, recorder: Recorder, keep: Attachments) -> None:
    content = message.content
    parts = [Part("text", text=content)] if isinstance(content, str) else content or []
    results = [part for part in parts if part.type == "tool_result"]
    for part in results:
        answer = Answer(blocks(part.content, keep), is_error=part.is_error or False)
        recorder.result(part.tool_use_id or "", answer)
    said = tuple(block(part, keep) for part in parts if part.type != "tool_result")
    if not results:
        recorder.turn(said)
    elif said:
        recorder.note(said, source=plugin(f"{FORMAT}:with-result"))


def _assistant(message: _Message, recorder: Recorder, keep: Attachments) -> None:
    recorder.step(model=message.model or "", usage=messages_usage(message.usage))
    content = message.content
    for part in [Part("text", text=content)] if isinstance(content, str) else content or ():
        if part.type == "tool_use":
            given = {} if part.input is None else part.input
            recorder.call(part.id or "", part.name or "", arguments(given))
        elif part.text != "":
            state = {"signature": part.signature} if part.signature else None
            recorder.say(block(part, keep), state=state)
    if message.stop_reason == "max_tokens":
        recorder.stop("max-tokens")
