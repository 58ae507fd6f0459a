"""Lines of a text: how they are classified, what stands for the omitted ones, when a view pays."""

import re
from collections.abc import Mapping, Sequence

BLANK = r"[\s\ufeff]"
"""A pattern for one blank; Python's own class and the byte order mark."""

_NUMBER = re.compile(rf"{BLANK}*+[0-9]++[:|]{BLANK}?")
_TIME = re.compile(r"\[?[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?![0-9:])")
_START = frozenset("0123456789 \t\r\f\v\ufeff")


def bare(line: str, keep_times: bool = True) -> str:
    """`line` without the number that a tool put before it: what classification looks at.

    With `keep_times` the hour of a time at the start is no number of a line.
    """
    found = _NUMBER.match(line)
    if found is None or (keep_times and _TIME.match(line)):
        return line
    return line[found.end() :]


def bare_lines(lines: Sequence[str], keep_times: bool = True) -> list[str]:
    """Every line without its number."""
    start = _START
    return [
        bare(line, keep_times) if line and (line[0] in start or line[0] > "\x7f") else line
        for line in lines
    ]


def blank(line: str) -> bool:
    """Whether a line has nothing but blanks."""
    return not line.strip() or not line.strip("\ufeff \t\r\n\f\v\xa0")


def omitted(lines: Sequence[str]) -> str:
    """The marker for a run of lines: how many, and how many characters with their line ends."""
    return f"…[+{len(lines)} lines / {sum(map(len, lines)) + len(lines)} chars]…"


def render(
    lines: Sequence[str], kept: Sequence[int], naked: Sequence[str], after: Mapping[int, str] = {}
) -> str:
    """The lines `kept`, ascending; each run between them by its marker, or by its first blank.

    `naked` are the lines without numbers, `after` has a text to stand below a kept line.
    """
    shown: list[str] = []
    at = 0
    for index in (*kept, len(lines)):
        if index > at:
            run = lines[at:index]
            only_blank = all(map(blank, naked[at:index]))
            shown.append(run[0] if only_blank else omitted(run))
        if index < len(lines):
            shown.append(lines[index])
            if index in after:
                shown.append(after[index])
        at = index + 1
    return "\n".join(shown)
