"""Claude Code sessions: one JSON record a line, a response spread over several records.

Records of a known `uuid` are skipped: a branch repeats them. A file that begins with a sidechain
is a subagent's own; elsewhere its records become `x/subagent` events. What went to the model
becomes messages; `toolUseResult`, snapshots and progress copies are not read at all. Past 250
lines: the record types are half of it.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from slicetape.formats.decoding import decoder
from slicetape.formats.media import Attachments, picture_base64, picture_url
from slicetape.formats.pending import ResultBlock
from slicetape.formats.recorder import Answer, Recorder, Route, plugin
from slicetape.formats.session import Feed, ImportedSession, open_lines
from slicetape.formats.source import Transcript
from slicetape.formats.values import arguments, epoch_ms, other
from slicetape.log.messages import OtherBlock, Reasoning, Source, Text
from slicetape.log.payloads import Usage

FORMAT = "claude-code"
_NOTES = ("<local-command", "Caveat:", "[Request interrupted")
_AUTOMATIC = {"<task-notification": "task-notification", "<bash-": "shell"}
_SYNTHETIC = "<synthetic>"
_KNOWN = frozenset(("text", "thinking", "tool_use", "tool_result", "image"))

STEERING = Source(kind="user", form="steering")
"""The source of what a person typed while the agent worked; it arrives with a result."""


class _Picture(msgspec.Struct):
    type: str = ""
    media_type: str | None = None
    data: str = ""
    url: str = ""


class _Part(msgspec.Struct, omit_defaults=True):
    type: str
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: Any = None
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    content: "str | list[_Part] | None" = None
    is_error: bool | None = None
    source: _Picture | None = None
    tool_name: str = ""


class _Written(msgspec.Struct):
    ephemeral_5m_input_tokens: int = 0
    ephemeral_1h_input_tokens: int = 0


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: _Written | None = None


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None
    id: str = ""
    model: str = ""
    usage: _Usage | None = None
    stop_reason: str | None = None


class _Progress(msgspec.Struct):
    type: str = ""
    agentId: str = ""  # noqa: N815
    prompt: str = ""


class _Record(msgspec.Struct, rename="camel", omit_defaults=True):
    type: str
    subtype: str = ""
    uuid: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    message: _Message | None = None
    operation: str | None = None
    content: Any = None
    data: _Progress | None = None
    attachment: Any = None
    compact_metadata: Any = None
    microcompact_metadata: Any = None
    custom_title: str | None = None


class _RawMessage(msgspec.Struct):
    content: list[Any]


class _RawRecord(msgspec.Struct):
    message: _RawMessage


_decode = decoder(_Record)
_decode_raw = decoder(_RawRecord)


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """The one session of the file, read as its events are taken."""

    def begin(recorder: Recorder) -> Feed:
        recorder.route(Route("anthropic", ""))
        return _Reader(recorder, transcript.attachments).feed

    yield open_lines(transcript, FORMAT, look=_look, begin=begin)


def _look(line: bytes) -> tuple[int | None, str | None]:
    record = _decode(line)
    return epoch_ms(record.timestamp), record.cwd


class _Reader:
    """The state between records: which uuids and subagents were seen, which response is open."""

    def __init__(self, recorder: Recorder, attachments: Attachments) -> None:
        self._recorder = recorder
        self._keep = attachments
        self._seen: set[str] = set()
        self._agents: set[str] = set()
        self._response = ""
        self._side: bool | None = None
        self._record = b""
        self._raws: dict[int, Any] = {}

    def feed(self, number: int, line: bytes) -> None:
        record = _decode(line)
        self._record, self._raws = line, {}
        if record.uuid:
            if record.uuid in self._seen:
                return
            self._seen.add(record.uuid)
        self._recorder.at(number, epoch_ms(record.timestamp))
        if record.message is not None:
            side = record.is_sidechain or False
            self._side = side if self._side is None else self._side
            if side != self._side:
                data = {"type": record.type, "message": record.message}
                self._recorder.keep("x/subagent", data)
                return
        if record.type == "assistant" and record.message:
            self._assistant(record, record.message)
        elif record.type == "user" and record.message:
            self._user(record, record.message)
        else:
            self._aside(record)

    def _assistant(self, record: _Record, message: _Message) -> None:
        recorder = self._recorder
        if not (recorder.in_step and message.id and message.id == self._response):
            self._response = message.id
            model = "" if message.model == _SYNTHETIC else message.model
            recorder.step(id=record.uuid or message.id, model=model)
            self._written(message.usage)
        for part in self._parts(message):
            self._said(part)
        if message.usage:
            recorder.usage(_usage(message.usage))
        if record.is_api_error_message:
            recorder.stop("error", message=_joined(message.content), code="api-error")
        elif message.stop_reason == "max_tokens":
            recorder.stop("max-tokens")

    def _written(self, usage: _Usage | None) -> None:
        """Keep which writes to the cache live for an hour: they have a price of their own."""
        written = usage.cache_creation if usage else None
        if written and written.ephemeral_1h_input_tokens:
            hour, minutes = written.ephemeral_1h_input_tokens, written.ephemeral_5m_input_tokens
            data = {"cacheWrite1hTokens": hour, "cacheWrite5mTokens": minutes}
            self._recorder.keep("x/usage", data)

    def _said(self, part: _Part) -> None:
        recorder = self._recorder
        if part.type == "text":
            recorder.say(Text(part.text))
        elif part.type == "thinking":
            state = {"signature": part.signature} if part.signature else None
            recorder.say(Reasoning(part.thinking), state=state)
        elif part.type == "tool_use":
            recorder.call(part.id, part.name, arguments(part.input))
        else:
            recorder.say(self._other(part))

    def _parts(self, message: _Message) -> list[_Part]:
        content = message.content or []
        if isinstance(content, str):
            return [_Part("text", text=content)]
        if any(part.type not in _KNOWN for part in content):
            raws = _decode_raw(self._record).message.content
            self._raws = {id(part): raw for part, raw in zip(content, raws, strict=True)}
        return content

    def _user(self, record: _Record, message: _Message) -> None:
        parts = self._parts(message)
        results = [part for part in parts if part.type == "tool_result"]
        for part in results:
            answer = Answer(self._blocks(part.content), is_error=part.is_error or False)
            self._recorder.result(part.tool_use_id, answer)
        said = [part for part in parts if part.type != "tool_result"]
        if said and results:
            self._recorder.note(self._blocks(said), source=STEERING)
        elif not results:
            self._told(record, said)

    def _told(self, record: _Record, parts: list[_Part]) -> None:
        recorder, id = self._recorder, record.uuid or ""
        text = _joined(parts)
        blocks = self._blocks(parts)
        if record.is_compact_summary:
            recorder.settle()
            recorder.keep("x/compaction-summary", {"text": text})
        elif record.is_meta or text.startswith(_NOTES):
            interrupted = text.startswith("[Request interrupted")
            name = "interruption" if interrupted else "meta" if record.is_meta else "command"
            recorder.note(blocks, source=plugin(f"{FORMAT}:{name}"), id=id)
            if interrupted:
                recorder.stop("aborted")
        else:
            for start, name in _AUTOMATIC.items():
                if text.startswith(start):
                    recorder.turn(blocks, source=plugin(f"{FORMAT}:{name}"), id=id)
                    return
            recorder.turn(blocks, id=id)

    def _aside(self, record: _Record) -> None:
        recorder = self._recorder
        if record.type == "system" and record.subtype.endswith("compact_boundary"):
            recorder.settle()
            micro = record.subtype.startswith("micro")
            kind = "x/microcompaction" if micro else "x/compaction"
            data = record.microcompact_metadata if micro else record.compact_metadata
            recorder.keep(kind, data if isinstance(data, dict) else {})
        elif record.type == "system" and record.subtype == "api_error":
            recorder.keep("x/api-error", {"content": record.content})
        elif record.type == "queue-operation":
            recorder.keep("x/queue", {"operation": record.operation, "content": record.content})
        elif record.type == "attachment" and record.attachment is not None:
            recorder.keep("x/attachment", {"attachment": record.attachment})
        elif record.type == "custom-title":
            recorder.keep("x/title", {"title": record.custom_title})
        elif record.type == "progress" and record.data and record.data.agentId:
            self._subagent(record.data)

    def _subagent(self, progress: _Progress) -> None:
        if progress.agentId not in self._agents:
            self._agents.add(progress.agentId)
            data = {"agentId": progress.agentId, "prompt": progress.prompt}
            self._recorder.keep("x/subagent", data)

    def _blocks(self, content: str | list[_Part] | None) -> tuple[ResultBlock, ...]:
        if isinstance(content, str):
            return (Text(content),)
        return tuple(self._block(part) for part in content or ())

    def _block(self, part: _Part) -> ResultBlock:
        if part.type == "text":
            return Text(part.text)
        if part.type == "image" and part.source:
            if part.source.url:
                return picture_url(part.source.url, self._keep)
            return picture_base64(part.source.data, part.source.media_type, self._keep)
        return self._other(part)

    def _other(self, part: _Part) -> OtherBlock:
        return other(self._raws.get(id(part)) or part)


def _joined(content: str | list[_Part] | None) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content or () if part.type == "text")


def _usage(usage: _Usage) -> Usage:
    return Usage(
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        cache_read_tokens=usage.cache_read_input_tokens,
        cache_write_tokens=usage.cache_creation_input_tokens,
    )
