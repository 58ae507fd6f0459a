"""The lines that a view must not lose: errors, warnings, failed tests, frames of a stack.

They are told as the views tell them, on the original text. A frame is one only below an error:
elsewhere it is a line like any other.
"""

import re
from collections.abc import Iterator
from typing import Literal

from slicetape.policy.views.lines import bare, blank
from slicetape.policy.views.severity import is_error, is_frame, is_test_failure, is_warning

LineKind = Literal["error", "warning", "test-failure", "stack-frame"]

LINE_KINDS: tuple[LineKind, ...] = ("error", "warning", "test-failure", "stack-frame")

_STEM = re.compile(
    r"(?ai:error|fail|warn|exception|traceback|fatal|panic|critical|deprecat|segmentation|err!"
    r"|not ok|e  )|[✗✕✘]"
)
"""What a line that has a kind has, frames left aside."""


def kind_of(line: str) -> LineKind | None:
    """The kind of a line by itself, whatever number a tool put before it."""
    naked = bare(line)
    if is_test_failure(naked):
        return "test-failure"
    if is_error(naked):
        return "error"
    return "warning" if is_warning(naked) else None


def telling(text: str) -> Iterator[tuple[str, LineKind]]:
    """The lines of a text that have a kind, in order; lines without a stem are not looked at."""
    at = 0
    while (found := _STEM.search(text, at)) is not None:
        line, at = _line(text, text.rfind("\n", at, found.start()) + 1 or at)
        kind = kind_of(line)
        if kind is None:
            continue
        yield line, kind
        while kind != "warning" and at < len(text):
            line, end = _line(text, at)
            naked = bare(line)
            if not is_frame(naked) and not blank(naked):
                break
            own = kind_of(line)
            if own or not blank(naked):
                yield line, own or "stack-frame"
            at = end


def _line(text: str, start: int) -> tuple[str, int]:
    """The line that begins at `start`, and where the next one does."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return text[start:end].removesuffix("\r"), end + 1
