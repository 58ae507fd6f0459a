"""OpenHands events: a stream of actions and observations, in three layouts.

The stream names sources, ids and causes. The oldest files hold `[action, observation]` pairs,
or a flat list whose action fields stand at the top level; there an observation answers the
action before it. Edits carry old and new file contents beside the text that the model received;
they are not kept. Past 250 lines: the three layouts share one reading.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from slicetape.formats.decoding import decoder
from slicetape.formats.documents import documents, events_of, found, numbered, outcome
from slicetape.formats.media import Attachments, picture_url
from slicetape.formats.parts import Content, blocks, schemas
from slicetape.formats.pending import ResultBlock
from slicetape.formats.recorder import Answer, Recorder, Route, plugin
from slicetape.formats.session import ImportedSession, header
from slicetape.formats.source import Transcript
from slicetape.formats.usages import chat_usage
from slicetape.formats.values import arguments, epoch_ms, text
from slicetape.log.messages import Block, Reasoning, Text

FORMAT = "openhands"
_HOST_ACTIONS = ("recall", "null", "change_agent_state", "condensation_request")
_FAILURES = ("error", "user_rejected")
_HOST_OBSERVATIONS = ("null", "agent_state_changed")
_HOST_ARGUMENTS = frozenset(
    [
        "thought",
        "confirmation_state",
        "is_confirmed",
        "action_risk",
        "keep_prompt",
        "kernel_init_code",
        "outputs",
    ]
)
"""What the host wrote into an action beside what the model asked for."""

_FLAT_FIELDS = frozenset(("action", "source", "id", "timestamp", "message"))


class _Response(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    usage: Any = None
    choices: Any = None


class _CallData(msgspec.Struct):
    function_name: str | None = None
    tool_call_id: str | None = None
    model_response: _Response | None = None


class _Extras(msgspec.Struct, omit_defaults=True):
    metadata: Any = None
    exit_code: Any = None
    repo_instructions: Any = None
    additional_agent_instructions: Any = None
    microagent_knowledge: Any = None
    agent_state: Any = None
    image_urls: list[str] | None = None


class _Event(msgspec.Struct):
    id: int | str | None = None
    timestamp: str | float | None = None
    source: str | None = None
    action: str | None = None
    args: dict[str, Any] | None = None
    observation: str | None = None
    content: Content = None
    cause: int | str | None = None
    extras: _Extras | None = None
    exit_code: int | None = None
    tool_call_metadata: _CallData | None = None


class _Document(msgspec.Struct):
    history: list[_Event | list[_Event]]
    metadata: Any = None
    metrics: Any = None
    instance_id: Any = None
    test_result: Any = None
    git_patch: Any = None
    success: Any = None
    error: Any = None


class _FlatDocument(msgspec.Struct):
    history: list[dict[str, Any] | list[dict[str, Any]]]


_decode_document = decoder(_Document | list[_Event])  # type: ignore[arg-type]
_decode_flat = decoder(_FlatDocument)


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """The session of the file, or one of each line."""
    for id, document in numbered(transcript.name, documents(transcript, _decode)):
        history = _history(document)
        times = (epoch_ms(event.timestamp) for event in history)
        created_at = next((time for time in times if time is not None), 0)
        recorder = Recorder(id, created_at=created_at)
        said = _record(document, history, recorder, transcript.attachments)
        head = header(id, created_at=created_at)
        yield ImportedSession(id, FORMAT, head, events_of(recorder, said))


def _decode(data: bytes) -> _Document:
    document = _decode_document(data)
    if isinstance(document, list):
        return _Document(history=list(document))
    actions = [event for event in _history(document) if event.action]
    if actions and all(event.args is None for event in actions):
        flat = _decode_flat(data).history
        rows = [row for item in flat for row in (item if isinstance(item, list) else [item])]
        for event, row in zip(_history(document), rows, strict=True):
            event.args = {key: row[key] for key in row if key not in _FLAT_FIELDS}
    return document


def _history(document: _Document) -> list[_Event]:
    return [
        event for item in document.history for event in (item if isinstance(item, list) else [item])
    ]


def _record(
    document: _Document, history: list[_Event], recorder: Recorder, keep: Attachments
) -> Iterator[None]:
    model = _string(found(document.metadata, "llm_config", "model"))
    recorder.route(Route("", model))
    reader = _Reader(recorder, keep, model, usages=_usages(document.metrics))
    for number, event in enumerate(history, 1):
        recorder.at(number, epoch_ms(event.timestamp))
        reader.read(event)
        yield
    error = document.error
    if error:
        recorder.stop("error", message=error if isinstance(error, str) else arguments(error))
    names = ("instance_id", "test_result", "git_patch", "success", "error")
    told = {name: getattr(document, name) for name in names}
    outcome(recorder, told | {"cost": found(document.metrics, "accumulated_cost")})


def _usages(metrics: Any) -> dict[str, Any]:
    rows = found(metrics, "token_usages")
    if not isinstance(rows, list):
        return {}
    return {id: row for row in rows if isinstance(id := found(row, "response_id"), str) and id}


class _Reader:
    """The state between events: the open response, and the call of each action."""

    def __init__(
        self, recorder: Recorder, keep: Attachments, model: str, *, usages: dict[str, Any]
    ) -> None:
        self._recorder = recorder
        self._keep = keep
        self._model = model
        self._usages = usages
        self._response: str | None = None
        self._calls: dict[int | str | None, str] = {}
        self._unanswered: list[str] = []
        self._users_turn = True
        self._count = 0

    def read(self, event: _Event) -> None:
        if event.observation is not None:
            self._observation(event)
        elif event.action is not None:
            self._action(event, event.action, event.args or {})

    def _action(self, event: _Event, action: str, args: dict[str, Any]) -> None:
        recorder = self._recorder
        if action == "system":
            recorder.system(text(_string(args.get("content"))))
            recorder.route(Route("", self._model, tools=schemas(args.get("tools"))))
        elif action == "message" and self._is_users(event):
            self._response, self._users_turn = None, False
            recorder.turn(self._told(args))
        elif action == "condensation":
            recorder.settle()
            recorder.keep("x/compaction", args)
        elif action in _HOST_ACTIONS:
            recorder.keep("x/host", {"action": action, "args": args})
        else:
            self._asked(event, action, args)

    def _is_users(self, event: _Event) -> bool:
        return event.source == "user" if event.source else self._users_turn

    def _asked(self, event: _Event, action: str, args: dict[str, Any]) -> None:
        recorder = self._recorder
        data = event.tool_call_metadata or _CallData()
        self._respond(data.model_response or _Response())
        if action == "message":
            self._users_turn = True
            for block in self._told(args):
                recorder.say(block)
            return
        thought = _string(args.get("thought"))
        if thought:
            recorder.say(Text(thought))
        self._count += 1
        id = data.tool_call_id or f"{action}-{self._count}"
        asked = {key: value for key, value in args.items() if key not in _HOST_ARGUMENTS}
        call = recorder.call(id, data.function_name or action, arguments(asked))
        self._calls[event.id] = call
        self._unanswered.append(call)

    def _respond(self, response: _Response) -> None:
        """Open the response of an action, unless it is that of the action before it."""
        recorder = self._recorder
        if response.id and response.id == self._response and recorder.in_step:
            return
        self._response = response.id
        self._unanswered = []
        usage = chat_usage(self._usages.get(response.id or "") or response.usage)
        recorder.step(model=response.model or "", usage=usage)
        choices = response.choices
        first = choices[0] if isinstance(choices, list) and choices else None
        reasoning = found(first, "message", "reasoning_content")
        if isinstance(reasoning, str) and reasoning:
            recorder.say(Reasoning(reasoning))

    def _told(self, args: dict[str, Any]) -> tuple[Block, ...]:
        urls = args.get("image_urls") or args.get("images_urls")
        urls = urls if isinstance(urls, list) else []
        pictures = [picture_url(url, self._keep) for url in urls if isinstance(url, str)]
        return (*text(_string(args.get("content"))), *pictures)

    def _observation(self, event: _Event) -> None:
        recorder, kind = self._recorder, event.observation
        extras = event.extras or _Extras()
        told = blocks(event.content, self._keep)
        if kind in _HOST_OBSERVATIONS:
            if extras.agent_state is not None:
                recorder.keep("x/host", {"observation": kind, "state": extras.agent_state})
        elif kind == "recall":
            recorder.keep("x/host", {"observation": kind, "content": told, "extras": extras})
        elif event.cause is None and not (event.id is None and self._unanswered):
            recorder.note(told, source=plugin(f"{FORMAT}:notice"))
        else:
            self._result(event, extras, told)

    def _result(self, event: _Event, extras: _Extras, told: tuple[ResultBlock, ...]) -> None:
        id = self._calls.get(event.cause) if event.cause is not None else self._unanswered[0]
        if id in self._unanswered:
            self._unanswered.remove(id)
        pictures = [picture_url(url, self._keep) for url in extras.image_urls or ()]
        code = _exit_code(event, extras)
        failed = event.observation in _FAILURES or code not in (None, 0, -1)
        meta = None if code is None else {"exitCode": code}
        answer = Answer((*told, *pictures), is_error=failed, meta=meta)
        self._recorder.result(id or f"cause {event.cause}", answer)


def _exit_code(event: _Event, extras: _Extras) -> int | None:
    """The recorded exit code; -1 says that the command still runs."""
    for code in (found(extras.metadata, "exit_code"), extras.exit_code, event.exit_code):
        if isinstance(code, int):
            return code
    return None


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
