"""`slicetape show`: the transcript from originals, the surface, the tape, the lines."""

import json
from pathlib import Path

from cli_run import Cli, sealed, told, transcript, two_turns
from data import shared
from story import PICTURE, Story


def test_the_transcript_is_what_was_said_in_order(cli: Cli, tmp_path: Path) -> None:
    ran = cli("show", told(tmp_path / "a.jsonl", two_turns, cwd="/proj"))
    assert (ran.code, ran.err) == (0, "")
    log = f"{tmp_path}/a.jsonl"
    assert ran.out.splitlines() == [
        "session story · 2023-11-14 22:13 · /proj",
        "",
        "── turn 1 ──────────────────────────────────────────────────",
        "human",
        "  Read the notes",
        "  please",
        "assistant · step 1 · m",
        "  ~ hmm",
        "  I read them.",
        '  → read {"file_path": "notes.md"}',
        "  ← seq 5 · read · 620 chars",
        *(f"    line {n} of the notes" for n in range(1, 9)),
        f"    … 22 more lines: slicetape recall {log} expand 5",
        "assistant · step 2 · m",
        "  They are thirty lines.",
        "",
        "── turn 2 ──────────────────────────────────────────────────",
        "human",
        "  And now 连接失败?",
        "assistant · step 1 · m",
        "  Nothing new.",
        "turn 2 ended: aborted",
    ]


def test_the_printed_command_brings_the_whole_result_back(cli: Cli, tmp_path: Path) -> None:
    path = told(tmp_path / "my notes.jsonl", two_turns)
    shown = cli("show", path).out
    assert f"slicetape recall '{path}' expand 5" in shown
    assert "line 30 of the notes" not in shown
    assert "line 30 of the notes" in cli("recall", path, "expand", "5").out


def test_sealing_hides_nothing_from_the_transcript(cli: Cli, tmp_path: Path) -> None:
    shown = cli("show", told(tmp_path / "a.jsonl", sealed)).out
    assert '→ read {"file_path": "a"}' in shown
    assert "text of a" in shown
    assert "[slice tape" not in shown


def test_one_turn(cli: Cli, tmp_path: Path) -> None:
    path = told(tmp_path / "a.jsonl", two_turns)
    shown = cli("show", path, "--turn", "2").out
    assert "Nothing new." in shown
    assert "turn 1" not in shown
    lines = cli("show", path, "--turn", "1", "--events").out.splitlines()
    assert [json.loads(line)["type"] for line in (lines[0], lines[-1])] == [
        "turn/start",
        "turn/end",
    ]
    err = cli.fails("show", path, "--turn", "9", code=2)
    assert "has no turn 9; it has turns 1 to 2" in err


def test_an_open_turn_and_a_turn_without_an_end(cli: Cli, tmp_path: Path) -> None:
    def tell(story: Story) -> None:
        story.start()
        story.human("first")
        story.start()
        story.human("second")

    path = told(tmp_path / "a.jsonl", tell)
    assert "second" not in cli("show", path, "--turn", "1").out
    assert "second" in cli("show", path, "--turn", "2").out
    assert "it has no turns" in cli.fails(
        "show", told(tmp_path / "b.jsonl", lambda story: story.human("x")), "--turn", "1", code=2
    )


def test_the_surface_is_what_the_next_request_holds(cli: Cli, tmp_path: Path) -> None:
    path = told(tmp_path / "a.jsonl", sealed)
    rows = cli("show", path, "--surface", "--json").rows
    assert [(row["kind"], row["seq"]) for row in rows] == [
        ("human", 1),
        ("entry", 9),
        ("human", 10),
        ("assistant", 12),
    ]
    assert rows[1]["text"].startswith("[slice tape v1 · turns 1-1")
    assert rows[0]["chars"] == 3
    assert [row["position"] for row in rows] == [0, 1, 2, 3]
    out = cli("show", path, "--surface").out.splitlines()
    assert out[2].split()[:5] == ["1", "9", "entry", "–", str(rows[1]["chars"])]
    assert out[-1].startswith("4 nodes, ")
    assert len(cli("show", path, "--surface", "--turn", "2", "--json").rows) == 2


