"""How bad a line of a log is: errors, warnings, test failures, summaries, frames of a stack.

Lines are judged without the number that a tool put before them (`lines.bare`). Every test takes
time proportional to the length of the line, whatever it contains.
"""

import re
from collections.abc import Iterable, Sequence
from enum import IntEnum

from slicetape.policy.kind import BLANK
from slicetape.policy.views.rules import RULES, Rules


class Level(IntEnum):
    """What a log view makes of a line."""

    PLAIN = 0
    WARNING = 2
    ERROR = 3


_ERROR = re.compile(
    r"(?ai:\b(?:ERROR|FATAL|PANIC|CRITICAL|FAIL|FAILED|FAILURE|FAILS|Traceback|Exception"
    r"|AssertionError|Segmentation fault|panicked at)\b)"
)
_MARKED_ERROR = re.compile(r"(?ai:\bnpm ERR!)")
_ERROR_START = re.compile(rf"{BLANK}*+(?:✗|not ok\b)|E  ")
_FAILED_TEST = re.compile(r"(?ai:\b(?:FAIL|FAILED|FAILURE|FAILS|AssertionError)\b)")
_WARNING = re.compile(r"(?ai:\b(?:WARN|WARNING|deprecated|deprecation)\b)")
_SUMMARY = re.compile(
    rf"{BLANK}*+(?ai:===(?=.*===)|---(?=.*---)"
    r"|[0-9]++ (?:passed|failed|errors?|warnings?|tests?|problems?)\b"
    r"|tests?:|test suites:|FAILED \(|Ran [0-9]++ tests?|BUILD (?:SUCCESS|FAILED)|Finished\b"
    r"|test result:|error: could not compile)"
)
_OUTCOME = re.compile(r"(?ai:passed|failed)")
_DURATION = re.compile(r" in [0-9]")
_FRAME = re.compile(
    rf"{BLANK}++(?:at \S|File \"|\.\.\.|#[0-9]++ |(?a:[\w.$<>]++)\(.*\)|\S*?:[0-9]++:[0-9])"
)

# A line without one of these, in lower case, is neither an error nor a warning.
_STEMS = (
    "error",
    "fail",
    "warn",
    "exception",
    "traceback",
    "fatal",
    "panic",
    "critical",
    "deprecat",
    "segmentation",
    "passed",
    "err!",
    "not ok",
)
_SUMMARY_START = frozenset("=-0123456789trfbeTRFBE \t\r\f\v✗")


def is_error(line: str, rules: Rules = RULES) -> bool:
    """Whether a line reports an error: an exception, a failed test, a crash."""
    if _ERROR.search(line) or _ERROR_START.match(line):
        return True
    return rules.punctuated_marks and _MARKED_ERROR.search(line) is not None


def is_warning(line: str) -> bool:
    """Whether a line warns of something, by its words."""
    return _WARNING.search(line) is not None


def is_test_failure(line: str) -> bool:
    """Whether a line is about a test that failed: its result, or the assertion it broke."""
    return _FAILED_TEST.search(line) is not None or _ERROR_START.match(line) is not None


def is_summary(line: str) -> bool:
    """Whether a line sums up a run."""
    if _SUMMARY.match(line):
        return True
    found = _OUTCOME.search(line)
    return found is not None and _DURATION.search(line, found.end()) is not None


def is_frame(line: str) -> bool:
    """Whether a line is a frame of a stack."""
    return _FRAME.match(line) is not None


def level(line: str, rules: Rules = RULES) -> Level:
    """The level of one line."""
    if is_error(line, rules):
        return Level.ERROR
    return Level.WARNING if is_warning(line) or is_summary(line) else Level.PLAIN


def levels(naked: Sequence[str], lowered: Iterable[str], rules: Rules = RULES) -> bytearray:
    """The level of every line; `lowered` are the lines in lower case, by which most are told."""
    found = bytearray(len(naked))
    stems = _STEMS
    start = _SUMMARY_START
    for index, (line, low) in enumerate(zip(naked, lowered, strict=True)):
        for stem in stems:
            if stem in low:
                found[index] = level(line, rules)
                break
        else:
            if line and (line[0] in start or line[0] >= "\x7f"):
                found[index] = level(line, rules)
    return found
