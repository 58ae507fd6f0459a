"""`slicetape replay` and `slicetape demo`, as a person and a program call them."""

import json
from pathlib import Path

import pytest

from slicetape.cli.program import run as program
from slicetape.log.log import SessionLog
from story import Story

LONG = "line of output\n" * 400


@pytest.fixture
def log(tmp_path: Path) -> Path:
    story = Story()
    for number in range(3):
        story.reading_turn(f"{number}.txt", f"{number} {LONG}")
    path = tmp_path / "session.v3.jsonl"
    with SessionLog.create(path, story.session.log.header) as file:
        file.extend(story.events)
        file.sync()
    return path


def run(*arguments: str | Path) -> int:
    return program([str(argument) for argument in arguments])


def test_a_table_shows_every_arm(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("replay", log, "--arms", "tape,mask:1") == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if line.startswith("  ")][:4] == [
        "arm",
        "transcript",
        "tape",
        "mask:1",
    ]
    assert "\x1b" not in out


def test_programs_get_one_json_object(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("replay", log, "--json", "--arms", "tape") == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["sessions"][0]["arms"]) == {"transcript", "tape"}
    assert report["sessions"][0]["arms"]["tape"]["recoverable"] == 1.0


def test_several_files_get_a_total(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("replay", log, log, "--arms", "tape") == 0
    assert "all 2 sessions" in capsys.readouterr().out


def test_the_sheets_can_be_listed(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("replay", log, "--prices", "list") == 0
    assert "rel-30" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--arms", "tap"], "unknown arm 'tap'"),
        (["--prices", "rel-31"], "no price sheet 'rel-31'"),
        (["--format", "claud"], "unknown format 'claud'"),
        (["--tokenizer", "o201k"], "o201k"),
        (["--arms", "tape{history.keepRecent=1}"], "keepRecent"),
    ],
)
def test_a_typo_is_told_in_one_or_two_lines(
    log: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("replay", log, *arguments) in (1, 2)
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) <= 3
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"hello\n", b"{}", b"\x89PNG\r\n" * 99])
def test_a_file_of_no_known_format_is_refused(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(content)
    assert run("replay", path) == 1
    assert "file.jsonl" in capsys.readouterr().err


def test_the_demo_shows_a_table_an_entry_and_a_recall(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("demo") == 0
    out = capsys.readouterr().out
    assert "transcript" in out
    assert "[slice tape v1 · turns" in out
    assert "> expand_result(" in out
    assert "[full result of" in out
