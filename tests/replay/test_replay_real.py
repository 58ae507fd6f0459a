"""Every shared session under `transcript` and `tape`: valid requests, no break, nothing lost."""

import json
from functools import cache
from pathlib import Path

import pytest

from data import shared
from slicetape.replay.arms import arms
from slicetape.replay.replay import Options, recordings, replay_session
from slicetape.replay.report import SessionReport
from slicetape.replay.totals import totals

FILES = (
    *(f"claude-code/cc-{n:02}.jsonl" for n in range(1, 15)),
    *(f"codex-rollout/cdx-{n:02}.jsonl" for n in range(1, 7)),
    *(f"openai-chat/chat-{n:02}.json" for n in range(1, 6)),
    *("copilot-cli/cop-01.jsonl", "copilot-cli/cop-02.jsonl"),
    *(f"dsh-session/dsh-{n:02}.jsonl" for n in range(1, 5)),
    *("gemini-cli/gem-01.json", "gemini-cli/gem-02.json", "inspect/insp-01.json"),
    *(f"mini-swe-agent/mini-{n:02}.traj.json" for n in range(1, 4)),
    *(f"opencode/oc-{n:02}.json" for n in range(1, 5)),
    *("openhands/oh-01.json", "openhands/oh-02.json", "pi/pi-01.jsonl", "pi/pi-02.jsonl"),
    *("swe-agent/swea-01.traj", "swe-agent/swea-02.traj", "aider-md/aider-01.md"),
)


@cache
def reports(path: Path) -> tuple[SessionReport, ...]:
    options = Options(arms=arms("tape"), head=0)
    return tuple(replay_session(one, options) for one in recordings(path))


@pytest.mark.parametrize("name", FILES)
def test_the_tape_sends_valid_requests_that_extend_each_other_and_loses_nothing(name: str) -> None:
    for report in reports(shared(f"transcripts/{name}.zst")):
        tape = report.arms["tape"]
        assert tape.lint_errors == 0, tape.first_lint
        assert tape.prefix_breaks_in_turn == 0, tape.first_break
        assert tape.recoverable == 1, tape.unrecovered
        assert report.arms["transcript"].requests == tape.requests
        assert report.arms["transcript"].output_tokens == tape.output_tokens


def test_the_names_are_those_of_the_manifest() -> None:
    manifest = json.loads(shared("transcripts/manifest.json").read_bytes())
    listed = {
        Path(row["file"]).parent.name + "/" + Path(row["file"]).name for row in manifest["sessions"]
    }
    assert listed == {f"{name}.zst" for name in FILES}


def test_long_sessions_send_about_a_fifth_and_cost_about_a_third() -> None:
    """Three hundredths of what the transcripts send is context that their hosts put in.

    No policy moves it; without it the tape sends 0.19 of the characters.
    """
    rows = [
        report
        for name in FILES
        if not name.startswith("aider")
        for report in reports(shared(f"transcripts/{name}.zst"))
        if report.turns >= 10
    ]
    assert len(rows) == 24
    ratios = totals(rows)["tape"].vs_transcript
    assert 0.15 < ratios["sent_chars"] < 0.24
    assert 0.30 < ratios["rel-30"] < 0.38
    assert 0.22 < ratios["rel-10"] < 0.30
    assert 0.16 < ratios["rel-none"] < 0.24


@pytest.mark.parametrize("cap", [256, 600, 4_000])
@pytest.mark.parametrize("name", ["claude-code/cc-06.jsonl", "opencode/oc-03.json"])
def test_entries_under_a_cap_still_lead_to_all_they_hide(name: str, cap: int) -> None:
    capped = f"tape{{history.entryMaxChars={cap}}}"
    for one in recordings(shared(f"transcripts/{name}.zst")):
        arm = replay_session(one, Options(arms=arms(capped), tokenizer="bytes")).arms[capped]
        assert arm.recoverable == 1, arm.unrecovered
        assert arm.lint_errors == arm.prefix_breaks_in_turn == 0


@pytest.mark.parametrize(
    "name", ["v3-tools.jsonl", "v3-codemode.jsonl", "v3-prune-compact.session.v3.jsonl.zstd"]
)
def test_a_host_log_replays_as_it_is(name: str) -> None:
    for report in reports(shared(f"dsh-logs/{name}")):
        assert report.arms["tape"].recoverable == 1
        assert report.arms["tape"].lint_errors == 0
