"""The items of a JSON text: an array, the longest array of an object, or one value a line."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from slicetape.policy.views import javascript
from slicetape.policy.views.rules import Rules

_FEWEST_LINES = 3
_FEWEST_IN_FIELD = 2
_MOST_PLACES = 16
_OPEN = ord("[")


@dataclass(frozen=True, slots=True)
class Items:
    """Items as texts, by which equal ones are told, and as values.

    `form` says what they stand in. For an object, `rest` is the object without the field of the
    items and `field` the name of that field, both as JSON.
    """

    texts: Sequence[str | bytes]
    values: Sequence[Any]
    form: Literal["array", "object", "lines"]
    rest: str = ""
    field: str = ""

    def text(self, index: int) -> str:
        """One item, on one line."""
        text = self.texts[index]
        return text if isinstance(text, str) else text.decode()

    def frame(self, shown: Sequence[str]) -> str:
        """What stands around the lines `shown`."""
        if self.form == "lines":
            return "\n".join(shown)
        array = "[\n" + ",\n".join(shown) + "\n]"
        return array if self.form == "array" else f"{self.rest}\n{self.field}: {array}"


def items_of(text: str, rules: Rules) -> Items | None:
    """The items of a text, None when it is no JSON or has none."""
    text = text.strip("\ufeff \t\r\n\f\v\xa0")
    if not text or text[0] not in "[{" or text[-1] not in "]}":
        return None
    found = _exact_items(text) if rules.own_bytes else _written_items(text)
    return _line_items(text) if found is None and rules.jsonl else found


def _written_items(text: str) -> Items | None:
    """Items as the reference writes them."""
    try:
        value = javascript.parse(text)
        if isinstance(value, list):
            return Items([javascript.write(item) for item in value], value, "array")
        name = _longest({key: len(of) for key, of in value.items() if isinstance(of, list)})
        if name is None:
            return None
        items = value.pop(name)
        texts = [javascript.write(item) for item in items]
        return Items(texts, items, "object", javascript.write(value), javascript.write(name))
    except (ValueError, RecursionError):
        return None


def _exact_items(text: str) -> Items | None:
    """Items by their own bytes, only blanks between tokens left out."""
    try:
        data = msgspec.json.format(text.encode(), indent=-1)
        if data[:1] == b"[":
            return _array_items(data, "array")
        members = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        arrays = {key: bytes(raw) for key, raw in members.items() if memoryview(raw)[0] == _OPEN}
        lengths = {
            key: len(msgspec.json.decode(raw, type=list[msgspec.Raw]))
            for key, raw in arrays.items()
        }
        name = _longest(lengths)
        if name is None:
            return None
        parted = _part(data, name, arrays[name])
    except (ValueError, RecursionError):
        return None
    return parted and _array_items(arrays[name], "object", *parted)


def _longest(lengths: dict[str, int]) -> str | None:
    if not lengths:
        return None
    name = max(lengths, key=lengths.__getitem__)
    return name if lengths[name] >= _FEWEST_IN_FIELD else None


def _array_items(
    data: bytes, form: Literal["array", "object", "lines"], rest: str = "", field: str = ""
) -> Items:
    raws = [bytes(raw) for raw in msgspec.json.decode(data, type=list[msgspec.Raw])]
    return Items(raws, _values(data, raws), form, rest, field)


def _values(data: bytes, raws: list[bytes]) -> list[Any]:
    """The values of an array; those that no double can hold, in their own spelling."""
    try:
        values: list[Any] = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return [_value(raw) for raw in raws]
    return values


def _value(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw.decode()


def _part(data: bytes, name: str, array: bytes) -> tuple[str, str] | None:
    """The compact object `data` without the member `name`, and the name, as they are written.

    The member is found where taking its array away leaves the same object with that member null;
    of members with one name that is the last, as for every reader of JSON. An object with the
    same array in very many places is given up.
    """
    at = data.find(b":" + array)
    for _ in range(_MOST_PLACES):
        if at < 0:
            break
        before, after = data[: at + 1], data[at + 1 + len(array) :]
        left = msgspec.json.decode(before + b"null" + after, type=dict[str, msgspec.Raw])
        if bytes(left.get(name, b"")) == b"null":
            start = _string_start(before, at - 1)
            field = before[start:at].decode()
            before = before[:start]
            if before.endswith(b","):
                before = before[:-1]
            elif after.startswith(b","):
                after = after[1:]
            return (before + after).decode(), field
        at = data.find(b":" + array, at + 1)
    return None


def _string_start(data: bytes, end: int) -> int:
    """Where the string starts whose closing quote stands at `end`."""
    at = data.rfind(b'"', 0, end)
    while True:
        slashes = at
        while slashes > 0 and data[slashes - 1 : slashes] == b"\\":
            slashes -= 1
        if (at - slashes) % 2 == 0:
            return at
        at = data.rfind(b'"', 0, at)


def _line_items(text: str) -> Items | None:
    """One item a line, each line as it stands."""
    lines = [line for line in text.split("\n") if line and not line.isspace()]
    if len(lines) < _FEWEST_LINES or any(line.lstrip()[:1] not in "{[" for line in lines):
        return None
    try:
        rows = [line.strip().encode() for line in lines]
        data = b"[" + b",".join(rows) + b"]"
        raws = [bytes(raw) for raw in msgspec.json.decode(data, type=list[msgspec.Raw])]
    except (ValueError, RecursionError):
        return None
    if raws != rows:
        return None
    return Items([line.rstrip("\r") for line in lines], _values(data, raws), "lines")
