"""Values that importers make of foreign JSON: arguments, opaque JSON, times and contents."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Raw

from slicetape.log.messages import Text


def arguments(value: Any) -> str:
    """The argument string of a call: a string as it is, other JSON as `json.dumps` writes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def raw(value: Any) -> Raw:
    """The value as opaque JSON; lone surrogates become escapes, as JavaScript writes them."""
    try:
        return Raw(msgspec.json.encode(value))
    except UnicodeEncodeError:
        return Raw(json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode())


def text(value: str | None) -> tuple[Text, ...]:
    """One text block, or nothing for None and the empty string."""
    return (Text(value),) if value else ()


def epoch_ms(value: str | float | None) -> int | None:
    """Epoch milliseconds of an ISO 8601 time (UTC where no zone is named) or of a number.

    Numbers below 10^11 are seconds. None for what is no time.
    """
    if isinstance(value, int | float):
        return int(value * 1000) if abs(value) < 1e11 else int(value)
    if not value:
        return None
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return round(when.timestamp() * 1000)
