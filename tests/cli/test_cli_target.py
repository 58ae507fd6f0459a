"""What a SESSION or FILE names, where several things could be meant."""

from pathlib import Path

import pytest

from cli_run import Cli, told, transcript, two_turns
from slicetape.cli.target import transcript_path
from slicetape.errors import SessionNotFound, UsageError
from story import Story


def test_an_id_wins_over_a_file_of_that_name_and_a_path_never_means_an_id(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("import", transcript(tmp_path / "fix.jsonl"))
    monkeypatch.chdir(tmp_path)
    told(tmp_path / "fix", two_turns)
    assert "retry policy" in cli("show", "fix").out
    assert "Read the notes" in cli("show", "./fix").out
    (tmp_path / "only").write_bytes((tmp_path / "fix").read_bytes())
    assert "Read the notes" in cli("show", "only").out


def test_the_file_behind_a_name(cli: Cli, tmp_path: Path) -> None:
    file = transcript(tmp_path / "fix.jsonl")
    cli("import", file)
    stored = cli.home / "sessions" / "--proj--" / "fix" / "session.v3.jsonl"
    assert transcript_path("fi") == transcript_path(str(stored.parent)) == str(stored)
    assert transcript_path(str(file)) == str(file)
    with pytest.raises(SessionNotFound):
        transcript_path("absent")
    with pytest.raises(UsageError, match="name the file alone"):
        transcript_path(f"{file}#1")


def test_a_folder_of_another_home_holds_a_session(cli: Cli, tmp_path: Path) -> None:
    told(tmp_path / "s" / "session.v3.jsonl", two_turns)
    assert cli("show", tmp_path / "s").code == 0


def test_a_transcript_whose_events_make_no_session_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text('{"messages": []}\n')
    assert cli("show", tmp_path / "none.jsonl").code in (0, 1)
    assert "Traceback" not in cli("import", tmp_path / "none.jsonl").err


def test_a_session_without_events_is_shown_and_verified(cli: Cli, tmp_path: Path) -> None:
    path = told(tmp_path / "a.jsonl", lambda story: story.session.log.sync())
    assert cli("show", path).out.startswith("session story")
    assert cli("show", path, "--surface").out.endswith("0 nodes, 0 chars\n")
    assert cli("show", path, "--json").raw == b""
    assert cli("verify", path).out == "story: ok · 0 events, 0 requests checked\n"


def test_ids_with_odd_letters_are_quoted_in_commands(cli: Cli, tmp_path: Path) -> None:
    def tell(story: Story) -> None:
        story.reading_turn("f", "needle in a result")

    cli("import", told(tmp_path / "a.jsonl", tell, id="odd id/§1"))
    (hit,) = cli("search", "needle", "--json").rows
    assert hit["recall"] == "slicetape recall 'odd id/§1' expand 4"
    assert "needle" in cli("recall", "odd id/§1", "expand", "4").out
