"""Which format a transcript has, by its content, and the way to its sessions."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from slicetape.errors import TranscriptError
from slicetape.formats.decoding import Damaged, Unexpected, decoder
from slicetape.formats.media import Attachments
from slicetape.formats.outline import outline
from slicetape.formats.session import ImportedSession
from slicetape.formats.source import Transcript

MODULES = {
    "claude-code": "claude_code",
    "codex-rollout": "codex",
    "copilot-cli": "copilot",
    "opencode": "opencode",
    "gemini-cli": "gemini",
    "pi": "pi",
    "dsh-session": "dsh",
    "swe-agent": "swe_agent",
    "mini-swe-agent": "mini_swe_agent",
    "openhands": "openhands",
    "openai-chat": "openai_chat",
    "inspect": "inspect_log",
    "aider-md": "aider",
    "anthropic-messages": "anthropic_messages",
}
"""Each format and the module that reads it."""

_HEADS = (1 << 16, 1 << 23)
_LINES = 50
_COPILOT = ("session.", "user.message", "assistant.", "system.message", "tool.execution")
_ANTHROPIC_KEYS = ("tool_use_id", "input", "thinking", "source")
_CLAUDE_ONLY = {"parentUuid", "leafUuid", "isSidechain"}
_CLAUDE_TYPES = {"file-history-snapshot", "queue-operation", "custom-title", "summary"}


class _Importer(Protocol):
    def open_sessions(self, transcript: Transcript) -> Iterator[ImportedSession]: ...


Record = Mapping[str, Any]

_decode = decoder(dict[str, Any])


def open_sessions(
    path: str | Path, *, format: str | None = None, attachments: Attachments | None = None
) -> Iterator[ImportedSession]:
    """The sessions of a transcript file, in its order; the events of one are read at a time.

    The format is found by content unless it is given. Raises TranscriptError, in one message,
    for a file of no known format and for one that is damaged from the start.
    """
    transcript = Transcript(path, attachments=attachments)
    if format is None:
        format = _found(transcript)
    elif format not in MODULES:
        known = ", ".join(sorted(MODULES))
        raise TranscriptError(f"unknown format {format[:60]!r}; known formats: {known}")
    module = importlib.import_module(f"slicetape.formats.{MODULES[format]}")
    return cast("_Importer", module).open_sessions(transcript)


def _found(transcript: Transcript) -> str:
    error: TranscriptError | None = None
    for size in _HEADS:
        head = transcript.head(size)
        try:
            return detect(head, transcript.path.name)
        except TranscriptError as failure:
            error = failure
        if len(head) < size:
            break
    assert error is not None
    raise error


def detect(head: bytes, name: str) -> str:
    """The format of the transcript that begins with `head`; `name` is used in the error only.

    A head of 64 KB is enough for lines; a document may need more, up to all of it.
    """
    body = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not body:
        raise _unknown(name, "is empty")
    if body[:4] == b"PK\x03\x04":
        raise _unknown(name, "is a zip archive; unpack it and name the file inside")
    binary = b"\0" in head
    if binary and body[:1] != b"{":
        raise _unknown(name, "is binary or damaged: it has NUL bytes")
    if body[:1] not in b"{[":
        if _is_aider(head):
            return "aider-md"
        raise _unknown(name, "is no transcript of a known format")
    for record in _records(body):
        for format, fits in _RECORDS.items():
            if fits(record):
                return format
    paths = outline(body)
    for format, fits_paths in _DOCUMENTS.items():
        if fits_paths(paths):
            return format
    if binary:
        raise _unknown(name, "is damaged: it has NUL bytes")
    raise _unknown(name, "is JSON, but no transcript of a known format")


def _unknown(name: str, problem: str) -> TranscriptError:
    known = ", ".join(sorted(MODULES))
    return TranscriptError(
        f"{name[:200]!r} {problem}.\nLooked for {known}; name the right one with --format."
    )


def _records(body: bytes) -> Iterator[Record]:
    """The records of the first lines, as far as they are whole."""
    for line in body.split(b"\n", _LINES)[:_LINES]:
        try:
            yield _decode(line)
        except (Damaged, Unexpected):
            continue


def _type(record: Record) -> str:
    kind = record.get("type")
    return kind if isinstance(kind, str) else ""


def _is_dsh(record: Record) -> bool:
    return _type(record) == "session" and "createdAt" in record and "version" in record


def _is_pi(record: Record) -> bool:
    return _type(record) == "session" and "timestamp" in record and "id" in record


def _is_codex(record: Record) -> bool:
    return isinstance(record.get("payload"), dict) and "type" in record


def _is_copilot(record: Record) -> bool:
    return _type(record).startswith(_COPILOT) and isinstance(record.get("data"), dict)


def _is_claude(record: Record) -> bool:
    kind = _type(record)
    if kind in _CLAUDE_TYPES:
        return bool(record.keys() & {"leafUuid", "sessionId", "snapshot"})
    return bool(kind) and ("sessionId" in record or bool(record.keys() & _CLAUDE_ONLY))


_RECORDS: Mapping[str, Callable[[Record], bool]] = {
    "dsh-session": _is_dsh,
    "pi": _is_pi,
    "copilot-cli": _is_copilot,
    "codex-rollout": _is_codex,
    "claude-code": _is_claude,
}


def _is_opencode(paths: frozenset[str]) -> bool:
    return "messages[].parts" in paths or {"info.slug", "info.projectID"} <= paths


def _is_gemini(paths: frozenset[str]) -> bool:
    return {"sessionId", "messages"} <= paths and "messages[].type" in paths


def _is_inspect(paths: frozenset[str]) -> bool:
    return "eval" in paths and bool(paths & {"samples", "eval.task", "eval.task_id"})


def _is_swe_agent(paths: frozenset[str]) -> bool:
    return "trajectory[].action" in paths or "trajectory[].observation" in paths


def _is_mini(paths: frozenset[str]) -> bool:
    return bool(paths & {"trajectory_format", "info.mini_version"})


def _is_openhands(paths: frozenset[str]) -> bool:
    flat = paths & {"history[].action", "history[].observation"}
    paired = paths & {"history[][].action", "history[][].observation"}
    return bool(flat or paired) or {"[].action", "[].source"} <= paths


def _is_anthropic(paths: frozenset[str]) -> bool:
    """Content blocks of no other chat wire, or a system prompt beside the messages."""
    own = {f"{place}[].content[].{key}" for place in ("messages", "") for key in _ANTHROPIC_KEYS}
    return bool(paths & own) or {"system", "messages[].role"} <= paths


def _is_chat(paths: frozenset[str]) -> bool:
    places = ("messages", "traj", "trajectory", "", "[].messages", "[].traj", "[].trajectory")
    lines = {"role", "content"} <= paths
    return lines or any(f"{place}[].role" in paths for place in places)


_DOCUMENTS: Mapping[str, Callable[[frozenset[str]], bool]] = {
    "opencode": _is_opencode,
    "gemini-cli": _is_gemini,
    "inspect": _is_inspect,
    "mini-swe-agent": _is_mini,
    "swe-agent": _is_swe_agent,
    "openhands": _is_openhands,
    "anthropic-messages": _is_anthropic,
    "openai-chat": _is_chat,
}


def _is_aider(head: bytes) -> bool:
    lines = head.split(b"\n")
    return any(line.startswith((b"# aider chat started at", b"#### ")) for line in lines)
