"""JSON of providers, read as far as it goes: no value of it is trusted to be what it should."""

import json
from typing import Any

import msgspec

_MOST_TOKENS = 1 << 53


def decoded(data: str) -> dict[str, Any] | None:
    """The object that `data` is; None when it is no JSON or no object."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        try:
            # Takes lone surrogates and numbers of any size, which the fast one does not.
            found = json.loads(data)
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, dict) else None


def as_object(value: object) -> dict[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_string(value: object) -> str:
    """A string without halves of characters, or an empty one."""
    return whole(value) if isinstance(value, str) else ""


def as_count(value: object) -> int | None:
    """A number of tokens, or of a block."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS:
        return value
    return None


def whole(text: str) -> str:
    """`text` with U+FFFD for each half of a character that stands alone."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class Mended:
    """Texts that come in parts, where a part may end in half a character."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def take(self, value: object) -> str:
        """The text that is whole now; empty for what is no text."""
        if not isinstance(value, str) or not value:
            return ""
        text, self._half = self._half + value, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole(text)

    def rest(self) -> str:
        """What is left at the end: a replacement for a half that stayed alone."""
        half, self._half = self._half, ""
        return whole(half)


def json_text(value: object) -> str:
    """A value that a server sends as JSON where a string of JSON should stand."""
    try:
        return msgspec.json.encode(value).decode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError, OverflowError):
        try:
            return whole(json.dumps(value))
        except (ValueError, RecursionError, TypeError):
            return ""
