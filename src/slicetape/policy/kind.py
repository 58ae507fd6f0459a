"""What a tool result is: told by its path where there is one, else by the shape of its lines.

Every test of a line takes time proportional to its length, whatever it contains.
"""

import re
from collections.abc import Iterable, Sequence

BLANK = r"[\s\ufeff]"
"""A pattern for one blank: Python's own class and the byte order mark."""

RETRIEVAL_TOOLS = frozenset({"expand_result", "recall_step", "recall_turn", "recall_search"})
SEARCH_TOOLS = frozenset({"grep", "glob"})
READ_TOOLS = frozenset({"read", "read_file", "read_section", "fetch_page"})

_SOURCE_ENDINGS = frozenset(
    re.split(
        r"\s+",
        """
    py pyi ts tsx js jsx mjs cjs go rs c h cc cpp hpp cs java kt scala rb php swift m mm sh
    bash zsh fish ps1 sql lua pl r jl ex exs erl hs ml clj scm lisp el vim dart zig nim v sv
    vhd proto thrift tf hcl gradle cmake make mk
""".strip(),
    )
)
_CODE_SHARE, _SEARCH_SHARE, _LOG_SHARE = 0.15, 0.6, 0.3
_FEWEST_CODE_LINES = 8

_CODE = re.compile(
    rf"{BLANK}*+(?:"
    r"(?:def|class|func|fn|import|package|export|const|let|var|public|private|static) |#include"
    r"|(?a:@\w|(?:function|return|else|try|except|catch)\b)"
    rf"|from{BLANK}++\S++{BLANK}++import{BLANK}"
    rf"|(?a:(?:if|for|while)\b)(?=.*[:{{]{BLANK}*+\Z)"
    rf"|[{{}}]{BLANK}*+\Z)"
)
_HIT = re.compile(r"(?a:(?:(?:[\w.~-]++/)++(?=[\w.-])|(?=[\w.-]))[\w.-]*+)(?P<end>):[0-9]++[:|]")
_ENDING = re.compile(r"(?a:\.\w{1,8}\Z)")
_LOG_START = re.compile(
    rf"{BLANK}*+(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T\s][0-9]{{2}}:[0-9]{{2}}"
    r"|\[?[0-9]{2}:[0-9]{2}:[0-9]{2}|(?:not )?ok [0-9]|[✓✗])"
    rf"|{BLANK}++(?:at \S++.*?\(|File \")"
)


def any_of(*words: str) -> re.Pattern[str]:
    """Any of `words` as a whole word; the search skips from one first letter to the next."""
    rests: dict[str, list[str]] = {}
    for word in words:
        rests.setdefault(word[0], []).append(word[1:])
    branches = [rf"{first}(?<!\w{first})(?:{'|'.join(of)})" for first, of in rests.items()]
    return re.compile(f"(?a:(?:{'|'.join(branches)})(?!\\w))")


_LOG_WORD = any_of(
    *("ERROR", "WARN", "WARNING", "INFO", "DEBUG", "TRACE", "FATAL", "PANIC", "CRITICAL"),
    *("PASSED", "FAILED", "SKIPPED", "passed", "failed", "Traceback", "Exception", "Compiling"),
)
_LOG_MARK = re.compile(r"(?a:(?:npm (?:ERR|WARN)!|warning:|error:|error\[E[0-9]++\]))")
_LOG_MARK_START = re.compile(rf"{BLANK}*+[✔✕✘]")
_DIFF_WINDOW = 4000
_GIT = re.compile(r"^diff --(?:git|combined|cc) ", re.MULTILINE)
_UNIFIED = tuple(
    re.compile(pattern, re.MULTILINE) for pattern in (r"^--- \S", r"^\+\+\+ \S", r"^@@ ")
)


def is_source_path(path: str | None) -> bool:
    """Whether a path names source code by its ending."""
    if path is None:
        return False
    _, dot, ending = path.rpartition(".")
    return dot == "." and ending.lower() in _SOURCE_ENDINGS


def is_diff(text: str) -> bool:
    """Whether a text begins as a unified diff does; only its first 4,000 characters are read."""
    start = text[:_DIFF_WINDOW]
    if _GIT.search(start):
        return True
    return all(pattern.search(start) for pattern in _UNIFIED)


def is_source_text(filled: Sequence[str]) -> bool:
    """Whether filled lines look like source code: at least 8 of them, 15 % of them code."""
    if len(filled) < _FEWEST_CODE_LINES:
        return False
    return _reaches(map(_CODE.match, filled), len(filled), _CODE_SHARE)


def hit_path(line: str) -> str | None:
    """The path of a line `PATH:LINE:` or `PATH:LINE|`, None for any other line."""
    found = _HIT.match(line)
    return line[: found.start("end")] if found else None


def is_search_like(filled: Sequence[str]) -> bool:
    """Whether at least 60 % of filled lines are hits in something that looks like a file."""
    return _reaches(map(_is_file_hit, filled), len(filled), _SEARCH_SHARE)


def is_log_line(line: str) -> bool:
    """Whether a line looks like one of a log: by its time, or by a word such as ERROR."""
    return _LOG_START.match(line) is not None or _LOG_WORD.search(line) is not None


def is_marked_line(line: str) -> bool:
    """Whether a line has a mark of a log that is no word, such as `npm ERR!` or a leading ✕."""
    if _LOG_MARK_START.match(line):
        return True
    found = _LOG_MARK.search(line)
    while found:
        before = line[found.start() - 1] if found.start() else " "
        if not (before == "_" or (before.isascii() and before.isalnum())):
            return True
        found = _LOG_MARK.search(line, found.end())
    return False


def is_log_like(filled: Sequence[str], *, more_marks: bool = True) -> bool:
    """Whether at least 30 % of filled lines look like those of a log."""
    if not more_marks:
        return _reaches(map(is_log_line, filled), len(filled), _LOG_SHARE)
    tests = (is_log_line(line) or is_marked_line(line) for line in filled)
    return _reaches(tests, len(filled), _LOG_SHARE)


def _is_file_hit(line: str) -> bool:
    path = hit_path(line)
    return path is not None and ("/" in path or _ENDING.search(path) is not None)


def _reaches(tests: Iterable[object], count: int, share: float) -> bool:
    """Whether at least `share` of `count` tests hold; stops as soon as that is certain."""
    found = 0
    for done, test in enumerate(tests, 1):
        if test:
            found += 1
            if found >= share * count:
                return True
        elif found + count - done < share * count:
            return False
    return found >= share * count