def test_the_tape_is_the_entries(cli: Cli, tmp_path: Path) -> None:
    path = told(tmp_path / "a.jsonl", sealed)
    (row,) = cli("show", path, "--tape", "--json").rows
    assert (row["seq"], row["turns"], row["replaces"]) == (9, [1, 1], [3, 5])
    shown = cli("show", path, "--tape").out
    assert "entry at seq 9 · stands for 2 nodes" in shown
    assert row["text"] in shown
    assert cli("show", path, "--tape", "--turn", "2", "--json").rows == []
    bare = told(tmp_path / "b.jsonl", two_turns)
    assert "no entries" in cli("show", bare, "--tape").out


def test_the_events_are_the_lines_of_the_log(cli: Cli) -> None:
    path = shared("dsh-logs/v3-tools.jsonl")
    assert cli("show", path, "--events").raw == b"".join(path.read_bytes().splitlines(True)[1:])


def test_json_has_one_object_for_everything_said(cli: Cli, tmp_path: Path) -> None:
    rows = cli("show", told(tmp_path / "a.jsonl", two_turns), "--json").rows
    assert [row["kind"] for row in rows] == [
        *("turn-start", "human", "assistant", "result", "assistant", "turn-end"),
        *("turn-start", "human", "assistant", "turn-end"),
    ]
    assert rows[2]["reasoning"] == "hmm"
    assert rows[2]["calls"][0]["name"] == "read"
    assert rows[3]["text"].endswith("line 30 of the notes")
    assert rows[-1]["reason"] == "aborted"


def test_context_pictures_errors_and_several_results(cli: Cli, tmp_path: Path) -> None:
    def tell(story: Story) -> None:
        story.start()
        story.step_start()
        story.system("You are\n" * 12)
        story.human("look", PICTURE)
        story.notice("\n".join(f"note {n}" for n in range(20)), plugin="notices")
        story.says(calls={"a": ("grep", {}), "b": ("bash", {})}, step=1)
        story.results({"a": ("x" * 900,), "b": ("Error: no",)}, errors={"b"})
        story.aside("x/compaction", {"trigger": "auto"})
        story.aside("x/other", {"hidden": True})

    path = told(tmp_path / "a.jsonl", tell)
    shown = cli("show", path).out
    assert "[image 1×1 image/png sha256:00]" in shown
    assert "context · notices\n  note 0\n" in shown
    assert "… 16 more lines" in shown
    assert "block 2 · bash · 9 chars · error" in shown
    assert "… 500 more chars in this line: slicetape recall" in shown
    assert "expand 8 --block 1" in shown
    assert "[x/compaction]" in shown
    assert "hidden" not in shown
    rows = cli("show", path, "--json").rows
    assert [row["block"] for row in rows if row["kind"] == "result"] == [1, 2]
    assert {"system", "context"} <= {row["kind"] for row in rows}
    assert {"system", "context"} <= {
        row["kind"] for row in cli("show", path, "--surface", "--json").rows
    }


def test_a_real_log_with_attempts_compactions_and_views(cli: Cli) -> None:
    path = shared("dsh-logs/v3-codemode.jsonl")
    shown = cli("show", path).out
    assert "── compaction of 3 nodes" in shown
    assert "    ↳ " in shown
    assert "    ↲ seq" in shown
    nested = [row for row in cli("show", path, "--json").rows if row["kind"] == "nested-call"]
    assert len(nested) == shown.count("    ↲ seq")
    kinds = {row["kind"] for row in cli("show", path, "--surface", "--json").rows}
    assert {"system", "assistant"} <= kinds
    failing = cli("show", shared("dsh-logs/v4-tools.jsonl")).out
    assert "a model call that gave no message" in failing
    assert ": retry 1 after: " in failing


def test_a_terminal_gets_words_wrapped_and_escapes_shown(cli: Cli, tmp_path: Path) -> None:
    def tell(story: Story) -> None:
        story.short_turn("word " * 60 + "\x1b[31m", "fine")

    path = told(tmp_path / "a.jsonl", tell)
    ran = cli("show", path, terminal=True)
    assert max(map(len, ran.out.splitlines())) <= 100
    assert "\x1b[31m" not in ran.out
    assert "\\x1b[31m" in ran.out
    assert "\\u001b" in cli("show", path, "--events", terminal=True).out


def test_a_transcript_is_shown_as_it_is(cli: Cli, tmp_path: Path) -> None:
    file = transcript(tmp_path / "fix.jsonl")
    assert "fix the retry policy" in cli("show", file).out
    assert cli("show", file, "--format", "claude-code").code == 0
    assert not cli.home.exists()
