"""Lines that take no more room than the marker that would stand for them."""

from collections.abc import Sequence

_MARKER_CHARS = 48
"""About what a marker weighs in a request, in characters of ordinary text."""


def filled(lines: Sequence[str], kept: Sequence[int]) -> list[int]:
    """The lines `kept`, ascending, and those of every gap that is shorter than its marker."""
    found: list[int] = []
    at = 0
    for index in (*kept, len(lines)):
        gap = range(at, index)
        if len(gap) <= _MARKER_CHARS and sum(len(lines[n]) + 1 for n in gap) <= _MARKER_CHARS:
            found += gap
        if index < len(lines):
            found.append(index)
        at = index + 1
    return found
