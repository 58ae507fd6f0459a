"""Copilot CLI events: `{type, data, id, timestamp, parentId}` a line.

A person's message is `content`; what the program put around it in `transformedContent` becomes
messages of a plugin. Hooks, permissions and the display form of results are not read.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from slicetape.formats.decoding import decoder
from slicetape.formats.recorder import Answer, Recorder, Route, plugin
from slicetape.formats.session import Feed, ImportedSession, open_lines
from slicetape.formats.source import Transcript
from slicetape.formats.values import arguments, epoch_ms, text
from slicetape.log.messages import Reasoning, Text
from slicetape.log.payloads import ToolError

FORMAT = "copilot-cli"
CONTEXT = plugin(f"{FORMAT}:context")
"""The source of what the program puts around a person's message."""

NOTICE = plugin(f"{FORMAT}:notification", form="notice")
"""The source of background notices."""


class _Request(msgspec.Struct, rename="camel"):
    tool_call_id: str = ""
    name: str = ""
    arguments: Any = None


class _Context(msgspec.Struct):
    cwd: str | None = None


class _Output(msgspec.Struct):
    content: str | None = None


class _Data(msgspec.Struct, rename="camel"):
    context: _Context | None = None
    new_model: str | None = None
    reasoning_effort: str | None = None
    content: str | None = None
    transformed_content: str | None = None
    attachments: list[Any] = []
    model: str = ""
    reasoning_text: str | None = None
    reasoning_opaque: str | None = None
    tool_requests: list[_Request] | None = None
    output_tokens: int | None = None
    tool_call_id: str = ""
    success: bool | None = None
    result: _Output | None = None
    error: Any = None
    reason: str | None = None


class _Line(msgspec.Struct):
    type: str
    data: _Data
    id: str = ""
    timestamp: str | None = None


class _Any(msgspec.Struct):
    data: dict[str, Any]


_decode = decoder(_Line)
_decode_any = decoder(_Any)


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """The one session of the file, read as its events are taken."""

    def begin(recorder: Recorder) -> Feed:
        return _Reader(recorder).feed

    yield open_lines(transcript, FORMAT, look=_look, begin=begin)


def _look(line: bytes) -> tuple[int | None, str | None]:
    record = _decode(line)
    context = record.data.context
    return epoch_ms(record.timestamp), context.cwd if context else None


class _Reader:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def feed(self, number: int, line: bytes) -> None:
        record = _decode(line)
        recorder, data = self._recorder, record.data
        recorder.at(number, epoch_ms(record.timestamp))
        match record.type:
            case "user.message":
                self._told(record)
            case "assistant.message":
                self._said(record)
            case "tool.execution_complete":
                recorder.result(data.tool_call_id, _answer(data))
            case "system.message":
                recorder.system(text(data.content))
            case "system.notification":
                recorder.note(text(data.content), source=NOTICE, id=record.id)
            case "session.model_change" if data.new_model:
                recorder.route(Route("github-copilot", data.new_model, data.reasoning_effort))
            case "abort":
                recorder.stop("aborted")
                recorder.keep("x/interrupted", {"reason": data.reason})
            case kind if kind.startswith(("session.compaction", "subagent.", "session.error")):
                self._kept(kind, line)

    def _told(self, record: _Line) -> None:
        data, recorder = record.data, self._recorder
        said = data.content or ""
        recorder.turn((Text(said),), id=record.id)
        around = (data.transformed_content or said).split(said, 1) if said else []
        for part in around:
            if part.strip():
                recorder.note((Text(part),), source=CONTEXT)
        if data.attachments:
            recorder.keep("x/attachment", {"attachments": data.attachments})

    def _said(self, record: _Line) -> None:
        data, recorder = record.data, self._recorder
        recorder.step(id=record.id, model=data.model)
        if data.reasoning_text or data.reasoning_opaque:
            opaque = data.reasoning_opaque
            state = {"reasoningOpaque": opaque} if opaque else None
            recorder.say(Reasoning(data.reasoning_text or ""), state=state)
        if data.content:
            recorder.say(Text(data.content))
        for request in data.tool_requests or ():
            recorder.call(request.tool_call_id, request.name, arguments(request.arguments))
        if data.output_tokens is not None:  # without input tokens it is no usage of a request
            recorder.keep("x/usage", {"outputTokens": data.output_tokens})

    def _kept(self, kind: str, line: bytes) -> None:
        name = "x/error"
        if kind.startswith("subagent."):
            name = "x/subagent"
        elif kind.startswith("session.compaction"):
            name = "x/compaction" if kind.endswith("complete") else "x/compaction-start"
            self._recorder.settle()
        self._recorder.keep(name, {"type": kind, **_decode_any(line).data})


def _answer(data: _Data) -> Answer:
    failed = None if data.success is None else not data.success
    if data.result is not None and data.result.content is not None:
        return Answer(text(data.result.content), is_error=failed)
    code = data.error.get("code") if isinstance(data.error, dict) else None
    error = ToolError(code=code) if isinstance(code, str) else None
    said = "" if data.error is None else arguments(data.error)
    return Answer(text(said), is_error=failed, error=error)
