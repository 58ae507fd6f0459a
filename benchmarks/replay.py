"""Replay all shared sessions under `transcript` and `tape`; print times, ratios and checks as JSON.

Needs the folder named by SLICETAPE_DATA. Exits with 1 when a target is missed.
"""

import json
import os
import platform
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

from slicetape.replay.arms import arms
from slicetape.replay.replay import Options, recordings, replay_session
from slicetape.replay.report import SessionReport, totals

LIMIT_S = 180.0
POLICY_MS = 0.5


def main() -> int:
    """Run everything; the exit status."""
    root = os.environ.get("SLICETAPE_DATA")
    if not root:
        print(json.dumps({"skipped": "SLICETAPE_DATA is not set"}))
        return 0
    folder = Path(root) / "transcripts"
    manifest = json.loads((folder / "manifest.json").read_bytes())
    options = {
        "with_head": Options(arms=arms("tape")),
        "without_head": Options(arms=arms("tape"), head=0),
    }
    reports: dict[str, list[SessionReport]] = {name: [] for name in options}
    seconds: list[tuple[int, float]] = []
    for row in manifest["sessions"]:
        path = folder / row["file"].removeprefix("transcripts/")
        for name, chosen in options.items():
            start = perf_counter()
            reports[name] += [replay_session(one, chosen) for one in recordings(path)]
            if name == "with_head":
                seconds.append((row["bytes"], perf_counter() - start))
    print(json.dumps(_result(reports, seconds), indent=1))
    return 0 if _met(reports, seconds) else 1


def _result(
    reports: dict[str, list[SessionReport]], seconds: list[tuple[int, float]]
) -> dict[str, object]:
    long = {name: _long(rows) for name, rows in reports.items()}
    tape = [row.arms["tape"] for row in reports["with_head"]]
    return {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "files": len(seconds),
        "sessions": len(tape),
        "seconds": round(sum(time for _, time in seconds), 2),
        "largest_files_us_per_kb": [
            round(time * 1e9 / size, 1) for size, time in sorted(seconds)[-5:]
        ],
        "long_sessions": len(long["with_head"]),
        "tape_vs_transcript": {
            name: {
                key: round(value, 4) for key, value in totals(rows)["tape"].vs_transcript.items()
            }
            for name, rows in long.items()
        },
        "policy_ms_median_claude_code": round(_policy(reports["with_head"]), 4),
        "lint_errors": sum(arm.lint_errors for arm in tape),
        "prefix_breaks_in_turn": sum(arm.prefix_breaks_in_turn for arm in tape),
        "recoverable": min(arm.recoverable or 0 for arm in tape),
    }


def _long(rows: list[SessionReport]) -> list[SessionReport]:
    return [row for row in rows if row.turns >= 10 and row.format != "aider-md"]


def _policy(rows: list[SessionReport]) -> float:
    times = [
        row.arms["tape"].policy_ms.median
        for row in rows
        if row.format == "claude-code" and row.arms["tape"].policy_ms
    ]
    return median(times)


def _met(reports: dict[str, list[SessionReport]], seconds: list[tuple[int, float]]) -> bool:
    return (
        sum(time for _, time in seconds) <= LIMIT_S and _policy(reports["with_head"]) <= POLICY_MS
    )


if __name__ == "__main__":
    sys.exit(main())
