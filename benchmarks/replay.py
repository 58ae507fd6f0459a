"""Replay all shared sessions under `transcript` and `tape`; print times, ratios and checks as JSON.

Then one transcript, and the same repeated to eight times its size under new ids: what a megabyte
costs must not grow. Needs the folder named by SLICETAPE_DATA. Exits with 1 when a target is missed.
"""

import json
import os
import platform
import re
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from slicetape.formats.source import Transcript
from slicetape.replay.arms import arms
from slicetape.replay.replay import Options, recordings, replay_session
from slicetape.replay.report import SessionReport
from slicetape.replay.totals import totals

LIMIT_S = 180.0
POLICY_MS = 0.5
GROWTH = 1.3
REPEATS = 8
REPEATED = "claude-code/cc-05.jsonl.zst"
_IDS = re.compile(rb'(toolu_\w{6,}|"id":"msg_\w{6,}|"uuid":"\w{8})')


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
    seconds = 0.0
    for row in manifest["sessions"]:
        path = folder / row["file"].removeprefix("transcripts/")
        for name, chosen in options.items():
            start = perf_counter()
            reports[name] += _reports(path, chosen)
            seconds += perf_counter() - start if name == "with_head" else 0.0
    growth = list(_growth(folder / REPEATED, options["with_head"]))
    result = _result(reports) | {
        "files": len(manifest["sessions"]),
        "seconds": round(seconds, 2),
        "ms_per_mb": {f"{size / 1e6:.1f} MB": round(cost, 1) for size, cost in growth},
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    print(json.dumps(result, indent=1))
    met = seconds <= LIMIT_S and _policy(reports["with_head"]) <= POLICY_MS
    return 0 if met and growth[1][1] <= GROWTH * growth[0][1] else 1


def _reports(path: Path, options: Options) -> list[SessionReport]:
    return [replay_session(one, options) for one in recordings(path)]


def _growth(path: Path, options: Options) -> Iterator[tuple[int, float]]:
    """Bytes of the transcript, and of the repeated one; milliseconds a megabyte of each."""
    lines = b"".join(Transcript(path).lines())
    with TemporaryDirectory() as folder:
        for times in (1, REPEATS):
            file = Path(folder) / f"{times}.jsonl"
            with file.open("wb") as out:
                for number in range(times):
                    out.write(_IDS.sub(rb"\g<1>%d" % number, lines))
            start = perf_counter()
            _reports(file, options)
            size = file.stat().st_size
            yield size, (perf_counter() - start) * 1e9 / size


def _result(reports: dict[str, list[SessionReport]]) -> dict[str, object]:
    long = {name: _long(rows) for name, rows in reports.items()}
    tape = [row.arms["tape"] for row in reports["with_head"]]
    return {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "sessions": len(tape),
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
    return median(row.arms["tape"].policy_ms.median for row in rows if row.format == "claude-code")


if __name__ == "__main__":
    sys.exit(main())
