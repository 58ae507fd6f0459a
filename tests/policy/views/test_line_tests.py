"""What a line is: the tests that views and the measure of fidelity share."""

import time
from collections.abc import Callable

import pytest

from slicetape.policy import kind
from slicetape.policy.settings import DigestSettings
from slicetape.policy.views import REFERENCE, condense, lines, logs, severity
from slicetape.policy.views.severity import Level

ERRORS = (
    "2026-09-04 10:00 ERROR boom",
    "error: could not open",
    "Traceback (most recent call last):",
    "java.lang.Exception: x",
    "thread 'main' panicked at src/x.rs:3",
    "Segmentation fault (core dumped)",
    "tests/a.py::b FAILED [ 3%]",
    "  ✗ adds numbers",
    "  ✕ adds numbers",
    "not ok 3 - x",
    "E   assert 1 == 2",
    "npm ERR! code ENOENT",
)
WARNINGS = ("WARN slow", "x.py:3: DeprecationWarning is deprecated", "npm WARN! old", "warning: x")
SUMMARIES = (
    "=== short test summary ===",
    "--- SKIP: x ---",
    "12 passed, 3 skipped",
    "Tests:  3 total",
    "Test Suites: 2",
    "Ran 12 tests",
    "BUILD SUCCESS",
    "    Finished dev target",
    "test result: ok",
    "3 problems",
    "all passed in 3.2s",
)
PLAIN = (
    "",
    "INFO ok",
    "terrors",
    "no_error_here",
    "failsafe",
    "warned",
    "=== x",
    "in 3 passed",
    "é",
)


@pytest.mark.parametrize("line", ERRORS)
def test_errors_are_errors(line: str) -> None:
    assert severity.is_error(line)
    assert severity.level(line) == Level.ERROR


@pytest.mark.parametrize("line", [*WARNINGS, *SUMMARIES])
def test_warnings_and_summaries_are_no_errors(line: str) -> None:
    assert severity.level(line) == Level.WARNING
    assert severity.is_warning(line) or severity.is_summary(line)


@pytest.mark.parametrize("line", PLAIN)
def test_plain_lines_are_plain(line: str) -> None:
    assert severity.level(line) == Level.PLAIN


def test_many_lines_are_judged_as_one_is() -> None:
    every = [
        *ERRORS,
        *WARNINGS,
        *SUMMARIES,
        *PLAIN,
        "\u212aERROR",
        "\u0130 fatal",
        "召回 ERROR 错误",
    ]
    for rules in (severity.RULES, REFERENCE):
        assert list(severity.levels(every, rules)) == [
            severity.level(line, rules) for line in every
        ]
    assert severity.levels([]) == bytearray()


@pytest.mark.parametrize("line", ERRORS[6:11])
def test_failed_tests_are_told_from_other_errors(line: str) -> None:
    assert severity.is_test_failure(line)
    assert not severity.is_test_failure(ERRORS[0])


@pytest.mark.parametrize(
    "line",
    [
        "    at run (src/w.js:10:3)",
        '  File "a.py", line 3',
        "  ...",
        "  #3 x",
        "  f(x)",
        " a.c:3:4",
    ],
)
def test_frames_of_a_stack_are_frames(line: str) -> None:
    assert severity.is_frame(line)
    assert not severity.is_frame("x" + line.strip())


@pytest.mark.parametrize(
    ("line", "naked"),
    [
        ("12: x", "x"),
        ("  7|  x", " x"),
        ("12:x", "x"),
        ("10:00:01 x", "10:00:01 x"),
        ("3: 10:00:01 x", "10:00:01 x"),
        ("12:10:00:01 x", "10:00:01 x"),
        ("x 12: y", "x 12: y"),
    ],
)
def test_a_line_is_judged_without_its_number(line: str, naked: str) -> None:
    assert lines.bare(line) == naked


def test_like_lines_differ_in_numbers_paths_and_hashes_only() -> None:
    like = [
        "err 12: at /srv/a/b.py id 0xdeadbeef of deadbeef12 took 3 ms",
        "err 9: at /tmp/c.py id 0x1f of 0123456789abcdef took 4000 ms",
    ]
    assert len(set(logs.likenesses(like))) == 1
    assert len(set(logs.likenesses([*like, "err 9: at /tmp/c.py id 1f of x took 4 ms"]))) == 2
    assert len(set(logs.likenesses(["é 12: 3", "é 9: 40"]))) == 1


@pytest.mark.parametrize("path", ["a.py", "/x/y.TSX", "x.mk", ".sh"])
def test_source_paths_are_told_by_their_ending(path: str) -> None:
    assert kind.is_source_path(path)


@pytest.mark.parametrize("path", [None, "", "py", "a.md", "a.py/", "a.py.txt", "Makefile"])
def test_other_paths_are_no_source(path: str | None) -> None:
    assert not kind.is_source_path(path)


def test_a_mark_within_a_word_is_none() -> None:
    assert not kind.is_marked_line("myerror: x, _warning: y")
    assert kind.is_marked_line("myerror: x, error: y")


HOSTILE = (
    "a", "1", "/", "a/", "a/b ", ":", ": ", ":1", "=", "-", "=x", "==== ", "|", "| ", "[", "{", "if : ",
    "passed", "failed in ", " ", "\u00a0", "f", "0x", "0xg", "at (", "(", "a.", "\x1b[", "\x1b[1", "error",
    "npm ERR", "ERROR_", "- ", "--- ", "1:", "from x ", "\\", '{"a":', "表",
)  # fmt: skip
STARTS = ("", "  ", "if ", "from ", "    at ", "| ", "===", "1:", "key ")
TESTS: dict[str, Callable[[str], object]] = {
    "bare": lines.bare,
    "colours": lambda line: lines.bare_lines([line]),
    "blank": lines.blank,
    "code": lambda line: kind.is_source_text([line] * 8),
    "search": lambda line: kind.is_search_like([line]),
    "log": kind.is_log_line,
    "mark": kind.is_marked_line,
    "diff": kind.is_diff,
    "error": severity.is_error,
    "warning": severity.is_warning,
    "failure": severity.is_test_failure,
    "summary": severity.is_summary,
    "frame": severity.is_frame,
    "likeness": lambda line: logs.likenesses([line]),
    "condense": lambda line: condense(line, "bash", None, settings=DigestSettings()),
}


@pytest.mark.parametrize("name", TESTS)
def test_no_line_makes_a_test_backtrack(name: str) -> None:
    """At this size linear work takes under 10 ms a line, square work over a second."""
    test = TESTS[name]
    start = time.process_time()
    for begin in STARTS:
        for part in HOSTILE:
            test(begin + part * (5000 // len(part)))
    assert time.process_time() - start < 3
