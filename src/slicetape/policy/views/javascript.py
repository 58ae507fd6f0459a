"""JSON as the reference reads and writes it: numbers are doubles, integer-like keys come first."""

import json
import re
from typing import Any, NoReturn

_INDEX = re.compile(r"(?:0|[1-9][0-9]{0,9})\Z")


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _ordered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    indices = sorted(
        (key for key in members if _INDEX.match(key) and int(key) < 2**32 - 1), key=int
    )
    if not indices:
        return members
    return {key: members[key] for key in indices} | members


def parse(text: str) -> Any:
    """The value of a JSON text; ValueError when it is none."""
    return json.loads(text, parse_int=float, parse_constant=_refuse, object_pairs_hook=_ordered)


def number(value: float) -> str:
    """A number as JSON.stringify writes it."""
    if value != value or value in (float("inf"), float("-inf")):
        return "null"
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, part = mantissa.partition(".")
    part = "" if part == "0" else part
    point = len(whole) + int(exponent or 0)
    digits = whole + part
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        body = digits + "0" * (point - count)
    elif 0 < point <= 21:
        body = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        body = "0." + "0" * -point + digits
    else:
        power = point - 1
        tail = f".{digits[1:]}" if count > 1 else ""
        body = f"{digits[0]}{tail}e{'+' if power > 0 else '-'}{abs(power)}"
    return sign + body


def write(value: Any) -> str:
    """Compact JSON of a value from `parse`."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | int):
        return number(float(value))
    if isinstance(value, list):
        return "[" + ",".join(map(write, value)) + "]"
    return "{" + ",".join(f"{write(k)}:{write(v)}" for k, v in value.items()) + "}"
