"""`slicetape replay` and `slicetape demo`, as a person and a program call them."""

import re
from pathlib import Path

import pytest

from cli_run import Cli, told, transcript
from slicetape.log.store import Store
from story import Story, header

LONG = "line of output\n" * 400


def reading(story: Story) -> None:
    for number in range(3):
        story.reading_turn(f"{number}.txt", f"{number} {LONG}")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return told(tmp_path / "session.v3.jsonl", reading)


class TestReport:
    def test_a_table_shows_every_arm(self, cli: Cli, log: Path) -> None:
        ran = cli("replay", log, "--arms", "tape,mask:1")
        assert ran.code == 0
        rows = [line.split()[0] for line in ran.out.splitlines() if line.startswith("  ")]
        assert rows == ["arm", "transcript", "tape", "mask:1"] * 2
        assert ran.err == ""

    def test_programs_get_one_json_object(self, cli: Cli, log: Path) -> None:
        report = cli("replay", log, "--json", "--arms", "tape").json
        assert set(report["sessions"][0]["arms"]) == {"transcript", "tape"}
        assert report["sessions"][0]["arms"]["tape"]["recoverable"] == 1.0

    def test_several_files_get_a_total(self, cli: Cli, log: Path) -> None:
        assert "all 2 sessions" in cli("replay", log, log, "--arms", "tape").out

    def test_a_session_at_home_is_named_by_its_id(self, cli: Cli) -> None:
        path = Store(cli.home).path_for(header("7f3a-at-home"))
        path.parent.mkdir(parents=True)
        told(path, reading, id="7f3a-at-home")
        assert "7f3a-at-home (dsh-session)" in cli("replay", "7f3a", "--arms", "tape").out

    def test_a_person_sees_progress_and_no_letter_of_it_is_in_the_report(
        self, cli: Cli, log: Path
    ) -> None:
        ran = cli("replay", log, log, "--arms", "tape", terminal=True)
        assert ran.code == 0
        assert "2/2 " in ran.err
        assert "\x1b" not in ran.out

    def test_what_could_not_be_read_is_told(self, cli: Cli, tmp_path: Path) -> None:
        path = transcript(tmp_path / "cut.jsonl")
        path.write_text(path.read_text() + '{"type":"user","mess', encoding="utf-8")
        ran = cli("replay", path, "--arms", "tape", "--tokenizer", "bytes")
        assert ran.code == 0
        assert "line 4 is damaged" in ran.err
        assert "cut (claude-code)" in ran.out


class TestLists:
    @pytest.mark.parametrize(
        ("option", "name"),
        [("--prices", "rel-30"), ("--arms", "mask:N"), ("--tokenizer", "claude-est")],
    )
    def test_every_name_can_be_listed_without_a_file(
        self, cli: Cli, option: str, name: str
    ) -> None:
        ran = cli("replay", option, "list")
        assert ran.code == 0
        assert any(line.split()[0] == name for line in ran.out.splitlines())

    def test_without_a_file_or_a_list_there_is_nothing_to_do(self, cli: Cli) -> None:
        assert "name a FILE or SESSION" in cli.fails("replay", code=2)


class TestWrongUse:
    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--arms", "tap"], "unknown arm 'tap'; did you mean tape?"),
            (["--arms", "masks:3"], "did you mean mask:N?"),
            (["--arms", "transcripts"], "did you mean transcript?"),
            (["--arms", "xyz"], "the arms are transcript, slicetape, fold, tape, compact, mask:N"),
            (["--prices", "rel-31"], "no price sheet 'rel-31'; did you mean rel-30"),
            (["--prices", ","], "the default is rel-30"),
            (["--format", "claud"], "unknown format 'claud'; known formats: aider-md"),
            (["--tokenizer", "o201k"], "no token counter 'o201k'; there are o200k"),
            (["--arms", "tape{history.keepRecent=1}"], "keepRecent"),
            (["--window", "0"], "0"),
        ],
    )
    def test_a_typo_is_told_once_with_what_is_meant(
        self, cli: Cli, log: Path, arguments: list[str], says: str
    ) -> None:
        assert says in cli.fails("replay", log, log, *arguments, code=2)
        assert cli("replay", log, *arguments).out == ""


class TestBadFiles:
    @pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"hello\n", b"{}", b"\x89PNG\r\n" * 99])
    def test_a_file_of_no_known_format_is_refused(
        self, cli: Cli, tmp_path: Path, content: bytes
    ) -> None:
        path = tmp_path / "file.jsonl"
        path.write_bytes(content)
        assert "file.jsonl" in cli.fails("replay", path)
        assert cli("replay", path, "--json").out == ""

    def test_one_bad_file_does_not_stop_the_others(
        self, cli: Cli, log: Path, tmp_path: Path
    ) -> None:
        bad = tmp_path / "bad.jsonl"
        bad.write_bytes(b"\0\0\0")
        missing = tmp_path / "missing.jsonl"
        ran = cli("replay", log, bad, missing, log, "--arms", "tape")
        assert ran.code == 1
        assert "all 2 sessions" in ran.out
        errors = ran.err.splitlines()
        assert errors[0].startswith("error: 'bad.jsonl' is binary")
        assert "missing.jsonl: no such file" in errors[-1]
        assert ran.err.count("error: ") == 2
        assert len(cli("replay", log, bad, "--json", "--arms", "tape").json["sessions"]) == 1

    def test_an_unknown_session_is_told(self, cli: Cli, log: Path) -> None:
        assert "nosuch" in cli.fails("replay", "nosuch")

    def test_a_folder_without_a_log_is_told(self, cli: Cli, tmp_path: Path) -> None:
        assert "folder" in cli.fails("replay", tmp_path / "..")


class TestDemo:
    def test_it_shows_a_table_an_entry_and_a_recall(self, cli: Cli) -> None:
        ran = cli("demo")
        assert ran.code == 0
        lines = ran.out.splitlines()
        assert max(map(len, lines)) <= 100
        assert len(lines) < 105
        call = next(line[2:] for line in lines if line.startswith("> expand_result("))
        assert any(call in line and line.startswith("  [tool turn") for line in lines)
        assert any(line.startswith("  [slice tape v1 · turns") for line in lines)
        assert any(line.startswith("  [full result of") for line in lines)

    def test_it_runs_a_session_live_and_takes_it_up_in_a_second_process(self, cli: Cli) -> None:
        out = cli("demo").out
        assert re.search(r"^   1      2 .* 1 folded ", out, re.MULTILINE)
        assert re.search(r"^   4      3 ", out, re.MULTILINE)
        assert "  Turn 3: app.py was edited there, from 5 to 30 seconds." in out.splitlines()
        assert "13 requests over HTTP" in out

    def test_it_explains_every_column(self, cli: Cli) -> None:
        text = " ".join(cli("demo").out.split())
        for word in (
            "sent",
            "peak",
            "cached",
            "breaks",
            "at seal",
            "lint",
            "entries",
            "recoverable",
            "visible",
            "tool",
            "clean",
            "recalls/step",
        ):
            assert f"{word}: " in text or f"{word}, " in text, word

    def test_in_full_nothing_is_cut(self, cli: Cli) -> None:
        out = cli("demo", "--full").out
        assert "more lines" not in out
        assert '"formatVersion":3}) returns a tool result]' in out
