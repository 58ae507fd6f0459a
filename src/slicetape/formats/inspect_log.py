"""Inspect logs: one JSON document of samples, each sample a session.

The messages of a sample are the conversation; of its events only the model's usage, times, tool
schemas and compaction are read: every model event repeats the whole request. Long strings are
references into the sample's attachments.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from slicetape.formats.decoding import decoder
from slicetape.formats.documents import documents, events_of, numbered, outcome
from slicetape.formats.inspect_events import LoggedEvent, Output, Replies
from slicetape.formats.media import Attachments
from slicetape.formats.parts import Content, Part, block, schemas
from slicetape.formats.pending import ResultBlock
from slicetape.formats.recorder import Answer, Recorder, Route, plugin
from slicetape.formats.session import ImportedSession, header
from slicetape.formats.source import Transcript
from slicetape.formats.usages import inspect_usage
from slicetape.formats.values import arguments, epoch_ms, text
from slicetape.log.messages import Reasoning
from slicetape.log.payloads import ToolError

FORMAT = "inspect"
_REFERENCE = re.compile(r"attachment://([0-9a-f]{32})")


class _Call(msgspec.Struct):
    id: str | None = None
    function: str | None = None
    arguments: Any = None


class _Failure(msgspec.Struct):
    type: str | None = None
    message: str | None = None


class _Message(msgspec.Struct):
    id: str | None = None
    role: str = ""
    content: Content = None
    source: str | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    error: _Failure | None = None
    model: str | None = None


class _Sample(msgspec.Struct):
    id: Any = None
    epoch: int | None = None
    messages: list[_Message] | None = None
    events: list[LoggedEvent] | None = None
    attachments: dict[str, str] | None = None
    scores: Any = None
    error: Any = None
    limit: Any = None


class _Task(msgspec.Struct):
    task: str | None = None
    model: str | None = None
    created: str | float | None = None


class _Log(msgspec.Struct):
    eval: _Task
    status: str | None = None
    samples: list[_Sample] | None = None


_decode = decoder(_Log)


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """One session of each sample that has messages."""
    for id, (task, sample) in numbered(transcript.name, _samples(transcript)):
        said = sum(message.role == "assistant" for message in sample.messages or ())
        replies = Replies(sample.events or (), replies=said)
        created_at = replies.first or epoch_ms(task.created) or 0
        recorder = Recorder(id, created_at=created_at)
        recorder.route(Route("", task.model or ""))
        reader = _Reader(sample, replies, recorder, transcript.attachments, created_at)
        recording = _record(sample, reader, recorder)
        head = header(id, created_at=created_at)
        yield ImportedSession(id, FORMAT, head, events_of(recorder, recording))


def _samples(transcript: Transcript) -> Iterator[tuple[_Task, _Sample]]:
    found_any = False
    for log in documents(transcript, _decode):
        for sample in log.samples or ():
            if sample.messages:
                found_any = True
                yield log.eval, sample
    if not found_any:
        raise transcript.error("has no samples with messages; write the log with its samples")


def _record(sample: _Sample, reader: "_Reader", recorder: Recorder) -> Iterator[None]:
    for message in sample.messages or ():
        reader.at(None)
        reader.read(message)
        yield
    reader.finish()
    names = ("id", "epoch", "scores", "error", "limit")
    outcome(recorder, {name: getattr(sample, name) for name in names})


class _Reader:
    """The state between messages: how many replies there were, and the times of results."""

    def __init__(
        self, sample: _Sample, replies: Replies, recorder: Recorder, keep: Attachments, now: int
    ) -> None:
        self._attachments = sample.attachments or {}
        self._replies = replies
        self._recorder = recorder
        self._keep = keep
        self._count = 0
        self._spoken = False
        self._now = now

    def at(self, time: int | None) -> None:
        """Set the time of what follows: the recorded one, never before what is already said."""
        self._now = max(self._now + 1, time or 0)
        self._recorder.at(0, self._now)

    def finish(self) -> None:
        """Keep what happened behind the last message."""
        self._compacted(self._replies.left)

    def read(self, message: _Message) -> None:
        match message.role:
            case "system":
                self._system(message)
            case "user":
                self._user(message)
            case "assistant":
                self._assistant(message)
            case "tool":
                self._result(message)
            case role:
                content = self._blocks(message.content)
                self._recorder.keep("x/message", {"role": role, "content": content})

    def _compacted(self, events: list[LoggedEvent]) -> None:
        """Keep the compactions that happened here."""
        for event in events:
            self._recorder.settle()
            self._recorder.keep("x/compaction", {"event": event})

    def _system(self, message: _Message) -> None:
        content = self._blocks(message.content)
        if self._recorder.in_turn:
            self._recorder.note(content, source=plugin(f"{FORMAT}:system"))
        else:
            self._recorder.system(content)

    def _user(self, message: _Message) -> None:
        """A message of the sample's input is the person's; later ones are the solver's."""
        content = self._blocks(message.content)
        if message.source == "input" or not self._spoken:
            self._recorder.turn(content)
        else:
            self._recorder.turn(content, source=plugin(f"{FORMAT}:solver"))
        self._spoken = True

    def _assistant(self, message: _Message) -> None:
        recorder = self._recorder
        event = self._replies.of(message.id, self._count)
        self._count += 1
        usage = None
        if event is not None and isinstance(event.output, Output):
            self._compacted(self._replies.compactions(event))
            self.at(epoch_ms(event.timestamp))
            usage = inspect_usage(event.output.usage)
            self._tools(event, message.model or "")
        recorder.step(model=message.model or "", usage=usage)
        content = message.content
        for part in [Part(text=content)] if isinstance(content, str) else content or ():
            self._say(part)
        for call in message.tool_calls or ():
            given = arguments(self._resolved(call.arguments))
            recorder.call(call.id or "", call.function or "", given)

    def _tools(self, event: LoggedEvent, model: str) -> None:
        tools = self._resolved(event.tools)
        self._recorder.route(Route("", model or event.model or "", tools=schemas(tools)))

    def _say(self, part: Part) -> None:
        said = self._blocks([part])[0]
        if isinstance(said, Reasoning) and part.signature:
            self._recorder.say(said, state={"signature": part.signature})
        elif part.text != "":
            self._recorder.say(said)

    def _result(self, message: _Message) -> None:
        recorder, id = self._recorder, message.tool_call_id or ""
        self.at(self._replies.answered.get(id))
        failure = message.error
        content = self._blocks(message.content)
        if failure is None:
            recorder.result(id, Answer(content, is_error=False))
            return
        told = content or text(failure.message)
        error = ToolError(name=failure.type, code=failure.type)
        recorder.result(id, Answer(told, is_error=True, error=error))

    def _blocks(self, content: Content) -> tuple[ResultBlock, ...]:
        if isinstance(content, str):
            return text(self._resolved(content))
        parts = content or ()
        return tuple(block(self._part(part), self._keep) for part in parts)

    def _part(self, part: Part) -> Part:
        told = msgspec.structs.asdict(part)
        return Part(**{key: self._resolved(value) for key, value in told.items()})

    def _resolved(self, value: Any) -> Any:
        """`value` with the references into the attachments replaced by what they name."""
        if isinstance(value, str) and "attachment://" in value:
            return _REFERENCE.sub(lambda m: self._attachments.get(m[1], m[0]), value)
        if isinstance(value, list):
            return [self._resolved(item) for item in value]
        if isinstance(value, dict):
            return {key: self._resolved(item) for key, item in value.items()}
        return value
