"""mini-swe-agent trajectories: a command in a fenced block, its output in the user role.

Later versions have real tool calls and a message of role `exit`; both layouts are read.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from slicetape.formats.decoding import decoder
from slicetape.formats.documents import documents, events_of, found, numbered, outcome
from slicetape.formats.media import Attachments
from slicetape.formats.openai_chat import TOOL, ChatCall, record_call
from slicetape.formats.parts import Content, blocks, plain
from slicetape.formats.recorder import Answer, Recorder, Route
from slicetape.formats.session import ImportedSession, header
from slicetape.formats.source import Transcript
from slicetape.formats.usages import chat_usage
from slicetape.formats.values import epoch_ms
from slicetape.log.messages import Reasoning, Text

FORMAT = "mini-swe-agent"
_FENCE = re.compile(r"```(?:bash|mswea_bash_command)[ \t]*\n")
_OUTCOME = ("exit_status", "submission", "model_stats", "mini_version")


class _Said(msgspec.Struct):
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: list[Any] | None = None


class _Choice(msgspec.Struct):
    message: _Said | None = None


class _Response(msgspec.Struct):
    model: str | None = None
    provider: str | None = None
    created: float | None = None
    usage: Any = None
    choices: list[_Choice] | None = None


class _Extra(msgspec.Struct):
    response: _Response | None = None
    timestamp: float | None = None


class _Message(msgspec.Struct):
    role: str = ""
    content: Content = None
    tool_calls: list[ChatCall] | None = None
    tool_call_id: str | None = None
    extra: _Extra | None = None


class _Document(msgspec.Struct):
    messages: list[_Message]
    info: Any = None
    instance_id: Any = None


_decode = decoder(_Document)


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """The session of the file, or one of each line."""
    for id, document in numbered(transcript.name, documents(transcript, _decode)):
        created_at = next((t for m in document.messages if (t := _time(m)) is not None), 0)
        recorder = Recorder(id, created_at=created_at)
        said = _record(document, recorder, transcript.attachments)
        head = header(id, created_at=created_at)
        yield ImportedSession(id, FORMAT, head, events_of(recorder, said))


def _time(message: _Message) -> int | None:
    extra = message.extra or _Extra()
    response = extra.response or _Response()
    return epoch_ms(extra.timestamp or response.created)


def _record(document: _Document, recorder: Recorder, keep: Attachments) -> Iterator[None]:
    messages = document.messages
    model = found(document.info, "config", "model", "model_name")
    recorder.route(Route(_provider(messages), model if isinstance(model, str) else ""))
    spoken = calls = 0
    now = 0
    for message, after in zip_longest(messages, messages[1:]):
        now = max(now + 1, _time(message) or 0)
        recorder.at(0, now)
        content = blocks(message.content, keep)
        match message.role:
            case "system":
                recorder.system(content)
            case "assistant":
                calls += 1
                answered = after is not None and after.role == "user"
                _assistant(message, f"{TOOL}-{calls}", recorder, answered=answered)
            case "user" if not (spoken or calls):
                spoken = 1
                recorder.turn(content)
            case "user" | "tool":
                recorder.result(message.tool_call_id or "", Answer(content, is_error=False))
            case role:
                recorder.keep("x/message", {"role": role, "content": content})
        yield
    told = {key: found(document.info, key) for key in _OUTCOME}
    outcome(recorder, told | {"instance_id": document.instance_id})


def _provider(messages: list[_Message]) -> str:
    for message in messages:
        if message.extra and message.extra.response and message.extra.response.provider:
            return message.extra.response.provider
    return ""


def _assistant(message: _Message, id: str, recorder: Recorder, *, answered: bool) -> None:
    response = message.extra.response if message.extra else None
    response = response or _Response()
    recorder.step(model=response.model or "", usage=chat_usage(response.usage))
    _reasoning(response, recorder)
    if message.tool_calls or not answered:
        said, command = plain(message.content), None
    else:
        said, command = _split(plain(message.content))
    if said:
        recorder.say(Text(said))
    for call in message.tool_calls or ():
        record_call(call, recorder)
    if command is not None:
        recorder.call(id, TOOL, command)


def _reasoning(response: _Response, recorder: Recorder) -> None:
    said = next((choice.message for choice in response.choices or () if choice.message), _Said())
    thought = said.reasoning or said.reasoning_content
    details = [d for d in said.reasoning_details or () if found(d, "type") != "reasoning.text"]
    if thought or details:
        state = {"openrouter": {"reasoning_details": details}} if details else None
        recorder.say(Reasoning(thought or ""), state=state)


def _split(words: str) -> tuple[str, str]:
    """What a message says beside its first fenced command, and the command with its line end."""
    fence = _FENCE.search(words)
    if fence is None:
        return words, ""
    end = words.find("\n```", fence.end() - 1) + 1 or len(words)
    return words[: fence.start()] + words[end + 3 :], words[fence.end() : end]
