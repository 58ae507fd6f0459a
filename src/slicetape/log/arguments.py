"""Arguments as models write them: turn ids, positive integers, numbers in quotes."""

import math
import re
from collections.abc import Mapping

TURN_ID = re.compile(r"(?:slice-turn-)?([0-9]{1,15})")
COUNTED = re.compile(r"(?:[A-Za-z]+(?:-[A-Za-z]+)*(?:\s+|[-:#])?)?([0-9]{1,15})")
NUMERAL = re.compile(r"-?[0-9]{1,15}")
SPAN = re.compile(r"([0-9]{1,15})\s*-\s*([0-9]{1,15})")

LARGEST = 10**15

Arguments = Mapping[str, object]


def whole(value: object) -> int | None:
    """The integer that a JSON number stands for; None for anything else, also true and false.

    No event has a number of sixteen digits, so larger ones stand for nothing either.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not (math.isfinite(value) and value.is_integer()):
        return None
    return int(value) if abs(value) < LARGEST else None


def integer(value: object) -> int | None:
    """An integer given as a number or as its decimal digits."""
    if isinstance(value, str):
        return int(value) if NUMERAL.fullmatch(value.strip()) else None
    return whole(value)


def positive(value: object) -> int | None:
    """An integer from 1, given as a number or as its decimal digits."""
    number = integer(value)
    return number if number is not None and number >= 1 else None


def turn_id(value: object) -> int | None:
    """The turn that `3`, `"3"` or `"slice-turn-3"` names."""
    return _numbered(TURN_ID, value)


def counted(value: object) -> int | None:
    """The number in `3`, `"3"`, `"turn 3"` or `"slice-turn-3"`: one optional word, one integer.

    Not the last group of digits wherever it stands: `3.5` and `-3` name nothing.
    """
    return _numbered(COUNTED, value)


def span(value: object) -> tuple[int, int] | None:
    """First and last line of `"a-b"`; None when the text has another form."""
    found = SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
    return (int(found[1]), int(found[2])) if found else None


def _numbered(form: re.Pattern[str], value: object) -> int | None:
    if not isinstance(value, str):
        number = whole(value)
    else:
        found = form.fullmatch(value.strip())
        number = int(found[1]) if found else None
    return number if number is not None and number >= 1 else None
