"""How bad a line of a log is: errors, warnings and summaries, stack frames."""

import re

_ERROR = re.compile(
    r"(?ai:\b(?:ERROR|FATAL|PANIC|CRITICAL|FAIL|FAILED|FAILURE|FAILS|Traceback|Exception|AssertionError)\b"
    r"|\bSegmentation fault\b|\bpanicked at\b)"
)
_ERROR_START = re.compile(r"[\s\ufeff]*+(?:✗|not ok\b)|E  ")
_MARK = re.compile(r"(?ai:\bnpm ERR!)")
_WARNING = re.compile(r"(?ai:\b(?:WARN|WARNING|deprecated|deprecation)\b)")
_SUMMARY = re.compile(
    r"[\s\ufeff]*+(?ai:=== .*===|={3,}.*={3,}|-{3,}.*-{3,}|[0-9]+ (?:passed|failed|errors?|warnings?|tests?)\b"
    r"|tests?:|test suites:|FAILED \(|Ran [0-9]+ tests?|BUILD (?:SUCCESS|FAILED)|Finished\b"
    r"|test result:|error: could not compile|[0-9]+ problems?\b)"
)
_OUTCOME = re.compile(r"(?ai:passed|failed)")
_IN = re.compile(r" in [0-9]")
_FRAME = re.compile(
    r"[\s\ufeff]++(?:at \S|File \"|\.\.\.|#[0-9]+ |(?a:[\w.$<>]+)\(.*\)|\S+:[0-9]+:[0-9]+)"
)


def is_error(line: str) -> bool:
    """Whether a line reports an error."""
    return bool(_ERROR.search(line) or _ERROR_START.match(line))


def is_marked_error(line: str) -> bool:
    """Whether a line is an error by a mark that ends in punctuation."""
    return _MARK.search(line) is not None


def is_warning(line: str) -> bool:
    """Whether a line is a warning."""
    return _WARNING.search(line) is not None


def is_summary(line: str) -> bool:
    """Whether a line sums up a run."""
    if _SUMMARY.match(line):
        return True
    found = _OUTCOME.search(line)
    return found is not None and _IN.search(line, found.end()) is not None


def is_frame(line: str) -> bool:
    """Whether a line is a frame of a stack."""
    return _FRAME.match(line) is not None
