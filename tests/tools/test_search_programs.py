"""The programs that search: how they fail, and what the one of ours finds."""

import re
from pathlib import Path

import pytest

from slicetape.tools.glob import GlobTool
from slicetape.tools.grep import GrepTool
from slicetape.tools.lines_found import found, understood
from tool_calls import Folder


def searched(tmp_path: Path, script: str) -> Folder:
    """A folder in which a program that only does `script` was asked to search."""
    program = tmp_path / "rg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    folder = Folder(tmp_path)
    folder.call(GrepTool(folder.workspace, ripgrep=str(program)), pattern="x")
    return folder


@pytest.mark.parametrize(
    ("script", "code"),
    {
        "exit 3": "SEARCH_FAILED",
        "kill -9 $$": "SEARCH_FAILED",
        "echo bad >&2; exit 2": "SEARCH_INVALID_PATTERN",
        "yes '{}' | head -c 30000000": "SEARCH_RAW_OUTPUT_OVERFLOW",
        "head -c 30000000 /dev/zero": "SEARCH_RAW_OUTPUT_OVERFLOW",
        "exit 1": None,
    }.items(),
)
def test_a_program_that_ends_badly_is_never_taken_for_no_match(
    script: str, code: str | None, tmp_path: Path
) -> None:
    said = script.replace("'{}'", '\'{"type":"begin"}\'')
    assert searched(tmp_path, said).code == code


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.call(GrepTool(folder.workspace, ripgrep=str(tmp_path / "none")), pattern="x")
    assert folder.code == "SEARCH_FAILED"


def test_a_glob_that_takes_too_long_is_no_short_list(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    folder = Folder(tmp_path)
    text = folder.call(GlobTool(folder.workspace, limit_s=-1.0), pattern="*")
    assert text.startswith("Error: the search took longer than")
    assert folder.code == "SEARCH_FAILED"


def test_lines_are_found_in_the_order_of_the_files(tmp_path: Path) -> None:
    texts = {"a": b"x\r\nno\nax\n", "b": b"x\0", "c": b"\xff x", "d": b"", "e": b"a\rx\n"}
    for name, data in texts.items():
        (tmp_path / name).write_bytes(data)
    files = [str(tmp_path / name) for name in (*texts, "absent")]
    rows = [(Path(str(row["path"])).name, row["line"], row["text"]) for row in found("x", files)]
    assert rows == [("a", 1, "x"), ("a", 3, "ax"), ("c", 1, "\ufffd x"), ("e", 1, "a\rx")]


@pytest.mark.parametrize("pattern", ["(?!x)", "(?<=x)", "(?P<a>x)(?P=a)", "x++", "x*+", "(?>x)"])
def test_what_only_one_search_could_do_is_refused(pattern: str) -> None:
    with pytest.raises((ValueError, re.error)):
        understood(pattern)


@pytest.mark.parametrize("pattern", ["[[:alpha:]]", "[a&&b]"])
def test_sets_that_would_mean_another_thing_are_refused(pattern: str) -> None:
    with pytest.raises(FutureWarning):
        understood(pattern)
