"""The lines of a result that its view does not repeat, because they stand above in the turn."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_ABOVE = re.compile(r"…\[\+([0-9]{1,12}) lines / [0-9]{1,15} chars as above[a-z, ]{0,30}\]…")
_OURS = "…["


@dataclass(frozen=True, slots=True)
class Above:
    """The lines that markers say stand above; `complete` says that a view hides no others."""

    lines: tuple[str, ...]
    complete: bool


def above(view: Sequence[str], original: Sequence[str]) -> Above:
    """What the lines `view`, without their head, leave to lines above, of the lines `original`."""
    found: list[str] = []
    complete, at = True, 0
    for line in view:
        marked = _ABOVE.fullmatch(line)
        if marked:
            end = at + int(marked[1])
            found += original[at:end]
            at = end
        elif at < len(original) and original[at] == line:
            at += 1
        else:
            complete = False
            at = at if _OURS in line else _after(original, line, at)
    return Above(tuple(found), complete and at == len(original))


def _after(original: Sequence[str], line: str, at: int) -> int:
    try:
        return original.index(line, at) + 1
    except ValueError:
        return at
