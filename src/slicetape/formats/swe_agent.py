"""SWE-agent trajectories: the steps of `trajectory`, the prompts and call ids of `history`.

A step repeats the whole request that led to it (`query`, `messages`); that is not read.
"""

from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

import msgspec

from slicetape.errors import TranscriptError
from slicetape.formats.decoding import decoder
from slicetape.formats.documents import documents, events_of, found, numbered, outcome
from slicetape.formats.media import Attachments
from slicetape.formats.parts import Content, blocks
from slicetape.formats.recorder import Answer, Recorder, Route, plugin
from slicetape.formats.session import ImportedSession, header
from slicetape.formats.source import Transcript
from slicetape.formats.values import text
from slicetape.log.messages import Text

FORMAT = "swe-agent"
_OUTCOME = ("exit_status", "submission", "model_stats")


class _Call(msgspec.Struct):
    id: str | None = None


class _Message(msgspec.Struct):
    role: str = ""
    content: Content = None
    is_demo: bool | None = None
    tool_calls: list[_Call] | None = None


class _Step(msgspec.Struct):
    response: str | None = None
    thought: str | None = None
    action: str | None = None
    observation: str | None = None
    execution_time: float | None = None
    state: Any = None


class _Document(msgspec.Struct):
    trajectory: list[_Step]
    history: list[_Message] | None = None
    info: Any = None
    replay_config: Any = None


_decode = decoder(_Document)
_decode_config = decoder(object)


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """The session of the file, or one of each line."""
    for id, document in numbered(transcript.name, documents(transcript, _decode)):
        recorder = Recorder(id)
        said = _record(document, recorder, transcript.attachments)
        yield ImportedSession(id, FORMAT, header(id), events_of(recorder, said))


def _record(document: _Document, recorder: Recorder, keep: Attachments) -> Iterator[None]:
    recorder.route(Route("", _model(document.replay_config)))
    history = document.history or []
    _open(history, recorder, keep)
    for number, (step, id) in enumerate(zip(document.trajectory, _ids(document), strict=False), 1):
        recorder.at(number + 1)
        recorder.step()
        _step(step, id or f"action-{number}", recorder)
        yield
    outcome(recorder, {key: found(document.info, key) for key in _OUTCOME})


def _model(config: Any) -> str:
    if isinstance(config, str):
        try:
            config = _decode_config(config.encode("utf-8", "surrogatepass"))
        except TranscriptError:
            return ""
    name = found(config, "agent", "model", "name")
    return name if isinstance(name, str) and name != "replay" else ""


def _open(history: list[_Message], recorder: Recorder, keep: Attachments) -> None:
    """The messages before the first step: prompt, demonstrations, and the one human message."""
    recorder.at(1)
    recorder.turn(None)
    for message in history:
        content = blocks(message.content, keep)
        if message.is_demo:
            recorder.note(content, source=plugin(f"{FORMAT}:demonstration"))
        elif message.role == "system":
            recorder.system(content)
        elif message.role == "user":
            recorder.note(content)
            return


def _ids(document: _Document) -> Iterator[str]:
    """The recorded call id of each step; the history tells it when it has the same steps."""
    said = [m for m in document.history or [] if m.role == "assistant" and not m.is_demo]
    if len(said) != len(document.trajectory):
        return repeat("")
    ids = ((message.tool_calls or [_Call()])[0].id or "" for message in said)
    return chain(ids, repeat(""))


def _step(step: _Step, id: str, recorder: Recorder) -> None:
    action, observation = step.action or "", step.observation or ""
    said = step.thought or ("" if action else step.response or "")
    if said:
        recorder.say(Text(said))
    if not action.strip():
        if observation:
            recorder.note(text(observation), source=plugin(f"{FORMAT}:observation"))
        return
    call = recorder.call(id, action.split(maxsplit=1)[0], action)
    meta = {"executionTime": step.execution_time, "state": step.state}
    told = {key: value for key, value in meta.items() if value is not None}
    recorder.result(call, Answer(text(observation), is_error=False, meta=told))
