"""The table of results in README.md: every arm over the shared long sessions; prints JSON.

Long means ten human turns or more; the Aider history, many short chats in one file, is left out.
Figures are sums of an arm over sums of `transcript`, each session in tokens of its own counter.
Sessions of a single turn are summed apart. `dearer` lists the sessions of any length that cost
more under `slicetape`. Needs SLICETAPE_DATA.
"""

import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from slicetape.replay.arms import arms
from slicetape.replay.replay import Options, recordings, replay_session
from slicetape.replay.report import SessionReport, Total
from slicetape.replay.totals import totals

ARMS = "compact,mask:30,tape,fold,slicetape"
TURNS = 10
LEFT_OUT = "aider-md"


def main() -> int:
    """Replay everything twice, with heads and without; the exit status."""
    root = os.environ.get("SLICETAPE_DATA")
    if not root:
        print(json.dumps({"skipped": "SLICETAPE_DATA is not set"}))
        return 0
    sessions = sorted(transcripts(Path(root) / "transcripts"))
    found = {
        name: list(replayed(sessions, Options(arms=arms(ARMS), head=head)))
        for name, head in (("with_head", None), ("without_head", 0))
    }
    result = {"python": platform.python_version(), "cores": os.cpu_count()}
    for name, rows in found.items():
        result[name] = summary(rows)
    print(json.dumps(result, indent=1))
    return 0


def transcripts(folder: Path) -> Iterator[Path]:
    """The files that count."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for row in manifest["sessions"]:
        if row["format"] != LEFT_OUT:
            yield folder / row["file"].removeprefix("transcripts/")


def replayed(files: Iterable[Path], options: Options) -> Iterator[SessionReport]:
    """Every session of the files under every arm."""
    for file in files:
        for recording in recordings(file):
            yield replay_session(recording, options)


def summary(rows: Sequence[SessionReport]) -> dict[str, object]:
    """Ratios, evidence and checks over long and single-turn sessions, and which sessions lose."""
    long = [row for row in rows if row.turns >= TURNS]
    single = [row for row in rows if row.turns <= 1]
    return {
        "long_sessions": len(long),
        "requests": sum(row.steps for row in long),
        "arms": {name: figures(long, name, total) for name, total in totals(long).items()},
        "single_turn_sessions": len(single),
        "single_turn_arms": {
            name: figures(single, name, total) for name, total in totals(single).items()
        },
        "dearer": {row.id: ratios for row in rows if (ratios := dearer(row))},
    }


def figures(rows: Sequence[SessionReport], name: str, total: Total) -> dict[str, object]:
    """One arm over some sessions."""
    evidence = total.evidence
    shares = {
        "visible": evidence.visible,
        "visible_tool": evidence.visible_tool,
        "clean_steps": evidence.clean_steps,
        "recall_hits@5": evidence.recall_hits,
        "recalls_per_step": evidence.predicted_recalls / max(1, evidence.counts.steps),
    }
    return {
        "vs_transcript": rounded(total.vs_transcript),
        "with_recall": rounded(total.with_recall_vs_transcript),
        "with_reread": rounded(total.with_reread_vs_transcript),
        **rounded(shares),
        "prefix_breaks_in_turn": total.prefix_breaks_in_turn,
        "prefix_breaks_at_seal": total.prefix_breaks_at_seal,
        "lint_errors": total.lint_errors,
        "first_lint": first_lint(rows, name),
        "recoverable": total.recoverable,
        "hidden_recoverable": evidence.recoverable,
    }


def rounded(ratios: Mapping[str, float | None]) -> dict[str, float | None]:
    """Four digits of each."""
    return {key: None if n is None else round(n, 4) for key, n in ratios.items()}


def first_lint(rows: Sequence[SessionReport], name: str) -> list[str]:
    """The rules that the first finding of each session breaks."""
    found = [row.arms[name].first_lint for row in rows if row.arms[name].first_lint]
    return sorted({rule[1] if (rule := re.search("rule='([^']+)'", a)) else a for a in found})


def dearer(row: SessionReport) -> dict[str, object]:
    """Turns and cost ratios of a session that costs more under `slicetape` on a sheet."""
    plain = row.arms["transcript"].cost
    found = {
        arm: {sheet: round(cost / plain[sheet], 3) for sheet, cost in row.arms[arm].cost.items()}
        for arm in ("tape", "slicetape")
    }
    lost = any(ratio > 1 for ratio in found["slicetape"].values())
    return {"turns": row.turns, **found} if lost else {}


if __name__ == "__main__":
    sys.exit(main())
