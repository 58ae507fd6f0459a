"""The view of JSON: first items, last items and those that look like errors."""

import re
from math import ceil
from typing import Any

from slicetape.policy.settings import DigestSettings
from slicetape.policy.views.items import Items
from slicetape.policy.views.result import Condensed, Guard, whole
from slicetape.policy.views.rules import Rules

_WORD = re.compile(r"(?ai:error|fail|exception|fatal|denied|timeout|invalid|panic)")
_LEVEL = re.compile(r"(?ai:error|fatal|warn)")


def looks_wrong(value: object) -> bool:
    """Whether an item looks like an error."""
    if not isinstance(value, dict):
        return False
    for key, member in value.items():
        if _WORD.search(key) and not (
            member is None or member is False or member in (0, "") or member == [] or member == {}
        ):
            return True
        if isinstance(member, str) and len(member) < 200 and _WORD.search(member):
            return True
    for key in ("status", "statusCode", "code"):
        code = value.get(key)
        if isinstance(code, int | float) and not isinstance(code, bool) and code >= 400:
            return True
    level = value.get("level")
    return isinstance(level, str) and _LEVEL.search(level) is not None


def condense_json(
    text: str, lines: int, items: Items, settings: DigestSettings, rules: Rules, guard: Guard
) -> Condensed:
    """The view of the items of a JSON text."""
    count = len(items.texts)
    if len(text) < settings.min_chars or count < settings.json_min_items:
        return whole("json", lines)
    first: dict[Any, int] = {}
    for index, item in enumerate(items.texts):
        first.setdefault(item, index)
    unique = list(first.values())
    keep = _pick(unique, items, settings)
    if len(keep) == count:
        return whole("json", lines)
    fields = _fields(items)
    copies = count - len(unique)
    also = f", {copies} duplicates" if copies else ""
    shown = []
    at = 0
    for index in (*sorted(keep), count):
        if index > at:
            shown.append(f"…[+{index - at} of {count} items omitted{also}{fields}]…")
        if index < count:
            shown.append(items.text(index))
        at = index + 1
    view = items.frame(shown)
    return guard.admit(view, "json", lines, view.count("\n") + 1)


def _pick(unique: list[int], items: Items, settings: DigestSettings) -> set[int]:
    most = settings.json_keep_items
    if most >= len(unique):
        return set(unique)
    keep = {*unique[: max(1, ceil(most * 0.3))], *unique[-max(1, ceil(most * 0.15)) :]}
    for index in unique:
        if len(keep) >= most:
            break
        if index not in keep and looks_wrong(items.values[index]):
            keep.add(index)
    return keep


def _fields(items: Items) -> str:
    names: dict[str, None] = {}
    for value in items.values:
        if isinstance(value, dict):
            names.update(dict.fromkeys(value))
            if len(names) > 12:
                break
    if not names:
        return ""
    more = ", …" if len(names) > 12 else ""
    return f"; fields: {', '.join(list(names)[:12])}{more}"
