"""`slicetape verify`: log, surface, turns, texts beside the log, and every request."""

import json
from pathlib import Path

import msgspec
import pytest

from cli_run import Cli, sealed, told, transcript, two_turns
from data import shared
from slicetape.log.events import CompactionPrune
from slicetape.log.messages import Source
from slicetape.log.payloads import PruneData, SeqRange
from story import Story


def problems(cli: Cli, path: Path) -> list[tuple[int | None, str]]:
    ran = cli("verify", path, "--json")
    assert ran.code == (1 if ran.json["problems"] else 0)
    assert ran.json["ok"] is not bool(ran.json["problems"])
    return [(problem["seq"], problem["rule"]) for problem in ran.json["problems"]]


def test_a_sound_session_is_ok(cli: Cli, tmp_path: Path) -> None:
    ran = cli("verify", told(tmp_path / "a.jsonl", sealed), "--json")
    assert ran.code == 0
    assert ran.json == {
        "session": "story",
        "events": 15,
        "ok": True,
        "problems": [],
        "requests_checked": 2,
        "notes": [],
    }
    assert cli("verify", tmp_path / "a.jsonl").out == "story: ok · 15 events, 2 requests checked\n"


def test_several_sessions_and_all_of_them(cli: Cli, tmp_path: Path) -> None:
    for name in ("one", "two"):
        cli("import", transcript(tmp_path / f"{name}.jsonl"))
    assert [row["session"] for row in cli("verify", "--all", "--json").rows] == ["one", "two"]
    ran = cli("verify", "one", "absent", "two")
    assert ran.code == 1
    assert [line.split(" ·")[0] for line in ran.out.splitlines() if line[0] != " "] == [
        "one: ok",
        "absent: 1 problem",
        "two: ok",
    ]
    assert ran.err == "3 sessions, 1 with problems\n"
    assert cli("verify", "one", "two").err == "2 sessions, all ok\n"
    assert "name a SESSION, or --all" in cli.fails("verify", code=2)


def test_turn_rules(cli: Cli, tmp_path: Path) -> None:
    def tell(story: Story) -> None:
        story.start()
        story.human("one")
        story.step_start()
        story.says("said", step=2)
        story.step_end()
        story.end()
        story.start(turn=3)
        story.end()

    assert problems(cli, told(tmp_path / "a.jsonl", tell)) == [
        (3, "turns"),
        (4, "turns"),
        (6, "turns"),
    ]


def test_an_unanswered_call_is_named_once(cli: Cli, tmp_path: Path) -> None:
    def tell(story: Story) -> None:
        story.start()
        story.human("one")
        for step in (1, 2, 3):
            story.step_start()
            story.says("said", calls={"c": ("read", {})} if step == 1 else None, step=step)
            story.step_end()
        story.end()

    assert problems(cli, told(tmp_path / "a.jsonl", tell)) == [(3, "unanswered-call")]


def test_a_rewrite_inside_a_turn_that_no_host_made_breaks_the_prefix(
    cli: Cli, tmp_path: Path
) -> None:
    def tell(story: Story) -> None:
        story.start()
        story.human("one")
        story.step_start()
        said = story.says("first", step=1)
        story.step_end()
        story.old_entry(said, said, "[slice tape v1 · turns 1-1 · 1 turn(s) sealed]")
        story.step_start()
        story.says("second", step=2)
        story.step_end()
        story.end()

    # The request of step 2 would have begun with step 1's request, had nothing been sealed: the
    # first answer was never sent, so sealing it is still an extension. One step later it is not.
    assert problems(cli, told(tmp_path / "a.jsonl", tell)) == []

    def late(story: Story) -> None:
        story.start()
        story.human("one")
        story.step_start()
        said = story.says("first", step=1)
        story.step_end()
        story.step_start()
        story.says("second", step=2)
        story.step_end()
        story.old_entry(said, said, "[slice tape v1 · turns 1-1 · 1 turn(s) sealed]")
        story.step_start()
        story.says("third", step=3)
        story.step_end()
        story.end()

    path = told(tmp_path / "b.jsonl", late)
    assert problems(cli, path) == [(8, "prefix")]
    assert "changes byte" in cli("verify", path).out


def test_what_a_host_rewrites_is_a_note(cli: Cli, tmp_path: Path) -> None:
    def tell(story: Story) -> None:
        story.start()
        first = story.human("one")
        story.step_start()
        said = story.says("first", step=1)
        story.step_end()
        story.step_start()
        story.says("second", step=2)
        story.step_end()
        compact = Source(kind="plugin", plugin="compact")
        story.replaced(first, said, "summary", source=compact)
        story.step_start()
        story.says("third", step=3)
        story.step_end()
        story.end()

    ran = cli("verify", told(tmp_path / "a.jsonl", tell))
    assert ran.code == 0
    assert "1 request behind a rewrite by the host itself" in ran.out


