"""What a value may be. A check returns the value to keep or raises `BadValue` with its text.

Booleans, strings and fractions are not integers. A whole float (5.0) is one, as in the files
that other hosts write.
"""

import math
from collections.abc import Callable

MAX_SAFE_INTEGER = 2**53 - 1

Check = Callable[[object], object]


class BadValue(ValueError):
    """A value that its key does not take; the text names the key, not the file."""


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and abs(value) <= MAX_SAFE_INTEGER:
        return value
    return None


def integer(text: str, *, at_least: int = 0) -> Check:
    """A safe integer of at least `at_least`."""

    def check(value: object) -> int:
        number = _whole(value)
        if number is None or number < at_least:
            raise BadValue(text)
        return number

    return check


def number(
    text: str, *, at_least: float = 0, above: float | None = None, at_most: float = math.inf
) -> Check:
    """A number within bounds; infinity is one where `at_most` allows it, NaN never is."""

    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadValue(text)
        low = value > above if above is not None else value >= at_least
        if not (low and value <= at_most):
            raise BadValue(text)
        return value

    return check


def flag(text: str) -> Check:
    """True or false, and nothing that merely looks like it."""

    def check(value: object) -> bool:
        if not isinstance(value, bool):
            raise BadValue(text)
        return value

    return check


def choice(text: str, *words: str) -> Check:
    """One of `words`, spelled exactly so."""

    def check(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise BadValue(text)
        return value

    return check


def text(said: str) -> Check:
    """A text with something in it, on one line."""

    def check(value: object) -> str:
        if not isinstance(value, str) or not value.strip() or "\n" in value:
            raise BadValue(said)
        return value.strip()

    return check


def entry_cap(value: object) -> int:
    """The cap of one entry, in code points; 256 keeps every recall locator whole."""
    name = "history.entryMaxChars"
    number = _whole(value)
    if number is None or number < 1:
        raise BadValue(f"{name} must be a positive safe integer")
    if number < 256:
        raise BadValue(f"{name} must be at least 256: recall locators must stay complete")
    return number
