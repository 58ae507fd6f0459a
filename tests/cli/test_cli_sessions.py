"""`slicetape sessions` and `slicetape search`: what is at home, through the derived index."""

import json
import shutil
from pathlib import Path

import pytest

from cli_run import CLAUDE, Cli, told, transcript, two_turns


def filled(cli: Cli, folder: Path) -> None:
    cli(
        "import",
        told(
            folder / "old.jsonl", two_turns, id="old", cwd="/proj/app", created_at=1_600_000_000_000
        ),
    )
    cli("import", transcript(folder / "fix.jsonl"))


def test_sessions_are_listed_newest_first(cli: Cli, tmp_path: Path) -> None:
    filled(cli, tmp_path)
    rows = cli("sessions", "--json").rows
    assert [row["id"] for row in rows] == ["fix", "old"]
    old = rows[1]
    size = Path(old["path"]).stat().st_size
    assert (old["turns"], old["steps"], old["tool_calls"], old["size"]) == (2, 3, 1, size)
    assert (old["project"], old["title"], old["created"]) == (
        "/proj/app",
        "Read the notes",
        1_600_000_000_000,
    )
    head, first, second = cli("sessions").out.splitlines()
    assert head.split() == ["id", "when", "turns", "steps", "size", "project", "title"]
    assert first.startswith("fix  2026-01-02 03:04      1      1")
    assert second.endswith("/proj/app  Read the notes")


def test_a_listing_can_be_narrowed(cli: Cli, tmp_path: Path) -> None:
    filled(cli, tmp_path)
    assert [row["id"] for row in cli("sessions", "--json", "--limit", "1").rows] == ["fix"]
    assert len(cli("sessions", "--json", "--project", "/proj").rows) == 2
    assert [row["id"] for row in cli("sessions", "--json", "--project", "/proj/app").rows] == [
        "old"
    ]
    assert cli("sessions", "--json", "--project", "/pro").rows == []


def test_without_sessions_the_next_step_is_named(cli: Cli) -> None:
    ran = cli("sessions")
    assert (ran.code, ran.out) == (0, "")
    assert "slicetape import FILE" in ran.err
    assert cli("sessions", "--json").raw == b""
    assert "slicetape import FILE" in cli("search", "x").err
    assert not cli.home.exists()


def test_lines_on_a_terminal_keep_its_width(cli: Cli, tmp_path: Path) -> None:
    long = {**CLAUDE[0], "message": {"role": "user", "content": "连接" * 200}}
    file = transcript(tmp_path / "l.jsonl")
    file.write_text(json.dumps(long) + "\n")
    cli("import", file)
    from rich.cells import cell_len

    lines = cli("sessions", terminal=True).out.splitlines()
    assert all(
        cell_len(line.replace("\x1b[1m", "").replace("\x1b[0m", "")) <= 100 for line in lines
    )


def test_the_index_follows_the_files_and_may_be_deleted(cli: Cli, tmp_path: Path) -> None:
    filled(cli, tmp_path)
    assert len(cli("sessions", "--json").rows) == 2
    shutil.rmtree(cli.home / "sessions" / "--proj-app--")
    assert [row["id"] for row in cli("sessions", "--json").rows] == ["fix"]
    for path in cli.home.glob("index.sqlite*"):
        path.unlink()
    assert [row["id"] for row in cli("sessions", "--json").rows] == ["fix"]
    (cli.home / "index.sqlite").write_bytes(b"no index at all" * 100)
    assert [row["id"] for row in cli("sessions", "--json").rows] == ["fix"]


def test_a_search_names_the_place_and_the_command_that_shows_it(cli: Cli, tmp_path: Path) -> None:
    filled(cli, tmp_path)
    (hit,) = cli("search", "thirty", "lines", "--json").rows
    assert (hit["session"], hit["turn"], hit["step"], hit["kind"]) == ("old", 1, 2, "assistant")
    assert hit["complete"] is True
    assert hit["recall"] == "slicetape recall old turn 1"
    (hit,) = cli("search", "line", "30", "--kinds", "tool_output", "--json").rows
    assert hit["recall"] == "slicetape recall old expand 5"
    assert "line 30 of the notes" in cli(*hit["recall"].split()[1:]).out
    hit, *_ = cli("search", "file_path", "a.py", "--kinds", "tool_input", "--json").rows
    assert hit["recall"] == "slicetape recall fix step 1 1"
    assert "retry = 3" in cli(*hit["recall"].split()[1:]).out


def test_hits_for_people(cli: Cli, tmp_path: Path) -> None:
    filled(cli, tmp_path)
    assert cli("search", "thirty").out.splitlines() == [
        "old · turn 1 step 2 · assistant",
        "  They are thirty lines.",
        "  slicetape recall old turn 1",
    ]
    assert "连接失败" in cli("search", "连接").out
    assert "\x1b[1mold" in cli("search", "thirty", terminal=True).out
    assert "some of the words" in cli("search", "thirty", "elephants").out


def test_kinds_and_limits_narrow_a_search(cli: Cli, tmp_path: Path) -> None:
    filled(cli, tmp_path)
    everywhere = {row["kind"] for row in cli("search", "notes", "--json").rows}
    assert everywhere == {"user", "tool_input", "tool_output"}
    assert {row["kind"] for row in cli("search", "notes", "--kinds", "user", "--json").rows} == {
        "user"
    }
    assert len(cli("search", "notes", "--limit", "1", "--json").rows) == 1
    assert "the kinds are user, assistant" in cli.fails("search", "x", "--kinds", "usr", code=2)


def test_no_hit_is_no_failure(cli: Cli, tmp_path: Path) -> None:
    filled(cli, tmp_path)
    ran = cli("search", "xyzzy")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "no hits: in 2 sessions\n"


def test_a_session_that_grows_is_read_again(cli: Cli, tmp_path: Path) -> None:
    from slicetape.log.log import SessionLog
    from story import Story

    filled(cli, tmp_path)
    assert cli("search", "zebra", "--json").rows == []
    (path,) = (cli.home / "sessions" / "--proj-app--").rglob("session.v3.jsonl")
    with SessionLog.open(path) as log:
        Story(log).short_turn("a zebra", "seen")
    assert [row["turn"] for row in cli("search", "zebra", "--json").rows] == [3]


@pytest.mark.parametrize("query", ['"', "*", "a OR", "NEAR(", "-", "' or 1=1 --", "\udc80x"])
def test_a_query_is_words_and_never_syntax(cli: Cli, tmp_path: Path, query: str) -> None:
    filled(cli, tmp_path)
    assert cli("search", "--", query).code == 0


def test_an_index_that_cannot_be_kept_is_made_for_the_command(cli: Cli, tmp_path: Path) -> None:
    filled(cli, tmp_path)
    (cli.home / "index.sqlite").mkdir()
    ran = cli("search", "thirty", "--json")
    assert ran.rows[0]["session"] == "old"
    assert "every session is read anew" in ran.err


def test_many_sessions_that_cannot_be_read_are_summed_up(cli: Cli, tmp_path: Path) -> None:
    for n in range(7):
        cli("import", transcript(tmp_path / f"t{n}.jsonl"))
    for path in cli.home.rglob("session.v3.jsonl"):
        path.write_bytes(bytes(100))
    ran = cli("sessions")
    assert ran.err.count("warning:") == 6
    assert "2 more sessions cannot be read" in ran.err
