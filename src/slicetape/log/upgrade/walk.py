"""Where events carry messages, and where messages and streams carry blocks."""

from collections.abc import Callable
from typing import Any

from slicetape.log.upgrade.rows import Json

Change = Callable[[Any], Any]
"""Returns its argument, the same object, where nothing changes."""

_WRAPPED = frozenset({"system/message", "assistant/message", "tool/result"})
_LISTS = {"agent/inbox/spliced": "inserted", "session/title-llm-request": "messages"}
_BLOCK_LISTS = {
    "compaction/summary": ("summary", "rawOutput"),
    "tool/ptc-dispatch": ("content",),
}


def each(values: Any, change: Change) -> Any:
    """A list with every member changed, or the list itself."""
    if not isinstance(values, list):
        return values
    out = [change(value) for value in values]
    return values if all(a is b for a, b in zip(out, values, strict=True)) else out


def at(holder: Any, key: str, change: Change) -> Any:
    """An object with one field changed, or the object itself."""
    if not isinstance(holder, dict) or key not in holder:
        return holder
    value = change(holder[key])
    return holder if value is holder[key] else {**holder, key: value}


def messages(event: Json, change: Callable[[Json], Json]) -> Json:
    """The event with its messages changed: `data`, `data.message`, inbox and title lists."""

    def one(message: Any) -> Any:
        return change(message) if isinstance(message, dict) else message

    kind = event["type"]
    if kind == "user/message":
        return _at(event, "data", one)
    if kind in _WRAPPED:
        return _at(event, "data", lambda data: at(data, "message", one))
    key = _LISTS.get(kind)
    if key is not None:
        return _at(event, "data", _listed(key, one))
    return event


def blocks(event: Json, change: Change) -> Json:
    """The event with every declared block changed; arguments and metadata stay opaque.

    A block that a stream only announces arrives as `{"type": …}` with nothing else.
    """

    def content(holder: Any) -> Any:
        return at(holder, "content", lambda value: each(value, change))

    kind = event["type"]
    out = messages(event, content)
    for key in _BLOCK_LISTS.get(kind, ()):
        out = _at(out, "data", _listed(key, change))
    if kind == "team/message/queued":
        out = _at(out, "data", lambda data: at(data, "message", content))
    if kind in {"assistant/message", "assistant/attempt"}:
        out = _at(out, "data", _listed("stream", _stream(change)))
    return out


def _listed(key: str, change: Change) -> Change:
    return lambda data: at(data, key, lambda values: each(values, change))


def _at(event: Json, key: str, change: Change) -> Json:
    out: Json = at(event, key, change)
    return out


def _stream(change: Change) -> Change:
    def chunk(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if value.get("type") == "block-end":
            return at(value, "block", change)
        if value.get("type") == "block-start":
            return at(value, "blockType", announced)
        return value

    def announced(tag: Any) -> Any:
        return change({"type": tag})["type"]

    def record(value: Any) -> Any:
        if isinstance(value, dict) and value.get("type") == "chunk":
            return at(value, "chunk", chunk)
        return value

    return record
