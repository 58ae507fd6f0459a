"""What kinds of lines a view must not lose: errors, warnings, failed tests, frames of a stack.

A kind is told by the line alone, and no pattern backtracks.
"""

import re
from collections.abc import Callable, Iterator
from typing import Literal

LineKind = Literal["error", "warning", "test-failure", "stack-frame"]

Classify = Callable[[str], LineKind | None]
"""The kind of a line; None for a line that a view may leave out."""

LINE_KINDS: tuple[LineKind, ...] = ("error", "warning", "test-failure", "stack-frame")

_TELLING = re.compile(
    r"(?ai:error|fatal|panic|critical|fail|traceback|exception|segmentation fault|npm err!"
    r"|warn|deprecat)|✗|not ok|^[\t ]*E  |^[\t ]+(?:at |File \"|#[0-9])|:[0-9]+:[0-9]+",
    re.MULTILINE,
)
_FAILED = re.compile(r"[\t ]*+(?:✗|not ok\b|E  )|(?a:.*?\b(?:FAILED|FAIL)\b)")
_ERROR = re.compile(
    r"(?ai:\b(?:ERROR|FATAL|PANIC|CRITICAL|FAIL|FAILED|FAILURE|FAILS|Traceback|Exception"
    r"|AssertionError)\b|\bSegmentation fault\b|\bpanicked at\b|\bnpm ERR!)"
)
_WARNING = re.compile(r"(?ai:\b(?:WARN|WARNING|deprecated|deprecation)\b)")
_FRAME = re.compile(
    r"[\t ]++(?:at \S|File \"|#[0-9]++ |(?a:[\w.$<>]++)\([^\n]*\)|[^\s:]++:[0-9]++:[0-9]++)"
)
_NUMBER = re.compile(r"[\t ]*+[0-9]++(?:[:|\t]|→)[\t ]?")


def kind_of(line: str) -> LineKind | None:
    """The kind of a line, whatever number a tool put before it."""
    numbered = _NUMBER.match(line)
    bare = line[numbered.end() :] if numbered else line
    if _FAILED.match(bare):
        return "test-failure"
    if _ERROR.search(line):
        return "error"
    if _WARNING.search(line):
        return "warning"
    return "stack-frame" if _FRAME.match(bare) else None


def telling(text: str, classify: Classify = kind_of) -> Iterator[tuple[str, LineKind]]:
    """The lines of a text that have a kind, in order."""
    if not _TELLING.search(text):
        return
    for line in text.split("\n"):
        line = line.removesuffix("\r")
        kind = classify(line)
        if kind:
            yield line, kind


def likeness(line: str) -> str:
    """What a line has in common with lines that differ in numbers and paths only."""
    rest = re.sub(r"(?<!\S)[^\s/]*+/\S*+", "P", line)
    return re.sub(r"[0-9]+", "0", re.sub(r"\b(?:0x[0-9a-fA-F]++|[0-9a-fA-F]{7,})\b", "H", rest))
