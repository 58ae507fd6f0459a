"""How bad a line of a log is: errors, warnings, test failures, summaries, frames of a stack.

Lines are judged without the number that a tool put before them (`lines.bare`). Every test takes
time proportional to the length of the line, whatever it contains.
"""

import re
from collections.abc import Sequence
from enum import IntEnum

from slicetape.policy.kind import BLANK, any_of
from slicetape.policy.views.rules import RULES, Rules


class Level(IntEnum):
    """What a log view makes of a line."""

    PLAIN = 0
    WARNING = 2
    ERROR = 3


_ERROR = any_of(
    *("error", "fatal", "panic", "critical", "fail", "failed", "failure", "fails", "traceback"),
    *("exception", "assertionerror", "segmentation fault", "panicked at"),
)
_FAILED_TEST = any_of("FAIL", "FAILED", "AssertionError")
_MORE_ERRORS = re.compile(r"(?a:npm err!(?<!\wnpm err!))")
_MORE_STARTS = re.compile(rf"{BLANK}*+[✕✘]")
_ERROR_START = re.compile(rf"{BLANK}*+(?:✗|(?ai:not ok\b))|E  ")
_WARNING = any_of("warn", "warning", "deprecated", "deprecation")
_SUMMARY = re.compile(
    rf"{BLANK}*+(?ai:===(?=.*===)|---(?=.*---)"
    r"|[0-9]++ (?:passed|failed|errors?|warnings?|tests?|problems?)\b"
    r"|tests?:|test suites:|FAILED \(|Ran [0-9]++ tests?|BUILD (?:SUCCESS|FAILED)|Finished\b"
    r"|test result:|error: could not compile)"
)
_OUTCOME = re.compile("passed|failed")
_DURATION = re.compile(r" in [0-9]")
_FRAME = re.compile(
    rf"{BLANK}++(?:at \S|File \"|\.\.\.|#[0-9]++ |(?a:[\w.$<>]++)\(.*\)|\S*?:[0-9]++:[0-9])"
)

# A line without one of these, in lower case, is neither an error nor a warning, and a summary
# only by its start.
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
    "✗",
    "✕",
    "✘",
    "e  ",
)
_SUMMARY_START = frozenset("=-0123456789trfbeTRFBE \t\r\f\v")


def is_error(line: str, rules: Rules = RULES) -> bool:
    """Whether a line reports an error: an exception, a failed test, a crash."""
    return _is_error(line, _lower(line), rules)


def is_warning(line: str) -> bool:
    """Whether a line warns of something, by its words."""
    return _WARNING.search(_lower(line)) is not None


def is_test_failure(line: str) -> bool:
    """Whether a line is about a test that failed: its result, or the assertion it broke."""
    if _FAILED_TEST.search(line) or _ERROR_START.match(line):
        return True
    return _MORE_STARTS.match(line) is not None


def is_summary(line: str) -> bool:
    """Whether a line sums up a run."""
    return _is_summary(line, _lower(line))


def is_frame(line: str) -> bool:
    """Whether a line is a frame of a stack."""
    return _FRAME.match(line) is not None


def is_trace_start(line: str) -> bool:
    """Whether a line begins a trace that ends in the name of the exception."""
    return line.startswith("Traceback (most recent call last)")


def level(line: str, rules: Rules = RULES) -> Level:
    """The level of one line."""
    return _level(line, _lower(line), rules)


def levels(naked: Sequence[str], rules: Rules = RULES) -> bytearray:
    """The level of every line, as `level` says; most are told by a few letters."""
    found = bytearray(len(naked))
    if not naked:
        return found
    lowered = _lower("\n".join(naked)).split("\n")
    stems, start = _STEMS, _SUMMARY_START
    for index, (line, low) in enumerate(zip(naked, lowered, strict=True)):
        for stem in stems:
            if stem in low:
                found[index] = _level(line, low, rules)
                break
        else:
            if line and (line[0] in start or line[0] >= "\x7f") and _SUMMARY.match(line):
                found[index] = Level.WARNING
    return found


def _lower(text: str) -> str:
    """Lower case without the two foreign letters that become ASCII."""
    if not text.isascii():
        text = text.replace("\u212a", "\ufffd").replace("\u0130", "\ufffd")
    return text.lower()


def _level(line: str, low: str, rules: Rules) -> Level:
    if _is_error(line, low, rules):
        return Level.ERROR
    if _WARNING.search(low) or _is_summary(line, low):
        return Level.WARNING
    return Level.PLAIN


def _is_error(line: str, low: str, rules: Rules) -> bool:
    if _ERROR.search(low) or _ERROR_START.match(line):
        return True
    if not rules.more_marks:
        return False
    return _MORE_ERRORS.search(low) is not None or _MORE_STARTS.match(line) is not None


def _is_summary(line: str, low: str) -> bool:
    if _SUMMARY.match(line):
        return True
    found = _OUTCOME.search(low)
    return found is not None and _DURATION.search(low, found.end()) is not None
