"""pi sessions: a header line, then one entry a line; messages have their usage and stop reason."""

from collections.abc import Iterator
from typing import Any

import msgspec

from slicetape.formats.decoding import decoder
from slicetape.formats.media import Attachments, picture_base64
from slicetape.formats.pending import ResultBlock
from slicetape.formats.recorder import Answer, Recorder, Route, plugin
from slicetape.formats.session import Feed, ImportedSession, open_lines
from slicetape.formats.source import Transcript
from slicetape.formats.values import arguments, epoch_ms, other
from slicetape.log.messages import Reasoning, Text
from slicetape.log.payloads import Usage

FORMAT = "pi"


class _Part(msgspec.Struct, rename="camel", omit_defaults=True):
    type: str
    text: str = ""
    text_signature: str | None = None
    thinking: str = ""
    thinking_signature: str | None = None
    id: str = ""
    name: str = ""
    arguments: Any = None
    thought_signature: str | None = None
    data: str = ""
    mime_type: str | None = None


class _Usage(msgspec.Struct, rename="camel"):
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class _Message(msgspec.Struct, rename="camel"):
    role: str
    content: str | list[_Part] | None = None
    provider: str = ""
    model: str = ""
    usage: _Usage | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    tool_call_id: str = ""
    is_error: bool | None = None
    command: str = ""
    output: str = ""


class _Entry(msgspec.Struct, rename="camel"):
    type: str
    id: str = ""
    timestamp: str | float | None = None
    cwd: str | None = None
    message: _Message | None = None
    thinking_level: str | None = None
    summary: str | None = None
    tokens_before: int | None = None
    first_kept_entry_index: int | None = None
    first_kept_entry_id: str | None = None
    branched_from: str | None = None
    parent_session: str | None = None


_decode = decoder(_Entry)


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """The one session of the file, read as its events are taken."""

    def begin(recorder: Recorder) -> Feed:
        return _Reader(recorder, transcript.attachments).feed

    yield open_lines(transcript, FORMAT, look=_look, begin=begin)


def _look(line: bytes) -> tuple[int | None, str | None]:
    entry = _decode(line)
    return epoch_ms(entry.timestamp), entry.cwd


class _Reader:
    def __init__(self, recorder: Recorder, attachments: Attachments) -> None:
        self._recorder = recorder
        self._keep = attachments
        self._effort: str | None = None

    def feed(self, number: int, line: bytes) -> None:
        entry = _decode(line)
        self._recorder.at(number, epoch_ms(entry.timestamp))
        if entry.type == "message" and entry.message:
            self._message(entry, entry.message)
        elif entry.thinking_level is not None:
            self._effort = entry.thinking_level
        if entry.type == "compaction":
            self._compacted(entry)
        elif entry.type == "branch_summary":
            self._recorder.keep("x/branch-summary", {"summary": entry.summary})
        elif entry.branched_from or entry.parent_session:
            self._recorder.keep("x/branch", {"from": entry.branched_from or entry.parent_session})

    def _compacted(self, entry: _Entry) -> None:
        self._recorder.settle()
        data = {
            "summary": entry.summary,
            "tokensBefore": entry.tokens_before,
            "firstKeptEntryIndex": entry.first_kept_entry_index,
            "firstKeptEntryId": entry.first_kept_entry_id,
        }
        self._recorder.keep("x/compaction", data)

    def _message(self, entry: _Entry, message: _Message) -> None:
        recorder = self._recorder
        match message.role:
            case "user":
                recorder.turn(self._blocks(message.content) or (Text(""),), id=entry.id)
            case "assistant":
                self._said(entry, message)
            case "toolResult":
                content = self._blocks(message.content)
                answer = Answer(content, is_error=message.is_error, id=entry.id)
                recorder.result(message.tool_call_id, answer)
            case "bashExecution":
                said = f"{message.command}\n{message.output}"
                recorder.turn((Text(said),), source=plugin(f"{FORMAT}:shell"), id=entry.id)
            case role:
                source = plugin(f"{FORMAT}:{role}")
                recorder.note(self._blocks(message.content), source=source, id=entry.id)

    def _said(self, entry: _Entry, message: _Message) -> None:
        recorder = self._recorder
        if message.model:
            recorder.route(Route(message.provider, message.model, self._effort))
        recorder.step(id=entry.id, usage=_usage(message.usage) if message.usage else None)
        content = message.content or []
        for part in [_Part("text", text=content)] if isinstance(content, str) else content:
            self._part(part)
        match message.stop_reason:
            case "aborted":
                recorder.cut()
                recorder.stop("aborted")
            case "error":
                recorder.stop("error", message=message.error_message or "")
            case "length":
                recorder.stop("max-tokens")

    def _part(self, part: _Part) -> None:
        recorder = self._recorder
        if part.type == "text":
            recorder.say(Text(part.text), state=_signed(part.text_signature))
        elif part.type == "thinking":
            recorder.say(Reasoning(part.thinking), state=_signed(part.thinking_signature))
        elif part.type == "toolCall":
            state = _signed(part.thought_signature)
            recorder.call(part.id, part.name, arguments(part.arguments), state=state)
        else:
            recorder.say(self._block(part))

    def _blocks(self, content: str | list[_Part] | None) -> tuple[ResultBlock, ...]:
        if isinstance(content, str):
            return (Text(content),)
        return tuple(self._block(part) for part in content or ())

    def _block(self, part: _Part) -> ResultBlock:
        if part.type == "text":
            return Text(part.text)
        if part.type == "image":
            return picture_base64(part.data, part.mime_type, self._keep)
        return other(part)


def _signed(signature: str | None) -> dict[str, Any] | None:
    return {"signature": signature} if signature else None


def _usage(usage: _Usage) -> Usage:
    return Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
    )
