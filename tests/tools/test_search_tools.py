"""grep and glob: the same with ripgrep and without, and bounded either way."""

import asyncio
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from slicetape.tools.glob import GlobTool
from slicetape.tools.grep import GrepTool
from slicetape.tools.patterns import BadPattern, Glob, _Machine, _parsed, _written, compiled
from slicetape.tools.workspace import Workspace
from tool_calls import CALL, Folder

RIPGREP = shutil.which("rg")
needs_ripgrep = pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not installed")
WAYS = [pytest.param("rg", marks=needs_ripgrep), pytest.param(None, id="python")]


def grep(folder: Folder, pattern: str, way: str | None, **more: object) -> str:
    return folder.call(GrepTool(folder.workspace, ripgrep=way), pattern=pattern, **more)


def tree(root: Path) -> Folder:
    files: dict[str, bytes] = {
        "a.py": b"def one():\n    return 'needle'\n",
        "src/b.py": b"needle = 1\nother\nneedle again\n",
        "src/deep/c.txt": b"no\nneedle\r\n",
        "src/name with blank.txt": "größe needle 折叠\n".encode(),
        ".hidden": b"needle\n",
        ".git/config": b"needle\n",
        "binary": b"needle\0\n",
        "latin": b"caf\xe9 needle\n",
        "ignored/x.txt": b"needle\n",
        ".gitignore": b"ignored/\n",
    }
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return Folder(root)


@pytest.mark.parametrize("way", WAYS)
def test_matches_stand_by_file_with_their_lines(way: str | None, tmp_path: Path) -> None:
    folder = tree(tmp_path)
    shutil.rmtree(tmp_path / ".git")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert grep(folder, "needle", way) == (
        "Found 6 matches\n"
        "\na.py\nLine 2:     return 'needle'\n"
        "\nlatin\nLine 1: caf\ufffd needle\n"
        "\nsrc/b.py\nLine 1: needle = 1\nLine 3: needle again\n"
        "\nsrc/deep/c.txt\nLine 2: needle\n"
        "\nsrc/name with blank.txt\nLine 1: größe needle 折叠"
    )
    assert folder.meta["total"] == 6
    assert folder.meta["truncated"] is False


@pytest.mark.parametrize("way", WAYS)
def test_a_path_and_a_glob_narrow_the_search(way: str | None, tmp_path: Path) -> None:
    folder = tree(tmp_path)
    assert grep(folder, "needle", way, path="src", include="*.py").startswith("Found 2 matches")
    assert grep(folder, "needle", way, path="a.py").startswith("Found 1 match\n")
    assert grep(folder, "absent", way) == "No matches found"


@pytest.mark.parametrize("way", WAYS)
def test_at_most_250_matches_are_shown_and_all_are_counted(way: str | None, tmp_path: Path) -> None:
    (tmp_path / "many").write_text("needle\n" * 300)
    folder = Folder(tmp_path)
    text = grep(folder, "needle", way)
    assert text.startswith("Found 250 of 300 matches\n")
    assert text.count("Line ") == 250
    assert folder.meta["truncated"] is True


@pytest.mark.parametrize("way", WAYS)
def test_long_lines_are_cut(way: str | None, tmp_path: Path) -> None:
    (tmp_path / "long").write_text("needle" + "x" * 100_000)
    assert len(grep(Folder(tmp_path), "needle", way)) < 2_200


