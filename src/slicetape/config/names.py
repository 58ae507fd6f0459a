"""Which names a file may use, and what to say about the others.

A typo is never reported as a retirement: only the exact retired spelling is.
"""

from slicetape.config.keys import RETIRED, RETIRED_HISTORY, SECTIONS, TOP_LEVEL
from slicetape.config.tree import shown

_MIGRATION = "See README migration."
_NEAR = 2


def top_level_problem(name: str) -> str | None:
    """What is wrong with `name` at the top level, or None. Looks at the name alone."""
    if name in TOP_LEVEL:
        return None
    if name in RETIRED:
        return f"Retired slice configuration {name}: {RETIRED[name]}. {_MIGRATION}"
    near = next((key for key in TOP_LEVEL if _distance(name, key) <= _NEAR), None)
    hint = "" if near is None else f" Did you mean {near}?"
    return (
        f"Unknown slice configuration key {shown(name)}.{hint} Valid keys: {', '.join(TOP_LEVEL)}."
    )


def section_problem(section: str, name: str) -> str | None:
    """What is wrong with `name` inside `section`, or None."""
    valid = [key.name for key in SECTIONS[section]]
    if name in valid:
        return None
    if section == "history" and name in RETIRED_HISTORY:
        return f"Retired history configuration {name}: {RETIRED_HISTORY[name]}. {_MIGRATION}"
    return f"Unknown {section} configuration {shown(name)}; valid keys: {', '.join(valid)}"


def _distance(name: str, key: str) -> int:
    """Case-insensitive edit distance; names too different in length are not compared."""
    if abs(len(name) - len(key)) > _NEAR:
        return _NEAR + 1
    left, right = name.lower(), key.lower()
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]
