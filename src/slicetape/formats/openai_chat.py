"""OpenAI chat messages: a task record with a list of messages, the bare list, or one a line.

With a role `tool` every user message opens a turn. Two older dialects have none: a call is text
of the assistant message, its result the next user message. They are told from a plain dialogue
by the marks of such calls and results.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from slicetape.formats.decoding import decoder
from slicetape.formats.documents import documents, events_of, numbered, outcome
from slicetape.formats.media import Attachments
from slicetape.formats.parts import Content, blocks, plain, schemas
from slicetape.formats.recorder import Answer, Recorder, Route, plugin
from slicetape.formats.session import ImportedSession, header
from slicetape.formats.source import Transcript
from slicetape.formats.usages import chat_usage
from slicetape.formats.values import arguments, epoch_ms, text
from slicetape.log.messages import Reasoning, Text

FORMAT = "openai-chat"
TOOL = "shell"
"""The name of a call that is text of a message."""

_FENCE = re.compile(r"^```([\w-]*)[ \t]*$", re.MULTILINE)
_SHELLS = ("", "bash", "sh", "shell", "console")
_USERS = ("user", "human")
_RESULT = ("observation:", "execution result")


class ChatFunction(msgspec.Struct):
    """Name and arguments of a call; the arguments are a JSON string, in some dumps the value."""

    name: str | None = None
    arguments: Any = None


class ChatCall(ChatFunction):
    """A requested call, nested as the wire has it or flat."""

    id: str | None = None
    function: ChatFunction | None = None


class _Message(msgspec.Struct):
    role: str = ""
    content: Content = None
    text: Content = None
    tool_calls: list[ChatCall] | None = None
    tool_call_id: str | None = None
    function_call: ChatFunction | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    system_prompt: str | None = None
    model: str | None = None
    timestamp: str | float | None = None
    usage: Any = None


class _Record(_Message):
    traj: list[_Message] | None = None
    messages: list[_Message] | None = None
    trajectory: list[_Message] | None = None
    tools: list[Any] | None = None
    id: Any = None
    instance_id: Any = None
    task_id: Any = None
    traj_id: Any = None
    trial: Any = None
    reward: Any = None
    resolved: Any = None
    exit_status: Any = None
    patch: Any = None
    info: Any = None

    @property
    def dialogue(self) -> Sequence[_Message] | None:
        """The messages, or None for what is no record."""
        for messages in (self.traj, self.messages, self.trajectory):
            if messages is not None:
                return messages
        return None


_NAMES = ("id", "instance_id", "task_id", "traj_id", "trial")
_OUTCOME = (*_NAMES, "reward", "resolved", "exit_status", "patch", "info")
_decode = decoder(_Record | list[_Record])  # type: ignore[arg-type]


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """One session of each record; a bare list of messages is one record."""
    for id, record in numbered(transcript.name, _records(transcript)):
        recorder = Recorder(id)
        said = _record(record, recorder, transcript.attachments)
        yield ImportedSession(id, FORMAT, header(id), events_of(recorder, said))


def _records(transcript: Transcript) -> Iterator[_Record]:
    loose: list[_Message] = []
    for document in documents(transcript, _decode):
        records = document if isinstance(document, list) else [document]
        if isinstance(document, list) and any(record.role for record in records):
            yield _Record(messages=list(records))
            continue
        for record in records:
            if record.dialogue is not None:
                yield record
            elif record.role:
                loose.append(record)
            else:
                raise transcript.error("has no messages under `traj`, `messages` or `trajectory`")
    if loose:
        yield _Record(messages=loose)


def _record(record: _Record, recorder: Recorder, keep: Attachments) -> Iterator[None]:
    messages = record.dialogue or ()
    recorder.route(Route("", record.model or "", tools=schemas(record.tools)))
    reader = _Reader(recorder, keep, as_text=_calls_are_text(messages))
    if record.system_prompt:
        recorder.system(text(record.system_prompt))
    for number, (message, after) in enumerate(zip_longest(messages, messages[1:]), 1):
        recorder.at(number, epoch_ms(message.timestamp))
        reader.read(message, answered=after is not None and after.role in _USERS)
        yield
    told = {name: getattr(record, name) for name in _OUTCOME}
    outcome(recorder, told | {"usage": record.usage})


def _calls_are_text(messages: Sequence[_Message]) -> bool:
    """Whether calls and results stand in the text: there is no tool role, and their marks do."""
    if any(message.role in ("tool", "function") for message in messages):
        return False
    users = [message for message in messages if message.role in _USERS][1:]
    if any(_words(message).lower().startswith(_RESULT) for message in users):
        return True
    said = [_words(message) for message in messages if message.role in ("assistant", "ai")]
    return any("<function=" in words for words in said) or (
        bool(users) and all(_call_at(words) >= 0 for words in said[: len(users)])
    )


def _words(message: _Message) -> str:
    return plain(message.content if message.content is not None else message.text)


class _Reader:
    """The state between messages: whether someone spoke, and a call written as text."""

    def __init__(self, recorder: Recorder, keep: Attachments, *, as_text: bool) -> None:
        self._recorder = recorder
        self._keep = keep
        self._as_text = as_text
        self._prompted = False
        self._spoken = False
        self._count = 0

    def read(self, message: _Message, *, answered: bool) -> None:
        """Record a message; `answered` says that a message in the user role is next."""
        content = message.content if message.content is not None else message.text
        match message.role:
            case "system" | "developer":
                self._system(content or message.system_prompt)
            case "user" | "human":
                self._user(content)
            case "assistant" | "ai":
                self._assistant(message, content, answered=answered)
            case "tool" | "function":
                self._result(message.tool_call_id or "", content)
            case _:
                self._recorder.keep("x/message", {"role": message.role, "content": content})

    def _system(self, content: Content) -> None:
        told = blocks(content, self._keep)
        if self._spoken:
            self._recorder.note(told, source=plugin(f"{FORMAT}:system"))
        else:
            self._recorder.system(told)

    def _user(self, content: Content) -> None:
        self._spoken = True
        if self._as_text and self._prompted and self._recorder.in_step:
            self._result("", content)
            return
        self._prompted = True
        self._recorder.turn(blocks(content, self._keep))

    def _assistant(self, message: _Message, content: Content, *, answered: bool) -> None:
        recorder = self._recorder
        recorder.step(model=message.model or "", usage=chat_usage(message.usage))
        thought = message.reasoning_content or message.reasoning
        if isinstance(thought, str) and thought:
            recorder.say(Reasoning(thought))
        if self._as_text and answered:
            self._call_in(plain(content))
            return
        for block in blocks(content, self._keep):
            recorder.say(block)
        for asked in message.tool_calls or ():
            record_call(asked, recorder)
        if message.function_call is not None:
            record_call(ChatCall(function=message.function_call), recorder)

    def _call_in(self, words: str) -> None:
        """Record the call that is text of a message; text and call are the whole message."""
        at = _call_at(words)
        at = len(words) if at < 0 else at
        if words[:at]:
            self._recorder.say(Text(words[:at]))
        self._count += 1
        self._recorder.call(f"{TOOL}-{self._count}", TOOL, words[at:])

    def _result(self, id: str, content: Content) -> None:
        self._recorder.result(id, Answer(blocks(content, self._keep), is_error=False))


def record_call(call: ChatCall, recorder: Recorder) -> str:
    """Add a call to the open response; the id it has in the session."""
    asked = call.function or call
    given = "" if asked.arguments is None else arguments(asked.arguments)
    return recorder.call(call.id or "", asked.name or "", given)


def _call_at(words: str) -> int:
    """Where a call written as text begins: its tag, or its last fenced command; -1 for none."""
    at = words.find("<function=")
    if at >= 0:
        return at
    opened = None
    for fence in _FENCE.finditer(words):
        if opened is not None:
            opened = None
        else:
            opened = fence
            if fence[1] in _SHELLS:
                at = fence.start()
    return at
