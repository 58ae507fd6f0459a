"""Format 0 to 1: retired names and shapes of the first builds. No seq changes.

Ids that those builds did not mint are derived from the session and the seq, so that two
migrations of one file agree.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from slicetape.log.upgrade.rows import Json, Row, damaged, unsupported

_RENAMED = {
    "compact/start": "compaction/start",
    "compact/summary": "compaction/summary",
    "compact/end": "compaction/end",
    "compact/prune": "compaction/prune",
}
_REFUSED = frozenset({"request/header-delta", "mode/set"})


def modernize(rows: Iterable[Row], session: str) -> Iterator[Row]:
    """The rows of a format 0 file as format 1 says them.

    UnsupportedFormat for `request/header-delta`, `mode/set` and a header that was logged as
    a fallback: what such a session sent cannot be rebuilt.
    """
    repairs = _Repairs(session)
    for row in rows:
        yield repairs.repaired(row)


class _Repairs:
    """What later events of a file need to know of earlier ones."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._results: dict[int, str] = {}
        self._retries: dict[str, str] = {}
        self._compaction: str | None = None
        self._steps: dict[str, Callable[[Row, Json], Json]] = {
            "turn/start": _turn_start,
            "turn/end": _turn_end,
            "request/header": _request_header,
            "steering/message": self._steering,
            "user/message": self._user,
            "assistant/message": self._assistant,
            "tool/result": self._result,
            "llm/retry": self._retry,
            "compaction/start": self._bracket_start,
            "compaction/summary": self._bracket,
            "compaction/end": self._bracket,
            "session/end-seed": self._end_seed,
        }

    def repaired(self, row: Row) -> Row:
        if row.kind in _REFUSED:
            raise unsupported(row, "events of this retired kind cannot be migrated")
        if row.kind in _RENAMED:
            row = _with(row, {**row.event, "type": _RENAMED[row.kind]})
        step = self._steps.get(row.kind)
        if step is None:
            return row
        event = step(row, row.event)
        return row if event is row.event else _with(row, event)

    def _legacy_id(self, row: Row) -> str:
        return f"legacy-message:{self._session}:{row.origin}"

    def _steering(self, row: Row, event: Json) -> Json:
        data = row.data
        wrapped = data.get("message")
        if isinstance(wrapped, dict):
            return {**event, "type": "user/message", "data": wrapped}
        message = {key: value for key, value in data.items() if key != "turn"}
        identity = {"id": self._legacy_id(row), "role": "user"}
        return {**event, "type": "user/message", "data": message | identity}

    def _user(self, row: Row, event: Json) -> Json:
        data = row.data
        source = data.get("source")
        if (
            self._compaction is not None
            and isinstance(source, dict)
            and source.get("plugin") == "compact"
            and source.get("kind") == "plugin"
            and "compactionId" not in source
        ):
            data = {**data, "source": {**source, "compactionId": self._compaction}}
        if {"content", "source"} <= data.keys() and not data.keys() & {"id", "role", "message"}:
            data = {**data, "id": self._legacy_id(row), "role": "user"}
        return event if data is row.data else {**event, "data": data}

    def _assistant(self, row: Row, event: Json) -> Json:
        data = row.data
        if "message" in data or not {"content", "provenance"} <= data.keys():
            return event
        if not isinstance(data["provenance"], dict):
            raise damaged(row, "provenance must be an object")
        rest = {key: data[key] for key in data if key not in {"content", "provenance"}}
        message = {
            "id": self._legacy_id(row),
            "role": "assistant",
            "content": data["content"],
            "source": {**data["provenance"], "kind": "model"},
        }
        return {**event, "data": {**rest, "message": message}}

    def _result(self, row: Row, event: Json) -> Json:
        data = row.data
        if "message" not in data and {"callId", "content", "isError"} <= data.keys():
            wrapper = {"callId", "content", "isError"}
            rest = {key: data[key] for key in data if key not in wrapper}
            block = {"type": "tool-result", "toolCallId": data["callId"]}
            block |= {"content": data["content"], "isError": data["isError"]}
            message: Json = {
                "id": self._result_id(row),
                "role": "user",
                "content": [block],
                "source": {"kind": "tool", "callId": data["callId"]},
            }
            event = {**event, "data": {**rest, "message": message}}
        message = event["data"].get("message")
        if isinstance(message, dict) and isinstance(message.get("id"), str):
            self._results[row.origin] = message["id"]
        return event

    def _result_id(self, row: Row) -> str:
        """A replacement keeps the id of the result that it stands for."""
        operation = row.event.get("surfaceOp")
        if not isinstance(operation, dict):
            return self._legacy_id(row)
        start: Any = operation.get("start")
        if type(start) is not int or start not in self._results:
            raise damaged(row, "it replaces a message that has no id")
        return self._results[start]

    def _retry(self, row: Row, event: Json) -> Json:
        data = row.data
        keys = ("turn", "step", "provider", "policyKey")
        chain = json.dumps([data.get(key) for key in keys])
        if "retryId" not in data:
            known = self._retries.get(chain) or f"legacy-retry:{self._session}:{row.origin}"
            event = {**event, "data": {**data, "retryId": known}}
        self._retries[chain] = event["data"]["retryId"]
        return event

    def _bracket_start(self, row: Row, event: Json) -> Json:
        if "compactionId" not in row.data:
            identity = f"legacy-compaction:{self._session}:{row.origin}"
            event = {**event, "data": {**row.data, "compactionId": identity}}
        self._compaction = event["data"]["compactionId"]
        return event

    def _bracket(self, row: Row, event: Json) -> Json:
        if self._compaction is not None and "compactionId" not in row.data:
            event = {**event, "data": {**row.data, "compactionId": self._compaction}}
        if row.kind == "compaction/end":
            self._compaction = None
        return event

    def _end_seed(self, _row: Row, event: Json) -> Json:
        self._compaction = None
        return event


def _with(row: Row, event: Json) -> Row:
    return Row(row.line, row.origin, event)


def _turn_start(row: Row, event: Json) -> Json:
    if "trigger" not in row.data:
        return event
    return {**event, "data": {key: row.data[key] for key in row.data if key != "trigger"}}


def _turn_end(row: Row, event: Json) -> Json:
    reason = row.data.get("reason")
    if not isinstance(reason, dict):
        raise damaged(row, "a turn end needs a reason")
    current: Json
    match reason.get("kind"):
        case "aborted" if "reason" not in reason:
            current = {"kind": "aborted", "reason": {"kind": "legacy"}}
        case "disposed":
            current = {"kind": "aborted", "reason": {"kind": "disposed"}}
        case "error" if "error" not in reason:
            current = {"kind": "error", "error": _failure(row, reason)}
        case _:
            return event
    return {**event, "data": {**row.data, "reason": current}}


def _failure(row: Row, reason: Json) -> Json:
    failure = reason.get("failure")
    if isinstance(failure, dict):
        return failure
    message, code = reason.get("message"), reason.get("code", "UNKNOWN")
    if not isinstance(message, str) or not isinstance(code, str):
        raise damaged(row, "an error needs a message")
    return {"message": message, "code": code}


def _request_header(row: Row, event: Json) -> Json:
    if row.data.get("reason") == "fallback":
        raise unsupported(row, "a header logged as a fallback cannot be migrated")
    header = row.data.get("header")
    if not isinstance(header, dict) or "messagePrefix" not in header:
        return event
    current = {key: header[key] for key in header if key != "messagePrefix"}
    return {**event, "data": {**row.data, "header": current}}
