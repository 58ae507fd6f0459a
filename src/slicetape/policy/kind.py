"""What a tool result is: told by its path where there is one, else by the shape of its lines."""

import re
from collections.abc import Sequence

from slicetape.policy.views.lines import BLANK, blank
from slicetape.policy.views.rules import RULES, Rules

RETRIEVAL_TOOLS = frozenset({"expand_result", "recall_step", "recall_turn", "recall_search"})
SEARCH_TOOLS = frozenset({"grep", "glob"})
READ_TOOLS = frozenset({"read", "read_file", "read_section", "fetch_page"})

_SOURCE_ENDINGS = frozenset(
    [
        "py",
        "pyi",
        "ts",
        "tsx",
        "js",
        "jsx",
        "mjs",
        "cjs",
        "go",
        "rs",
        "c",
        "h",
        "cc",
        "cpp",
        "hpp",
        "cs",
        "java",
        "kt",
        "scala",
        "rb",
        "php",
        "swift",
        "m",
        "mm",
        "sh",
        "bash",
        "zsh",
        "fish",
        "ps1",
        "sql",
        "lua",
        "pl",
        "r",
        "jl",
        "ex",
        "exs",
        "erl",
        "hs",
        "ml",
        "clj",
        "scm",
        "lisp",
        "el",
        "vim",
        "dart",
        "zig",
        "nim",
        "v",
        "sv",
        "vhd",
        "proto",
        "thrift",
        "tf",
        "hcl",
        "gradle",
        "cmake",
        "make",
        "mk",
    ]
)
_CODE = re.compile(
    rf"{BLANK}*+(?:(?:def|class|func|fn|import|package|export|const|let|var|public|private|static) "
    rf"|#include|(?a:@\w)|(?a:(?:function|return|else|try|except|catch)\b)|from{BLANK}++\S++{BLANK}++import{BLANK}"
    rf"|(?a:(?:if|for|while)\b)(?=.*[:{{]{BLANK}*+\Z)|[{{}}]{BLANK}*+\Z)"
)
_HIT = re.compile(
    r"(?a:(?:(?P<dirs>(?:[\w.~-]++/)++)(?=[\w.-])|(?=[\w.-]))[\w.-]*+)(?P<end>):[0-9]++[:|]"
)
_ENDING = re.compile(r"(?a:\.\w{1,8}\Z)")
_LOG_START = re.compile(
    r"[\s\ufeff]*+(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T\s][0-9]{2}:[0-9]{2}|\[?[0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"|(?a:(?:not )?ok [0-9])|[✓✗])"
    r"|\s++(?:at \S++.*?\(|File \")"
)
_LOG_WORD = re.compile(
    r"(?a:\b(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|PANIC|CRITICAL|PASSED|FAILED|SKIPPED"
    r"|passed|failed|Traceback|Exception|Compiling)\b)"
)
_LOG_MARK = re.compile(r"(?a:\b(?:npm ERR!|npm WARN!?|warning:|error:|error\[E[0-9]+\]))")


def is_source_path(path: str | None) -> bool:
    """Whether a path names source code by its ending."""
    return path is not None and path.rpartition(".")[2].lower() in _SOURCE_ENDINGS and "." in path


def is_source_text(naked: Sequence[str]) -> bool:
    """Whether lines look like source code: at least 8 filled ones, 15 % of them code."""
    filled = [line for line in naked if not blank(line)]
    if len(filled) < 8:
        return False
    return sum(_CODE.match(line) is not None for line in filled) >= 0.15 * len(filled)


def hit_path(line: str) -> str | None:
    """The path of a line `PATH:LINE:` or `PATH:LINE|`, None for any other line."""
    found = _HIT.match(line)
    return line[: found.start("end")] if found else None


def is_search_like(filled: Sequence[str]) -> bool:
    """Whether at least 60 % of filled lines are hits in something that looks like a file."""
    hits = 0
    for line in filled:
        path = hit_path(line)
        hits += path is not None and ("/" in path or _ENDING.search(path) is not None)
    return hits >= 0.6 * len(filled)


def is_log_line(line: str, rules: Rules = RULES) -> bool:
    """Whether a line looks like one of a log."""
    return (
        _LOG_START.match(line) is not None
        or _LOG_WORD.search(line) is not None
        or (rules.punctuated_marks and _LOG_MARK.search(line) is not None)
    )


def is_log_like(filled: Sequence[str], rules: Rules = RULES) -> bool:
    """Whether at least 30 % of filled lines look like those of a log."""
    return sum(is_log_line(line, rules) for line in filled) >= 0.3 * len(filled)
