"""The view of JSON: its first items, its last ones and those that look like errors."""

import re
from collections.abc import Sequence
from math import ceil
from typing import Any

import msgspec

from slicetape.policy.settings import DigestSettings
from slicetape.policy.views.items import Items
from slicetape.policy.views.subject import Condensed, Subject

_HEAD_SHARE, _TAIL_SHARE = 0.3, 0.15
_MOST_FIELDS, _MOST_CONSTANTS = 12, 6
_LONGEST_STRING = 200
_LONGEST_CONSTANT = 40
_BAD_STATUS = 400

_STEMS = ("error", "fail", "exception", "fatal", "denied", "timeout", "invalid", "panic")
_WORD = re.compile(rf"(?ai:{'|'.join(_STEMS)})")
_STEM_BYTES = tuple(stem.encode() for stem in _STEMS)
_VERDICTS = frozenset({"status", "statusCode", "code", "level"})
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


def looks_wrong(value: object, known: dict[str, bool] | None = None) -> bool:
    """Whether an item looks like an error: by a key, a short string, a status or a level.

    `known` remembers which keys are named like errors.
    """
    if not isinstance(value, dict):
        return False
    named = {} if known is None else known
    for key, member in value.items():
        wrong = named.get(key)
        if wrong is None:
            wrong = named[key] = _WORD.search(key) is not None
        if wrong and not (member is None or member in (False, 0, "", [], {})):
            return True
        if isinstance(member, str) and len(member) < _LONGEST_STRING and _WORD.search(member):
            return True
    for key in ("status", "statusCode", "code"):
        code = value.get(key)
        if isinstance(code, int | float) and code >= _BAD_STATUS:
            return True
    level = value.get("level")
    return isinstance(level, str) and _LEVEL.search(level) is not None


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
        if _may_be_wrong(items.texts[index], items.values[index]) and looks_wrong(
            items.values[index], known
        ):
            keep.add(index)
    return keep


def _may_be_wrong(text: str | bytes, value: object) -> bool:
    """False only where `looks_wrong` cannot be true, told by the letters of the item."""
    if not isinstance(value, dict):
        return False
    if not value.keys().isdisjoint(_VERDICTS):
        return True
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
    left = {key: of for key, of in values[0].items() if _is_short(key) and _is_short(of)}
    for value in values:
        for key, member in list(left.items()):
            other = value.get(key, values)
            if type(other) is not type(member) or other != member:
                del left[key]
        if not left:
            return ""
    said = [
        f"{name}:{msgspec.json.encode(member).decode()}"
        for key, member in left.items()
        if _occurs_once(items, name := msgspec.json.encode(key).decode())
    ]
    if not said:
        return ""
    return f"…[in all {len(values)} items: {','.join(said[:_MOST_CONSTANTS])}]…"


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_CONSTANT and value.isprintable()
    return value is None or isinstance(value, int)


def _occurs_once(items: Items, name: str) -> bool:
    wanted = name.encode()
    return all(
        (text.encode() if isinstance(text, str) else text).count(wanted) == 1
        for text in items.texts
    )