@pytest.mark.parametrize("way", WAYS)
def test_a_pattern_that_is_none_is_told(way: str | None, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    folder = Folder(tmp_path)
    assert "invalid pattern" in grep(folder, "(", way)
    assert folder.code == "SEARCH_INVALID_PATTERN"
    assert grep(folder, "x", way, include="[a").startswith("Error: invalid include")


def test_a_pattern_that_never_ends_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a" * 40 + "b\n")
    folder = Folder(tmp_path)
    tool = GrepTool(folder.workspace, ripgrep=None, limit_s=0.3)
    assert "took longer" in folder.call(tool, pattern="(a+)+$")
    assert folder.code == "SEARCH_FAILED"


@pytest.mark.parametrize("way", WAYS)
def test_a_search_outside_or_nowhere_is_refused(way: str | None, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    grep(folder, "x", way, path="..")
    assert folder.code == "FS_SANDBOX_DENIED"
    grep(folder, "x", way, path="absent")
    assert folder.code == "FS_NOT_FOUND"


def test_a_cancelled_search_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a" * 40 + "b\n")
    tool = GrepTool(Workspace(tmp_path), ripgrep=None)

    async def scenario() -> None:
        task = asyncio.ensure_future(tool.run({"pattern": "(a+)+$"}, CALL))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    left = subprocess.run(["pgrep", "-f", "lines_found.py"], capture_output=True, check=False)
    assert os.fsencode(tmp_path) not in left.stdout


names = st.text("ab._-", min_size=1, max_size=4).filter(lambda name: name.strip("."))
lines = st.lists(st.text("ab \t\r", max_size=6), max_size=4)


@pytest.mark.parametrize("way", WAYS)
def test_a_glob_does_not_bring_back_what_is_left_out(way: str | None, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("built.py\n")
    for name in ("a.py", "built.py", ".hidden.py", "b.txt"):
        (tmp_path / name).write_text("needle\n")
    folder = Folder(tmp_path)
    assert grep(folder, "needle", way, include="*.py") == "Found 1 match\n\na.py\nLine 1: needle"
    assert grep(folder, "needle", way, include="!*.py").startswith("Error: invalid include")
    assert grep(folder, "needle", way, include="[z-a]").startswith("Error: invalid include")


@pytest.mark.parametrize("way", WAYS)
def test_paths_are_those_to_read_by(way: str | None, tmp_path: Path) -> None:
    (tmp_path / "src/deep").mkdir(parents=True)
    (tmp_path / "src/deep/a.py").write_text("needle\n")
    folder = Folder(tmp_path)
    for path in ("src", "src/deep", "src/deep/a.py", str(tmp_path / "src")):
        assert "\nsrc/deep/a.py\n" in grep(folder, "needle", way, path=path)
    for path in ("src", "src/deep"):
        assert folder.call(GlobTool(folder.workspace), pattern="*.py", path=path) == "src/deep/a.py"


NOT_FOR_RIPGREP = (
    "(?=n)",
    "(?<!n)x",
    r"(n)\1",
    "n {",
    "n{,3}",
    "n{99999999999}",
    "(" * 3_000,
    "n\nn",
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pattern", NOT_FOR_RIPGREP, ids=lambda pattern: ascii(pattern)[:12])
def test_both_ways_refuse_the_same_patterns(pattern: str, way: str | None, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("needle\n")
    folder = Folder(tmp_path)
    assert grep(folder, pattern, way).startswith("Error: invalid pattern")
    assert folder.code == "SEARCH_INVALID_PATTERN"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pattern", [r"e\{", "[{]", "[*]+e", r"\\\\1", "e{1,2}", "e{2}d"])
def test_both_ways_take_the_same_patterns(pattern: str, way: str | None, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("e{ *e \\\\1 eed\n")
    assert grep(Folder(tmp_path), pattern, way).startswith("Found 1 match")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("line", ["😀" * 290, "\x01" * 300], ids=["wide", "escaped"])
def test_metadata_stays_within_64_kilobytes(line: str, way: str | None, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(f"{line}q\n" * 250)
    folder = Folder(tmp_path)
    grep(folder, "q", way)
    assert len(bytes(folder.last.meta or b"")) <= 64 * 1_024
    assert folder.meta["truncated"] is True


@pytest.mark.parametrize("way", WAYS)
def test_names_that_are_no_text_do_not_stop_a_search(way: str | None, tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.txt")).write_bytes(b"needle \xff\n")
    folder = Folder(tmp_path)
    assert grep(folder, "needle", way) == "Found 1 match\n\nbad\ufffd.txt\nLine 1: needle \ufffd"
    assert folder.call(GlobTool(folder.workspace), pattern="*.txt") == "bad\ufffd.txt"


@needs_ripgrep
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(files={("_", "_"): ["a\rb"]}, pattern="a.b")
@example(files={("_", "_"): ["\r\r"]}, pattern="^$")
@given(
    files=st.dictionaries(st.tuples(names, names), lines, max_size=4),
    pattern=st.sampled_from(["a", "ab", "^a", "b$", "a.b", "[ab]{2}", " ", "^$"]),
)
def test_both_ways_find_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    files: dict[tuple[str, str], list[str]],
    pattern: str,
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for (folder_name, name), content in files.items():
        (root / f"d{folder_name}").mkdir(exist_ok=True)
        text = "".join(f"{line}\n" for line in content)
        (root / f"d{folder_name}" / f"f{name}").write_bytes(text.encode())
    folder = Folder(root)
    assert grep(folder, pattern, "rg") == grep(folder, pattern, None)


class TestGlob:
    def test_the_newest_come_first_and_hidden_ones_are_there(self, tmp_path: Path) -> None:
        folder = tree(tmp_path)
        for age, name in enumerate(["a.py", "src/b.py", ".hidden"]):
            os.utime(tmp_path / name, ns=(0, 10**18 - age))
        assert folder.call(GlobTool(folder.workspace), pattern="*.py") == "a.py\nsrc/b.py"
        assert folder.call(GlobTool(folder.workspace), pattern=".hidden") == ".hidden"
        assert folder.call(GlobTool(folder.workspace), pattern="**/config") == "No files found"

    def test_at_most_100_paths_are_shown(self, tmp_path: Path) -> None:
        for number in range(130):
            (tmp_path / f"f{number}").write_text("")
        folder = Folder(tmp_path)
        text = folder.call(GlobTool(folder.workspace), pattern="f*")
        assert text.endswith("(Showing the newest 100 of 130. Narrow the pattern.)")
        assert folder.meta["total"] == 130

    def test_bad_patterns_and_places_are_told(self, tmp_path: Path) -> None:
        folder = Folder(tmp_path)
        folder.call(GlobTool(folder.workspace), pattern="[a")
        assert folder.code == "SEARCH_INVALID_PATTERN"
        folder.call(GlobTool(folder.workspace), pattern="*", path="..")
        assert folder.code == "FS_SANDBOX_DENIED"
        folder.call(GlobTool(folder.workspace), pattern="*", path="absent")
        assert folder.code == "FS_NOT_FOUND"

    MATCHES: ClassVar = {
        ("*.py", "a.py"): True,
        ("*.py", "src/a.py"): True,
        ("src/*.py", "src/a.py"): True,
        ("src/*.py", "src/x/a.py"): False,
        ("**/*.py", "a.py"): True,
        ("**/*.py", "x/y/a.py"): True,
        ("src/**", "src/x/y"): True,
        ("a?c", "abc"): True,
        ("a?c", "ac"): False,
        ("[!a]b", "cb"): True,
        ("[!a]b", "ab"): False,
        ("*.{ts,tsx}", "x.tsx"): True,
        ("*.{ts,tsx}", "x.js"): False,
        ("a.b", "axb"): False,
        ("./a", "a"): True,
    }

    @pytest.mark.parametrize(("pattern", "path"), MATCHES)
    def test_patterns(self, pattern: str, path: str) -> None:
        assert bool(compiled(pattern).fullmatch(path)) is self.MATCHES[pattern, path]

    REPEATING: ClassVar = {
        ("*a*b*c", "xaybzc"): True,
        ("*a*b*c", "xaybz"): False,
        ("*a*b*c", "d/xabc"): True,
        ("**/a*/**/b*", "ax/b"): True,
        ("**/a*/**/b*", "u/v/ax/y/z/bb"): True,
        ("**/a*/**/b*", "u/v/x/bb"): False,
        ("{*a*,*b*}", "xbx"): True,
        ("{*a*,*b*}", "xcx"): False,
        ("*[!x]*[0-9]*", "ab7c"): True,
        ("a/**/**/**/b", "a/b"): True,
        (r"\*a*b*c*", "*abc"): True,
        (r"\*a*b*c*", "xabc"): False,
        ("*" * 40 + "a" * 10 + "*b*c", "x/" + "a" * 10 + "bc"): True,
    }

    @pytest.mark.parametrize(("pattern", "path"), REPEATING)
    def test_patterns_with_many_repeats(self, pattern: str, path: str) -> None:
        assert compiled(pattern).fullmatch(path) is self.REPEATING[pattern, path]

    @pytest.mark.parametrize("pattern", ["*a" * 40 + "*b", "**/" * 40 + "b", "{*a,*a}" * 40 + "b"])
    def test_no_pattern_takes_long(self, pattern: str) -> None:
        long = "/".join(["a" * 200] * 15)
        started = time.process_time()
        assert compiled(pattern).fullmatch(long) is False
        assert time.process_time() - started < 5

    @given(
        st.lists(st.sampled_from(["*", "?", "a", "b", "/", "**/", "[ab]", "{a,b*}"]), min_size=1),
        st.text("ab/", max_size=8),
    )
    def test_both_ways_to_match_agree(self, pieces: list[str], path: str) -> None:
        pattern = "".join(pieces)[:24]
        if pattern.count("{") != pattern.count("}") or pattern.count("[") != pattern.count("]"):
            return
        made = Glob(pattern)
        items = _parsed(pattern)
        last = path if "/" in pattern else path.rpartition("/")[2]
        assert _Machine(items).accepts(last) == bool(re.fullmatch(_written(items), last, re.DOTALL))
        assert made.fullmatch(path) == _Machine(items).accepts(last)

    @pytest.mark.parametrize("pattern", ["", " ", "[", "{a", "[z-a]", "x" * 2_000])
    def test_patterns_that_mean_nothing(self, pattern: str) -> None:
        with pytest.raises(BadPattern):
            compiled(pattern)
