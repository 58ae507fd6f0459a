"""JSON text as JavaScript writes it: UTF-8, the shortest escapes, lone surrogates as escapes."""

import json
import re
from collections.abc import Iterable

import msgspec

from slicetape.errors import WireError

_encode = msgspec.json.Encoder().encode
_LONE = re.compile("[\ud800-\udfff]")
_SHOWN = 80


def whole(text: str) -> str:
    """`text` with each pair of surrogates that stands as two halves made one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def is_broken(text: str) -> bool:
    """Whether `text` holds a surrogate without its other half."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return bool(_LONE.search(whole(text)))
    return False


def json_string(text: str) -> bytes:
    """One JSON string, as `JSON.stringify` writes it."""
    try:
        return _encode(text)
    except UnicodeEncodeError:
        return escaped(json.dumps(whole(text), ensure_ascii=False))


def escaped(json_text: str) -> bytes:
    """JSON text as bytes; a lone surrogate, which only strings can hold, becomes an escape."""
    try:
        return json_text.encode()
    except UnicodeEncodeError:
        return _LONE.sub(lambda half: f"\\u{ord(half[0]):04x}", whole(json_text)).encode()


def json_value(value: object) -> str:
    """Compact JSON text of a parsed value, key order kept."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_list(items: Iterable[bytes]) -> bytes:
    """A JSON list of values that are JSON already."""
    return b"[" + b",".join(items) + b"]"


def is_object(json_text: str) -> bool:
    """Whether a provider would read `json_text` as one JSON object.

    NaN and infinities are refused, and so is nesting deeper than the interpreter can follow.
    """
    if not json_text.lstrip(" \t\r\n").startswith("{"):
        return False
    try:
        json.loads(json_text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def parsed(body: bytes | str) -> dict[str, object]:
    """A request body as a JSON object; anything else is a WireError."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a JSON request body ({shown(str(error))})") from None
    if not isinstance(value, dict):
        raise WireError("a request body is a JSON object; got another kind of value")
    return value


def shown(text: str) -> str:
    """A bounded, escaped excerpt of text nobody vouches for."""
    cut = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return cut.encode("unicode_escape").decode("ascii") if not cut.isprintable() else cut


def _refuse(constant: str) -> object:
    raise ValueError(constant)
