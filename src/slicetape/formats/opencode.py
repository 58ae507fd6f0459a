"""OpenCode exports: one document `{info, messages[]}`, an assistant message a step.

Diffs of whole files (`summary`) and result metadata are for display and not read. A subagent's
session has a document of its own with `parentID`.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from slicetape.formats.decoding import decoder
from slicetape.formats.media import Attachments, picture_url
from slicetape.formats.pending import ResultBlock
from slicetape.formats.recorder import Answer, Recorder, Route
from slicetape.formats.session import ImportedSession, header
from slicetape.formats.source import Transcript
from slicetape.formats.values import arguments, epoch_ms, other, text
from slicetape.log.events import Event
from slicetape.log.messages import Attachment, Block, File, Reasoning, Text
from slicetape.log.payloads import Usage

FORMAT = "opencode"


class _Time(msgspec.Struct):
    created: float | None = None
    completed: float | None = None
    compacted: float | None = None


class _Cache(msgspec.Struct):
    read: int = 0
    write: int = 0


class _Tokens(msgspec.Struct):
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: _Cache = msgspec.field(default_factory=_Cache)


class _Session(msgspec.Struct):
    id: str = ""
    parentID: str | None = None  # noqa: N815
    directory: str | None = None
    title: str | None = None
    time: _Time = msgspec.field(default_factory=_Time)


class _Info(msgspec.Struct):
    role: str
    id: str = ""
    time: _Time = msgspec.field(default_factory=_Time)
    modelID: str = ""  # noqa: N815
    providerID: str = ""  # noqa: N815
    finish: str | None = None
    error: Any = None
    tokens: _Tokens | None = None


class _File(msgspec.Struct):
    mime: str = ""
    url: str = ""
    filename: str | None = None


class _State(msgspec.Struct):
    status: str = ""
    input: Any = None
    output: str | None = None
    error: Any = None
    time: _Time | None = None
    attachments: list[_File] | None = None


class _Part(msgspec.Struct, omit_defaults=True):
    type: str
    text: str = ""
    callID: str = ""  # noqa: N815
    tool: str = ""
    state: _State | None = None
    metadata: Any = None
    mime: str = ""
    url: str = ""
    filename: str | None = None
    prompt: str | None = None
    description: str | None = None
    agent: str | None = None
    command: str | None = None


class _Message(msgspec.Struct):
    info: _Info
    parts: list[_Part] = []


class _Document(msgspec.Struct):
    info: _Session
    messages: list[_Message]


_decode = decoder(_Document)


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """The one session of the document."""
    document = transcript.document(_decode)
    info = document.info
    head = header(
        transcript.name,
        created_at=epoch_ms(info.time.created) or 0,
        cwd=info.directory,
        parent=info.parentID,
    )
    events = _events(document, head.created_at, transcript)
    yield ImportedSession(transcript.name, FORMAT, head, events)


def _events(document: _Document, created_at: int, transcript: Transcript) -> Iterator[Event]:
    recorder = Recorder(transcript.name, created_at=created_at)
    reader = _Reader(recorder, transcript.attachments)
    if document.info.title:
        recorder.keep("x/title", {"title": document.info.title})
    for number, message in enumerate(document.messages, 1):
        recorder.at(number, epoch_ms(message.info.time.created))
        if message.info.role == "assistant":
            reader.assistant(message)
        else:
            reader.user(message)
        yield from recorder.take()
    recorder.end()
    yield from recorder.take()


class _Reader:
    def __init__(self, recorder: Recorder, attachments: Attachments) -> None:
        self._recorder = recorder
        self._keep = attachments

    def user(self, message: _Message) -> None:
        recorder = self._recorder
        if any(part.type == "compaction" for part in message.parts):
            recorder.settle()
            recorder.keep("x/compaction", {"text": "\n".join(_texts(message.parts))})
            return
        blocks: list[Block] = []
        for part in message.parts:
            blocks.extend(self._told(part))
        recorder.turn(tuple(blocks) or (Text(""),), id=message.info.id)

    def _told(self, part: _Part) -> Iterator[Block]:
        if part.type == "text":
            yield Text(part.text)
        elif part.type == "file":
            yield self._file(_File(part.mime, part.url, part.filename))
        elif part.type == "subtask":  # a typed command: the text stands in for the block
            yield Text(f"/{part.command}" if part.command else part.description or "subtask")
            yield other(part)

    def assistant(self, message: _Message) -> None:
        recorder, info = self._recorder, message.info
        recorder.route(Route(info.providerID, info.modelID))
        recorder.step(id=info.id, usage=_usage(info.tokens) if info.tokens else None)
        for part in message.parts:
            if part.type == "text":
                recorder.say(Text(part.text), state=_state(part))
            elif part.type == "reasoning":
                recorder.say(Reasoning(part.text), state=_state(part))
            elif part.type == "tool" and part.state:
                self._called(part, part.state)
        if info.finish == "length":
            recorder.stop("max-tokens")
        if info.error:
            self._failed(info.error)

    def _called(self, part: _Part, state: _State) -> None:
        recorder = self._recorder
        id = recorder.call(part.callID, part.tool, arguments(state.input), state=_state(part))
        if state.status == "completed":
            files = [self._file(file) for file in state.attachments or ()]
            compacted = state.time.compacted if state.time else None
            meta = {"compactedAt": compacted} if compacted else None
            answer = Answer((*text(state.output), *files), is_error=False, meta=meta)
            recorder.result(id, answer)
        elif state.status == "error":
            recorder.result(id, Answer(text(arguments(state.error)), is_error=True))

    def _failed(self, error: Any) -> None:
        name = str(error.get("name", "")) if isinstance(error, dict) else ""
        detail = error.get("data") if isinstance(error, dict) else error
        said = detail.get("message", "") if isinstance(detail, dict) else detail
        if name == "MessageAbortedError":
            self._recorder.cut()
            self._recorder.stop("aborted")
        else:
            self._recorder.stop("error", message=str(said or ""), code=name)

    def _file(self, file: _File) -> ResultBlock:
        if file.mime.startswith("image/"):
            return picture_url(file.url, self._keep)
        named = picture_url(file.url, self._keep).attachment
        name = file.filename or named.name
        return File(Attachment(named.attachment_id, named.bytes, file.mime or None, name=name))


def _texts(parts: list[_Part]) -> list[str]:
    return [part.text for part in parts if part.type == "text"]


def _state(part: _Part) -> dict[str, Any] | None:
    return {"metadata": part.metadata} if part.metadata else None


def _usage(tokens: _Tokens) -> Usage:
    return Usage(
        input_tokens=tokens.input,
        output_tokens=tokens.output + tokens.reasoning,
        cache_read_tokens=tokens.cache.read,
        cache_write_tokens=tokens.cache.write,
        reasoning_tokens=tokens.reasoning,
    )
