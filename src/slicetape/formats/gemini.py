"""Gemini CLI chats: one document, calls and their results inside the message that made them."""

from collections.abc import Iterator
from typing import Any

import msgspec

from slicetape.formats.decoding import decoder
from slicetape.formats.media import Attachments, picture_base64
from slicetape.formats.pending import ResultBlock
from slicetape.formats.recorder import Answer, Recorder, Route
from slicetape.formats.session import ImportedSession, header
from slicetape.formats.source import Transcript
from slicetape.formats.values import arguments, epoch_ms, other, text
from slicetape.log.events import Event
from slicetape.log.messages import Reasoning, Text
from slicetape.log.payloads import Usage

FORMAT = "gemini-cli"


class _Blob(msgspec.Struct, rename="camel"):
    mime_type: str | None = None
    data: str = ""


class _Response(msgspec.Struct):
    response: Any = None


class _Part(msgspec.Struct, rename="camel", omit_defaults=True):
    text: str | None = None
    inline_data: _Blob | None = None
    function_response: _Response | None = None
    file_data: Any = None


class _Thought(msgspec.Struct):
    subject: str = ""
    description: str = ""


class _Call(msgspec.Struct):
    id: str = ""
    name: str = ""
    args: Any = None
    result: "str | list[_Part | str] | None" = None
    status: str | None = None


class _Tokens(msgspec.Struct):
    input: int = 0
    output: int = 0
    cached: int = 0
    thoughts: int = 0


class _Message(msgspec.Struct, rename="camel"):
    type: str
    id: str = ""
    timestamp: str | None = None
    content: "str | list[_Part | str] | None" = None
    thoughts: list[_Thought] | None = None
    model: str = ""
    tool_calls: list[_Call] | None = None
    tokens: _Tokens | None = None


class _Document(msgspec.Struct, rename="camel"):
    session_id: str
    messages: list[_Message]
    start_time: str | None = None


_decode = decoder(_Document)


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """The one session of the document."""
    document = transcript.document(_decode)
    head = header(transcript.name, created_at=epoch_ms(document.start_time) or 0)
    events = _events(document, head.created_at, transcript)
    yield ImportedSession(transcript.name, FORMAT, head, events)


def _events(document: _Document, created_at: int, transcript: Transcript) -> Iterator[Event]:
    recorder = Recorder(transcript.name, created_at=created_at)
    recorder.route(Route("google", ""))
    reader = _Reader(recorder, transcript.attachments)
    for number, message in enumerate(document.messages, 1):
        recorder.at(number, epoch_ms(message.timestamp))
        reader.feed(message)
        yield from recorder.take()
    recorder.end()
    yield from recorder.take()


class _Reader:
    def __init__(self, recorder: Recorder, attachments: Attachments) -> None:
        self._recorder = recorder
        self._keep = attachments

    def feed(self, message: _Message) -> None:
        recorder = self._recorder
        if message.type == "user":
            recorder.turn(self._blocks(message.content) or (Text(""),), id=message.id)
        elif message.type == "gemini":
            self._said(message)
        else:
            said = "\n".join(b.text for b in self._blocks(message.content) if isinstance(b, Text))
            if message.type == "error":
                recorder.stop("error", message=said)
            kind = "x/error" if message.type == "error" else "x/info"
            recorder.keep(kind, {"type": message.type, "text": said})

    def _said(self, message: _Message) -> None:
        recorder = self._recorder
        usage = _usage(message.tokens) if message.tokens else None
        recorder.step(id=message.id, model=message.model, usage=usage)
        if message.thoughts:
            lines = [f"{thought.subject}: {thought.description}" for thought in message.thoughts]
            recorder.say(Reasoning("\n".join(lines)))
        for block in self._blocks(message.content):
            recorder.say(block)
        for call in message.tool_calls or ():
            id = recorder.call(call.id, call.name, arguments(call.args))
            if call.result is not None:
                failed = call.status in ("error", "cancelled")
                content = tuple(self._results(call.result))
                recorder.result(id, Answer(content, is_error=failed))

    def _blocks(self, content: str | list[_Part | str] | None) -> tuple[ResultBlock, ...]:
        if isinstance(content, str):
            return text(content)
        return tuple(self._block(part) for part in content or ())

    def _block(self, part: _Part | str) -> ResultBlock:
        if isinstance(part, str):
            return Text(part)
        if part.text is not None:
            return Text(part.text)
        if part.inline_data is not None and (part.inline_data.mime_type or "").startswith("image/"):
            blob = part.inline_data
            return picture_base64(blob.data, blob.mime_type, self._keep)
        return other(part)

    def _results(self, content: str | list[_Part | str]) -> Iterator[ResultBlock]:
        if isinstance(content, str):
            yield from text(content)
            return
        for part in content:
            if isinstance(part, _Part) and part.function_response is not None:
                yield from text(_output(part.function_response.response))
            else:
                yield self._block(part)


def _output(response: Any) -> str:
    if isinstance(response, dict):
        for key in ("output", "error"):
            if key in response:
                return arguments(response[key])
    return arguments(response)


def _usage(tokens: _Tokens) -> Usage:
    return Usage(
        input_tokens=max(0, tokens.input - tokens.cached),
        output_tokens=tokens.output + tokens.thoughts,
        cache_read_tokens=tokens.cached,
        reasoning_tokens=tokens.thoughts,
    )
