"""The view of JSON: its first items, its last ones and those that look like errors."""

import re
from collections.abc import Sequence
from itertools import islice
from math import ceil
from typing import Any

import msgspec

from slicetape.policy.settings import DigestSettings
from slicetape.policy.views.items import Items
from slicetape.policy.views.subject import Condensed, Subject

_HEAD_SHARE, _TAIL_SHARE = 0.3, 0.15
_MOST_FIELDS, _MOST_CONSTANTS, _MOST_TRIED = 12, 6, 40
_LONGEST_STRING = 200
_LONGEST_CONSTANT = 40
_BAD_STATUS = 400

_STEMS = ("error", "fail", "exception", "fatal", "denied", "timeout", "invalid", "panic")
_WORD = re.compile(rf"(?ai:{'|'.join(_STEMS)})")
_STEM_BYTES = tuple(stem.encode() for stem in _STEMS)
_STATUSES = ("status", "statusCode", "code")
_LEVEL = re.compile(r"(?ai:error|fatal|warn)")


def condense_json(subject: Subject, items: Items) -> Condensed:
    """The view of items, one a line; each gap says how many of them are missing."""
    settings, count = subject.settings, len(items.texts)
    if len(subject.text) < settings.min_chars or count < settings.json_min_items:
        return subject.whole("json")
    first: dict[str | bytes, int] = {}
    for index, text in enumerate(items.texts):
        first.setdefault(text, index)
    keep = _pick(list(first.values()), items, settings)
    if len(keep) == count:
        return subject.whole("json")
    copies = count - len(first)
    note = f" of {count} items omitted"
    note += f", {copies} duplicates" if copies else ""
    note += _fields(items.values)
    constants = _constants(items) if subject.rules.constant_fields else ""
    shown: list[str] = []
    at = 0
    for index in (*sorted(keep), count):
        if index > at:
            shown.append(f"…[+{index - at}{note}]…")
            if constants:
                shown.append(constants)
                constants = ""
        if index < count:
            shown.append(items.text(index))
        at = index + 1
    view = items.frame(shown)
    return subject.admit(view, "json", view.count("\n") + 1)


def _bad_verdict(value: dict[str, Any]) -> bool:
    """Whether an item looks like an error by its status or level."""
    for key in _STATUSES:
        code = value.get(key)
        if isinstance(code, int | float) and code >= _BAD_STATUS:
            return True
    level = value.get("level")
    return isinstance(level, str) and _LEVEL.search(level) is not None


def _says_wrong(value: dict[str, Any], known: dict[str, bool]) -> bool:
    """Whether an item looks like an error by a key or a short string.

    `known` remembers which keys are named like errors.
    """
    for key, member in value.items():
        wrong = known.get(key)
        if wrong is None:
            wrong = known[key] = _WORD.search(key) is not None
        if wrong and not (member is None or member in (False, 0, "", [], {})):
            return True
        if isinstance(member, str) and len(member) < _LONGEST_STRING and _WORD.search(member):
            return True
    return False


def _pick(unique: list[int], items: Items, settings: DigestSettings) -> set[int]:
    most = settings.json_keep_items
    if most >= len(unique):
        return set(unique)
    head, tail = (max(1, ceil(share * most)) for share in (_HEAD_SHARE, _TAIL_SHARE))
    keep = {*unique[:head], *unique[-tail:]}
    known: dict[str, bool] = {}
    for index in unique[head:]:
        if len(keep) >= most:
            break
        value = items.values[index]
        if isinstance(value, dict) and (
            _bad_verdict(value) or (_has_stem(items.texts[index]) and _says_wrong(value, known))
        ):
            keep.add(index)
    return keep


def _has_stem(text: str | bytes) -> bool:
    """False only where no key and no string of an item can have the word of an error."""
    low = text.lower()
    if isinstance(low, str):
        return "\\u" in low or any(stem in low for stem in _STEMS)
    return b"\\u" in low or any(stem in low for stem in _STEM_BYTES)


def _fields(values: Sequence[Any]) -> str:
    names: dict[str, None] = {}
    for value in values:
        if isinstance(value, dict) and not names.keys() >= value.keys():
            names.update(dict.fromkeys(value))
            if len(names) > _MOST_FIELDS:
                break
    if not names:
        return ""
    more = ", …" if len(names) > _MOST_FIELDS else ""
    return f"; fields: {', '.join(list(names)[:_MOST_FIELDS])}{more}"


def _constants(items: Items) -> str:
    """The marker for members that all items have in common: strings, whole numbers, marks.

    Fractions are left out, since two spellings may be one double; so are names that do not occur
    exactly once an item, since a value does not tell which of two equal keys it had.
    """
    values = items.values
    if not all(isinstance(value, dict) for value in values):
        return ""
    data = b"".join(text.encode() if isinstance(text, str) else text for text in items.texts)
    said: list[str] = []
    if b"\\" in data:
        return ""
    for key, member in islice(values[0].items(), _MOST_TRIED):
        kind = type(member)
        if not (_is_short(key) and _is_short(member)) or len(said) == _MOST_CONSTANTS:
            continue
        if any(type(of := value.get(key)) is not kind or of != member for value in values):
            continue
        name = msgspec.json.encode(key)
        if data.count(name) == len(values):
            said.append(f"{name.decode()}:{msgspec.json.encode(member).decode()}")
    if not said:
        return ""
    return f"…[in all {len(values)} items: {','.join(said)}]…"


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_CONSTANT and value.isprintable()
    return value is None or isinstance(value, int)
