"""Values that importers make of foreign JSON: arguments, opaque JSON, times and contents."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Raw

from slicetape.log.messages import (
    File,
    Image,
    OtherBlock,
    Reasoning,
    Text,
    ToolCall,
    ToolResultBlock,
)

_KINDS = (File, Image, OtherBlock, Reasoning, Text, ToolCall, ToolResultBlock)
_OURS = frozenset(kind.__struct_config__.tag for kind in _KINDS)


_LAST_MS = 253_402_300_800_000  # the year 10000


def arguments(value: Any) -> str:
    """The argument string of a call: a string as it is, other JSON as `json.dumps` writes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def raw(value: Any) -> Raw:
    """The value as opaque JSON that a log takes.

    Lone surrogates become escapes, as JavaScript writes them; -0.0 becomes 0, NaN null.
    """
    data = _encoded(value)
    return Raw(_encoded(_unsigned(value)) if b"-0" in data else data)


def _encoded(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value)
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


def _unsigned(value: Any) -> Any:
    match msgspec.to_builtins(value):
        case dict() as members:
            return {key: _unsigned(member) for key, member in members.items()}
        case list() as items:
            return [_unsigned(item) for item in items]
        case 0.0:
            return 0
        case plain:
            return plain


def text(value: str | None) -> tuple[Text, ...]:
    """One text block, or nothing for None and the empty string."""
    return (Text(value),) if value else ()


def other(block: Any) -> OtherBlock:
    """A block of a kind that we do not have; one whose type says nothing else is wrapped."""
    block = msgspec.to_builtins(block)
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or kind in _OURS:
        block = {"type": "foreign", "block": block}
    return OtherBlock(json.dumps(block))


def epoch_ms(value: str | float | None) -> int | None:
    """Epoch milliseconds of an ISO 8601 time (UTC where no zone is named) or of a number.

    Numbers below 10^11 are seconds. None for what is no time after 1970.
    """
    if isinstance(value, int | float):
        if not 0 < value < _LAST_MS:
            return None
        return int(value * 1000) if value < 1e11 else int(value)
    if not value:
        return None
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    ms = round(when.timestamp() * 1000)
    return ms if ms > 0 else None