def spilled(story: Story, text: str = "full text") -> None:
    row = story.session.log.blobs.put(text, block=1, part=1)
    meta = {"spill": [msgspec.to_builtins(row)]}
    story.start()
    story.human("go")
    story.step_start()
    story.says(calls={"c": ("bash", {})}, step=1)
    story.result("c", "view", meta=meta)
    story.step_end()
    story.end()


@pytest.mark.parametrize("rule", ["blob-missing", "blob-changed"])
def test_texts_beside_the_log_are_checked(cli: Cli, tmp_path: Path, rule: str) -> None:
    path = told(tmp_path / "s" / "session.v3.jsonl", spilled)
    assert problems(cli, path) == []
    (blob,) = (path.parent / "blobs").iterdir()
    if rule == "blob-missing":
        blob.unlink()
    else:
        blob.write_text("other")
    assert problems(cli, path) == [(5, rule)]


def test_many_problems_are_listed_in_part(cli: Cli, tmp_path: Path) -> None:
    def tell(story: Story) -> None:
        for turn in range(30):
            story.start(turn=2 * turn + 2)
            story.end()

    path = told(tmp_path / "a.jsonl", tell)
    assert "… 10 more; --json lists them all" in cli("verify", path).out
    assert len(problems(cli, path)) == 30


@pytest.mark.parametrize(
    "name", ["v3-tools.jsonl", "v3-resumed.jsonl", "v3-codemode.jsonl", "v3-prune-compact.jsonl",
             "v0-tools.jsonl", "v4-tools.jsonl", "v4-prune-compact.jsonl", "v4-crash.jsonl",
             "v3-prune-compact.session.v3.jsonl.zstd", "appendix.jsonl"],
)  # fmt: skip
def test_every_real_log_is_sound(cli: Cli, name: str) -> None:
    assert problems(cli, shared(f"dsh-logs/{name}")) == []


@pytest.mark.parametrize("name", ["basic", "resume", "context", "fold", "spill", "ptc", "abort"])
def test_every_session_of_the_reference_is_sound(cli: Cli, name: str) -> None:
    assert problems(cli, shared(f"golden/sessions/{name}.jsonl")) == []


@pytest.mark.parametrize(
    "name", ["claude-code/cc-14.jsonl.zst", "codex-rollout/cdx-06.jsonl.zst", "pi/pi-02.jsonl.zst",
             "gemini-cli/gem-01.json.zst", "openhands/oh-02.json.zst"],
)  # fmt: skip
def test_imported_transcripts_are_sound(cli: Cli, name: str) -> None:
    assert problems(cli, shared(f"transcripts/{name}")) == []


def test_signed_reasoning_is_checked_on_the_wire_that_carries_it(cli: Cli, tmp_path: Path) -> None:
    path = told(tmp_path / "a.jsonl", two_turns)
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    for row in rows:
        if row["type"] == "assistant/message":
            state = {"response": {}, "blocks": [{"signature": "abc"}]}
            row["data"]["message"]["source"]["replayState"] = state
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    assert problems(cli, path) == []


@pytest.mark.parametrize("announced", [False, True])
def test_a_result_that_was_sent_may_be_pruned_by_a_host_and_never_folded(
    cli: Cli, tmp_path: Path, announced: bool
) -> None:
    def tell(story: Story) -> None:
        story.start()
        story.human("one")
        story.step_start()
        story.says(calls={"c": ("read", {})}, step=1)
        result = story.result("c", "text " * 50)
        story.step_end()
        story.step_start()
        story.says("second", step=2)
        story.step_end()
        if announced:
            prune = PruneData(SeqRange(result.seq, result.seq), (result.seq,), 10)
            story.add(CompactionPrune(data=prune))
        story.view_of(result, "text…")
        story.step_start()
        story.says("third", step=3)
        story.step_end()
        story.end()

    path = told(tmp_path / "a.jsonl", tell)
    found = cli("verify", path, "--json").json
    assert [problem["rule"] for problem in found["problems"]] == ([] if announced else ["prefix"])
    assert bool(found["notes"]) is announced


def test_messages_without_reasoning_are_noted_where_it_is_wanted_back(
    cli: Cli, tmp_path: Path
) -> None:
    path = told(tmp_path / "a.jsonl", two_turns)
    text = path.read_text().replace('"model":"m"', '"model":"deepseek-chat"')
    path.write_text(text)
    assert cli("verify", path, "--json").json["notes"] == []
    bare = text.replace('{"type":"reasoning","text":"hmm"},', "")
    assert bare != text
    path.write_text(bare)
    (note,) = cli("verify", path, "--json").json["notes"]
    assert note.startswith("1 message with calls and no recorded reasoning, the first at seq 3")
