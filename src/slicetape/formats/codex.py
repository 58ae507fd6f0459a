"""Codex rollouts: one `{timestamp, type, payload}` a line, with display copies beside the items.

Turns come from `user_message` events; items in the user or developer role that are not such a
message are context that the program wrote, and become messages of a plugin. A response is the
run of items up to the next `token_count`. Past 250 lines: the record types of the format are
most of it.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec

from slicetape.formats.decoding import decoder
from slicetape.formats.media import Attachments, picture_url
from slicetape.formats.pending import ResultBlock
from slicetape.formats.recorder import Answer, Recorder, Route, plugin
from slicetape.formats.session import Feed, ImportedSession, open_lines
from slicetape.formats.source import Transcript
from slicetape.formats.values import arguments, epoch_ms, other, text
from slicetape.log.messages import Reasoning, Text
from slicetape.log.payloads import Usage

FORMAT = "codex-rollout"
CONTEXT = plugin(f"{FORMAT}:context")
"""The source of context items: instruction files, the environment, developer messages."""

_EXIT = re.compile(r"(?:exited with code|Exit code:) (-?\d+)")
_EXIT_CHARS = 300


class _Part(msgspec.Struct):
    type: str
    text: str = ""
    image_url: Any = None


class _Tokens(msgspec.Struct):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0


class _Info(msgspec.Struct):
    total_token_usage: _Tokens | None = None
    last_token_usage: _Tokens | None = None
    model_context_window: int | None = None


class _Payload(msgspec.Struct):
    type: str = ""
    role: str = ""
    id: Any = None
    call_id: str | None = None
    name: str = ""
    arguments: Any = None
    input: Any = None
    action: Any = None
    content: list[_Part] | None = None
    summary: Any = None
    encrypted_content: str | None = None
    output: Any = None
    tools: Any = None
    message: Any = None
    images: list[str] | None = None
    info: _Info | None = None
    model: str | None = None
    effort: str | None = None
    cwd: str | None = None
    model_provider: str | None = None
    model_context_window: int | None = None
    base_instructions: Any = None
    instructions: str | None = None
    reason: str | None = None
    window_number: int | None = None


class _Line(msgspec.Struct):
    type: str
    payload: _Payload
    timestamp: str | None = None


_decode = decoder(_Line)


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """The one session of the file, read as its events are taken."""

    def begin(recorder: Recorder) -> Feed:
        return _Reader(recorder, transcript.attachments).feed

    yield open_lines(transcript, FORMAT, look=_look, begin=begin)


def _look(line: bytes) -> tuple[int | None, str | None]:
    record = _decode(line)
    return epoch_ms(record.timestamp), record.payload.cwd


class _Reader:
    """The state between lines: the route, items that wait for a turn, the last total usage."""

    def __init__(self, recorder: Recorder, attachments: Attachments) -> None:
        self._recorder = recorder
        self._keep = attachments
        self._route = Route("openai", "")
        self._items: list[tuple[ResultBlock, ...]] = []
        self._closed = True
        self._total: _Tokens | None = None

    def feed(self, number: int, line: bytes) -> None:
        record = _decode(line)
        self._recorder.at(number, epoch_ms(record.timestamp))
        payload = record.payload
        match record.type:
            case "response_item":
                self._item(payload)
            case "event_msg":
                self._event(payload)
            case "compacted":
                self._compacted(payload)
            case "turn_context":
                self._routed(model=payload.model or "", effort=payload.effort)
            case "session_meta":
                self._opened(payload)

    def _opened(self, payload: _Payload) -> None:
        self._routed(provider=payload.model_provider or "openai")
        prompt = payload.base_instructions or payload.instructions
        prompt = prompt.get("text") if isinstance(prompt, dict) else prompt
        if isinstance(prompt, str):
            self._recorder.system((Text(prompt),))

    def _routed(self, **changes: Any) -> None:
        self._route = replace(self._route, **changes)
        if self._route.model:
            self._recorder.route(self._route)

    def _event(self, payload: _Payload) -> None:
        match payload.type:
            case "user_message":
                self._told(payload)
            case "token_count":
                self._counted(payload.info)
            case "task_started" if payload.model_context_window:
                self._routed(window=payload.model_context_window)
            case "turn_aborted":
                self._recorder.stop("aborted")
                self._recorder.keep("x/interrupted", {"reason": payload.reason})
            case "error" | "stream_error":
                self._recorder.stop("error", message=str(payload.message or ""))
                self._recorder.keep("x/error", {"message": payload.message})

    def _told(self, payload: _Payload) -> None:
        said = payload.message if isinstance(payload.message, str) else ""
        items, self._items = self._items, []
        content: tuple[ResultBlock, ...] = ()
        for at in reversed(range(len(items))):
            if _joined(items[at]) == said:
                content = items.pop(at)
                break
        else:
            pictures = [picture_url(url, self._keep) for url in payload.images or ()]
            content = (Text(said), *pictures)
        self._recorder.turn(content)
        for item in items:
            self._recorder.note(item, source=CONTEXT)
        self._closed = True

    def _counted(self, info: _Info | None) -> None:
        self._closed = True
        if info is None or info.last_token_usage is None:
            return
        if info.model_context_window and info.model_context_window != self._route.window:
            self._routed(window=info.model_context_window)
        if info.total_token_usage is not None and info.total_token_usage == self._total:
            return
        self._total = info.total_token_usage
        usage = _usage(info.last_token_usage)
        if self._recorder.in_step:
            self._recorder.usage(usage)
        else:
            self._recorder.keep("x/usage", msgspec.to_builtins(usage))

    def _compacted(self, payload: _Payload) -> None:
        self._recorder.settle()
        data = {"summary": payload.message or "", "windowNumber": payload.window_number}
        self._recorder.keep("x/compaction", data)

    def _item(self, payload: _Payload) -> None:
        recorder = self._recorder
        match payload.type:
            case "message" if payload.role != "assistant":
                self._context(payload)
            case "message":
                self._step(payload)
                for part in payload.content or ():
                    recorder.say(Text(part.text))
            case "reasoning":
                self._step(payload)
                self._reasoned(payload)
            case "function_call_output" | "custom_tool_call_output" | "tool_search_output":
                recorder.result(payload.call_id or "", self._answer(payload))
            case kind if kind.endswith("_call"):
                self._step(payload)
                name = payload.name or kind.removesuffix("_call")
                recorder.call(payload.call_id or _id(payload), name, _arguments(payload))

    def _context(self, payload: _Payload) -> None:
        blocks = tuple(self._block(part) for part in payload.content or ())
        self._items.append(blocks)

    def _step(self, payload: _Payload) -> None:
        if self._closed or not self._recorder.in_step:
            for item in self._items:
                self._recorder.note(item, source=CONTEXT)
            self._items = []
            self._recorder.step(id=_id(payload))
            self._closed = False

    def _reasoned(self, payload: _Payload) -> None:
        parts = [*(payload.summary or ()), *msgspec.to_builtins(payload.content or [])]
        said = "\n".join(part.get("text", "") for part in parts if isinstance(part, dict))
        state = {"encryptedContent": payload.encrypted_content}
        self._recorder.say(Reasoning(said), state=state if payload.encrypted_content else None)

    def _answer(self, payload: _Payload) -> Answer:
        output = payload.tools if payload.output is None else payload.output
        if isinstance(output, dict):
            output = output.get("content", output)
        content: tuple[ResultBlock, ...] = text(arguments(output))
        if isinstance(output, list) and payload.tools is None:
            with suppress(msgspec.ValidationError):
                parts = msgspec.convert(output, list[_Part])
                content = tuple(self._block(part) for part in parts)
        exit_code = _EXIT.search(_joined(content)[:_EXIT_CHARS])
        return Answer(content, is_error=bool(exit_code and int(exit_code[1])))

    def _block(self, part: _Part) -> ResultBlock:
        if part.type.endswith("text"):
            return Text(part.text)
        url = part.image_url.get("url") if isinstance(part.image_url, dict) else part.image_url
        if part.type == "input_image" and isinstance(url, str):
            return picture_url(url, self._keep)
        return other(part)


def _id(payload: _Payload) -> str:
    return payload.id if isinstance(payload.id, str) else ""


def _arguments(payload: _Payload) -> str:
    for value in (payload.arguments, payload.input, payload.action):
        if value is not None:
            return arguments(value)
    return ""


def _joined(blocks: Sequence[ResultBlock]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, Text))


def _usage(tokens: _Tokens) -> Usage:
    return Usage(
        input_tokens=max(0, tokens.input_tokens - tokens.cached_input_tokens),
        output_tokens=tokens.output_tokens,
        cache_read_tokens=tokens.cached_input_tokens,
        reasoning_tokens=tokens.reasoning_output_tokens,
    )
