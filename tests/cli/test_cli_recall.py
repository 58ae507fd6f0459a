"""`slicetape recall`: the text a model gets, verbatim."""

import json
from pathlib import Path

import pytest

from cli_run import Cli, told, two_turns
from data import shared
from slicetape.log.log import SessionLog
from slicetape.recall.tools import Recall, dispatch
from slicetape.surface import View
from story import Story


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return told(tmp_path / "a.jsonl", two_turns)


def tool_text(log: Path, name: str, arguments: dict[str, object]) -> str:
    source = SessionLog.read(log)
    return dispatch(name, arguments, Recall.of(View.of(source.events), line=source.raw))


@pytest.mark.parametrize(
    ("typed", "name", "arguments"),
    [
        (("turn", "1"), "recall_turn", {"turn": "1", "view": "dialogue"}),
        (("turn", "slice-turn-1", "--full"), "recall_turn", {"turn": "1", "view": "full"}),
        (("step", "1", "1"), "recall_step", {"turn": "1", "step": "1"}),
        (("search", "thirty", "lines"), "recall_search", {"query": "thirty lines"}),
        (("search", "notes", "--scope", "auto", "--limit", "2"), "recall_search",
         {"query": "notes", "scope": "auto", "limit": 2}),
        (("search", "notes", "--kinds", "tool_output"), "recall_search",
         {"query": "notes", "kinds": ["tool_output"]}),
        (("expand", "5"), "expand_result", {"seq": 5, "formatVersion": 3}),
        (("expand", "5", "--lines", "2-4"), "expand_result",
         {"seq": 5, "formatVersion": 3, "lines": "2-4"}),
        (("expand", "5", "--grep", "line 7", "--block", "1"), "expand_result",
         {"seq": 5, "formatVersion": 3, "grep": "line 7", "block": 1}),
    ],
)  # fmt: skip
def test_every_tool_prints_what_a_model_gets(
    cli: Cli, log: Path, typed: tuple[str, ...], name: str, arguments: dict[str, object]
) -> None:
    ran = cli("recall", log, *typed)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.rstrip("\n") == tool_text(log, name, arguments).rstrip("\n")
    found = cli("recall", "--json", log, *typed).json
    assert cli("recall", log, *typed, "--json").json == found
    assert found["text"] == tool_text(log, name, arguments)
    assert (found["session"], found["tool"]) == ("story", name)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (("turn", "9"), "no recorded turn 9"),
        (("turn", "x"), "recall_turn needs"),
        (("step", "1", "9"), "turn 1 step 9"),
        (("expand", "999"), "no session event at seq 999"),
        (("expand", "0"), "not a tool result"),
        (("expand", "5", "--lines", "90-99"), "empty range"),
        (("expand", "5", "--block", "2"), "no result block 2"),
        (("expand", "5", "--format-version", "0"), "seqs change between formats"),
        (("search", "notes", "--kinds", "tool"), "must be one of"),
    ],
)
def test_what_cannot_be_recalled_says_why(
    cli: Cli, log: Path, typed: tuple[str, ...], says: str
) -> None:
    assert says in cli.fails("recall", log, *typed)


def test_help_of_a_tool_needs_no_session(cli: Cli) -> None:
    ran = cli("recall", "absent", "expand", "--help")
    assert (ran.code, ran.err) == (0, "")
    assert "--grep" in ran.out


def test_wrong_usage(cli: Cli, log: Path) -> None:
    cli.fails("recall", log, code=2)
    cli.fails("recall", log, "trun", "1", code=2)
    cli.fails("recall", log, "expand", "x", code=2)
    cli.fails("recall", log, "expand", "5", "--raw", "--grep", "x", code=2)


TEXTS = [
    "plain",
    "crlf\r\nline\r\n",
    "nul\0 and \x1b[31mred\x1b[0m",
    "\u2028 line separator",
    "[slice tape v1 · turns 1-2]",
    "ends without newline",
    "ends with two\n\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_raw_gives_the_bytes_that_were_logged(cli: Cli, tmp_path: Path, text: str) -> None:
    path = told(tmp_path / "a.jsonl", lambda story: story.reading_turn("f", text))
    assert cli("recall", path, "expand", "4", "--raw").raw == text.encode()
    assert text in cli("recall", path, "expand", "4").out


def test_halves_of_surrogate_pairs_do_not_crash_and_json_has_them(cli: Cli, tmp_path: Path) -> None:
    text = "half \ud83d here"
    path = told(tmp_path / "a.jsonl", lambda story: story.reading_turn("f", text))
    ran = cli("recall", path, "expand", "4")
    assert "half \ufffd here" in ran.out
    assert "1 half of a surrogate pair" in ran.err
    assert cli("recall", "--json", path, "expand", "4").json["text"].endswith(text)
    assert cli("recall", path, "expand", "4", "--raw").raw == "half \ufffd here".encode()


def test_a_terminal_gets_escapes_written_out(cli: Cli, tmp_path: Path) -> None:
    path = told(tmp_path / "a.jsonl", lambda story: story.reading_turn("f", "\x1b[2Jgone"))
    for more in ((), ("--raw",)):
        assert "\\x1b[2Jgone" in cli("recall", path, "expand", "4", *more, terminal=True).out


def test_a_spilled_result_comes_back_whole(cli: Cli, tmp_path: Path) -> None:
    full = "\n".join(f"row {n}" for n in range(5000))

    def tell(story: Story) -> None:
        row = story.session.log.blobs.put(full, block=1, part=1)
        meta = {
            "spill": [
                {
                    "block": 1,
                    "part": 1,
                    "sha256": row.sha256,
                    "bytes": row.bytes,
                    "lines": row.lines,
                }
            ]
        }
        story.start()
        story.human("go")
        story.says(calls={"c": ("bash", {})})
        story.result("c", "row 0\n…", meta=meta)
        story.says("seen")
        story.end()

    path = told(tmp_path / "s" / "session.v3.jsonl", tell)
    assert cli("recall", path, "expand", "4", "--raw").out == full
    assert cli("import", path).code == 0
    assert cli("recall", "story", "expand", "4", "--raw").out == full
    cli("import", path, "--id", "second")
    assert cli("recall", "second", "expand", "4", "--raw").out == full
    (blob,) = (cli.home / "sessions").rglob("story/blobs/*")
    blob.unlink()
    assert "cannot be read from here" in cli.fails("recall", "story", "expand", "4")


def test_an_old_locator_is_explained_and_never_followed(cli: Cli) -> None:
    path = shared("dsh-logs/v0-tools.jsonl")
    rows = [json.loads(line) for line in path.read_bytes().splitlines()[1:]]
    old = next(row for row in rows if row["type"] == "tool/result")
    chunk = next(row for row in rows if "seq0" in row)
    shown = [json.loads(line) for line in cli("show", path, "--events").out.splitlines()]
    now = next(row["seq"] for row in shown if row["type"] == "tool/result")
    err = cli.fails("recall", path, "expand", str(old["seq"]), "--format-version", "0")
    assert f"seq {old['seq']} of format 0 is seq {now} in this session" in err
    err = cli.fails("recall", path, "expand", str(chunk["seq0"]), "--format-version", "0")
    assert "folded into another event" in err
