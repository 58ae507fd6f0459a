"""What long shared sessions leave visible: close to what was measured first, by other code."""

from collections import Counter

import pytest

from data import shared
from evidence_story import measured
from slicetape.replay.evidence.recalls import predicted
from slicetape.replay.replay import recordings

FIRST = {
    "tape": (0.695, 0.541, 0.512),
    "tape{history.keepRecentTurns=1}": (0.766, 0.655, 0.594),
    "mask:30": (0.914, 0.779, 0.723),
}
"""Visible, visible of the tool kind, clean steps."""

NAMES = (
    *(f"claude-code/cc-{n:02}.jsonl" for n in range(1, 15)),
    *(f"codex-rollout/cdx-{n:02}.jsonl" for n in range(1, 7)),
    *(f"opencode/oc-{n:02}.json" for n in range(1, 5)),
    *("copilot-cli/cop-01.jsonl", "copilot-cli/cop-02.jsonl", "pi/pi-01.jsonl", "pi/pi-02.jsonl"),
)


def test_long_sessions_leave_what_was_measured_first_within_five_points() -> None:
    counts = {name: Counter[str]() for name in FIRST}
    for path in NAMES:
        for recording in recordings(shared(f"transcripts/{path}.zst")):
            if recording.facts.turns >= 10:
                for name, count in counts.items():
                    done = measured(recording, name)
                    assert done.visibility
                    for seen in done.visibility.seen:
                        rows = seen.step.references
                        gone = [row.reference for row in seen.hidden]
                        count["all"] += len(rows)
                        count["tool"] += sum(row.kind == "tool" for row in rows)
                        count["hidden"] += len(gone)
                        count["hidden tool"] += sum(row.kind == "tool" for row in gone)
                        count["steps"] += bool(rows)
                        count["clean"] += bool(rows) and not gone
                        count["recalls"] += bool(predicted(seen))
    for name, expected in FIRST.items():
        count = counts[name]
        assert count["all"] > 15_000
        figures = (
            1 - count["hidden"] / count["all"],
            1 - count["hidden tool"] / count["tool"],
            count["clean"] / count["steps"],
        )
        assert figures == pytest.approx(expected, abs=0.05)
    assert counts["tape"]["recalls"] / counts["tape"]["steps"] == pytest.approx(0.163, abs=0.05)
