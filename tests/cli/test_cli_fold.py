"""`slicetape fold` and `show --folds`: what a model sees instead of a large result."""

import io
import sys
from pathlib import Path

import pytest

from cli_run import Cli, told
from story import Story

LOG = "\n".join(f"2026-01-01 10:00:00 INFO step {n}" for n in range(3000))


def folded(story: Story) -> None:
    story.start()
    story.human()
    story.step_start()
    story.says(calls={"c1": ("bash", {"command": "make"})}, step=1)
    result = story.result("c1", LOG)
    story.step_end()
    story.view_of(result, "a view")
    story.end()


def test_a_log_is_shown_by_its_ends_and_says_what_is_missing(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "build.log"
    path.write_text(LOG, encoding="utf-8")
    ran = cli("fold", path)
    assert ran.code == 0
    assert ran.out.startswith("[bash · log · 3000 lines, 9 kept · expand_result(")
    assert "…[+2991 lines / " in ran.out
    assert "103" in ran.err or "chars" in ran.err
    assert len(ran.out) < 1000


def test_source_code_is_shown_whole(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    text = "def f(x):\n    return x\n" * 2000
    path.write_text(text, encoding="utf-8")
    ran = cli("fold", path, "--tool", "read", "--path", "module.py")
    assert ran.out == text
    assert "shown whole" in ran.err


def test_programs_get_kind_sizes_and_text(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "build.log"
    path.write_text(LOG, encoding="utf-8")
    found = cli("fold", path, "--json").json
    assert found["kind"] == "log"
    assert found["folded"] is True
    assert found["total_lines"] == 3000
    assert found["view_chars"] == len(found["text"])


def test_standard_input_is_a_dash(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"short \xff text\n")))
    ran = cli("fold", "-")
    assert ran.out == "short \ufffd text\n"


def test_settings_of_a_file_are_used(cli: Cli, tmp_path: Path) -> None:
    path, config = tmp_path / "build.log", tmp_path / "c.toml"
    path.write_text(LOG, encoding="utf-8")
    config.write_text("[digest]\nenabled = false\n", encoding="utf-8")
    assert cli("fold", path, "--config", config, "--json").json["folded"] is False


def test_a_missing_file_is_one_line(cli: Cli, tmp_path: Path) -> None:
    assert "No such file" in cli.fails("fold", tmp_path / "nope.log")


def test_the_views_of_a_session_are_listed(cli: Cli, tmp_path: Path) -> None:
    path = told(tmp_path / "s" / "session.v3.jsonl", folded)
    ran = cli("show", path, "--folds")
    assert ran.code == 0
    assert "a view" in ran.out
    assert f"{len(LOG):,} → 6 chars" in ran.out
    [row] = cli("show", path, "--folds", "--json").rows
    assert row["chars"] == len(LOG)
    assert row["view_chars"] == 6
    assert row["shown"] is True
    assert row["tools"] == ["bash"]


def test_a_session_without_views_says_so(cli: Cli, tmp_path: Path) -> None:
    path = told(tmp_path / "s" / "session.v3.jsonl", lambda story: story.short_turn())
    assert "no views" in cli("show", path, "--folds").out
