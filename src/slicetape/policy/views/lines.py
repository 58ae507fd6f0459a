"""Lines of a text as classification sees them, and what stands for the omitted ones."""

import re
from collections.abc import Mapping, Sequence

from slicetape.policy.kind import BLANK

_NUMBER = re.compile(rf"{BLANK}*+[0-9]++[:|]{BLANK}?")
_ARROWED = re.compile(rf"{BLANK}*+[0-9]++(?:[:|]{BLANK}?|→)")
_TIME = re.compile(r"\[?[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?![0-9:])")
_COLOUR = re.compile(r"\x1b\[[0-9;:?]*+[A-Za-z]")
_NUMBERED = frozenset("0123456789 \t\r\f\v")


def bare(line: str, *, keep_times: bool = True, arrows: bool = True) -> str:
    """`line` without the number that a tool put before it.

    With `keep_times` the hour of a time at the start is no number of a line; with `arrows` a
    number may end in an arrow.
    """
    found = (_ARROWED if arrows else _NUMBER).match(line)
    if found is None or (keep_times and _TIME.match(line)):
        return line
    return line[found.end() :]


def bare_lines(
    lines: Sequence[str],
    *,
    keep_times: bool = True,
    see_colours: bool = True,
    arrows: bool = True,
) -> list[str]:
    """Every line as classification looks at it: without number and, if asked, colour codes."""
    start = _NUMBERED
    naked = [
        bare(line, keep_times=keep_times, arrows=arrows)
        if line and (line[0] in start or line[0] >= "\x7f")
        else line
        for line in lines
    ]
    if see_colours:
        for index, line in enumerate(naked):
            if "\x1b" in line:
                naked[index] = bare(_COLOUR.sub("", line), keep_times=keep_times, arrows=arrows)
    return naked


def blank(line: str) -> bool:
    """Whether a line has nothing but blanks."""
    return not line or line.isspace() or ("\ufeff" in line and not line.strip("\ufeff \t\r\xa0"))


def omitted(lines: Sequence[str]) -> str:
    """The marker for a run of lines: how many, and how many characters with their line ends."""
    return f"…[+{len(lines)} lines / {sum(map(len, lines)) + len(lines)} chars]…"


def kept_indices(keep: bytearray) -> list[int]:
    """The indices of the lines that are flagged, ascending."""
    found: list[int] = []
    at = keep.find(1)
    while at >= 0:
        found.append(at)
        at = keep.find(1, at + 1)
    return found


def render(
    lines: Sequence[str],
    kept: Sequence[int],
    *,
    originals: Sequence[str] | None = None,
    after: Mapping[int, str] | None = None,
    is_blank: Sequence[str] = (),
) -> str:
    """The lines `kept`, ascending, and for each run between them its marker.

    A run of blank lines gives its first line instead; `is_blank` are the lines to judge that by.
    `originals` are the lines that markers measure, `after` has texts that stand below kept lines.
    """
    measured = lines if originals is None else originals
    judged = is_blank or lines
    below = after or {}
    shown: list[str] = []
    at = 0
    for index in (*kept, len(lines)):
        if index > at:
            only_blank = all(map(blank, judged[at:index]))
            shown.append(lines[at] if only_blank else omitted(measured[at:index]))
        if index < len(lines):
            shown.append(lines[index])
            if index in below:
                shown.append(below[index])
        at = index + 1
    return "\n".join(shown)
