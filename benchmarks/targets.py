"""The targets of cost and evidence on the shared sessions and the peer transcript, as JSON.

Every figure is printed beside its target; exits with 1 when one is missed and lists which. Needs
the folder named by SLICETAPE_DATA. Ratios are sums of an arm over sums of `transcript`, with the
head, except on the peer transcript; the Aider history is left out.
"""

import json
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from slicetape.replay.arms import arms
from slicetape.replay.evidence.figures import Counts
from slicetape.replay.replay import Options, chosen_sheets, recordings, replay_session
from slicetape.replay.report import ArmReport, SessionReport

ARMS = "transcript,slicetape,tape,fold,compact,mask:10,mask:30"
SHEETS = ("rel-30", "rel-10", "rel-none")
LONG = {"rel-30": 0.33, "rel-10": 0.27}
SINGLE = {"rel-30": 0.90}
PEER = {"flat-30": 0.25, "flat-10": 0.15, "rel-none": 0.083}
HITS = 0.9


def main() -> int:
    """Measure everything; the exit status."""
    root = os.environ.get("SLICETAPE_DATA")
    if not root:
        print(json.dumps({"skipped": "SLICETAPE_DATA is not set"}))
        return 0
    rows = list(_sessions(Path(root) / "transcripts"))
    long = [row for row in rows if row.turns >= 10]
    single = [row for row in rows if row.turns <= 1]
    peer = _peer(Path(root) / "peer-transcript" / "transcript.json")
    found = {
        "long": _figures(long),
        "single": _figures(single),
        "all": _figures(rows),
        "peer_transcript": {id: round(peer[id], 4) for id in PEER},
    }
    missed = list(_missed(long, single, rows, peer))
    facts = {"python": platform.python_version(), "cores": os.cpu_count()}
    print(json.dumps({**facts, **found, "missed": missed}, indent=1))
    return 1 if missed else 0


def _sessions(folder: Path) -> Iterable[SessionReport]:
    manifest = json.loads((folder / "manifest.json").read_bytes())
    options = Options(arms=arms(ARMS))
    for row in manifest["sessions"]:
        if row["format"] != "aider-md":
            for one in recordings(folder / row["file"].removeprefix("transcripts/")):
                yield replay_session(one, options)


def _peer(path: Path) -> dict[str, float]:
    options = Options(arms=arms("slicetape"), sheets=chosen_sheets(",".join(PEER)), head=0)
    [report] = [replay_session(one, options) for one in recordings(path)]
    return {id: _ratio([report], "slicetape", "cost", id) for id in PEER}


def _figures(rows: Sequence[SessionReport]) -> dict[str, object]:
    return {
        "sessions": len(rows),
        **{name: _arm(rows, name) for name in rows[0].arms if name != "transcript"},
    }


def _arm(rows: Sequence[SessionReport], name: str) -> dict[str, object]:
    found = [row.arms[name] for row in rows]
    costs = {
        kind: {id: round(_ratio(rows, name, kind, id), 4) for id in SHEETS}
        for kind in ("cost", "cost_with_recall", "cost_with_reread")
    }
    return {**costs, **_evidence(found)}


def _evidence(found: Sequence[ArmReport]) -> dict[str, object]:
    counts = [arm.evidence.counts for arm in found]
    kinds = {kind: _shares(counts, kind) for kind in ("tool", "said", "mixed")}
    visible, total = (sum(pair[at] for pair in kinds.values()) for at in (0, 1))
    steps, referring = sum(c.steps for c in counts), sum(c.referring_steps for c in counts)
    return {
        "references": total,
        "visible": round(visible / total, 4),
        **{f"visible_{kind}": round(seen / of, 4) for kind, (seen, of) in kinds.items() if of},
        "clean_steps": round(sum(c.clean for c in counts) / referring, 4),
        "predicted_recalls_per_step": round(
            sum(arm.evidence.predicted_recalls for arm in found) / steps, 4
        ),
        "recall_hits@5": _hits(found),
        "hidden_in_the_open_turn": sum(c.open_turn for c in counts),
        "recovered": sum(c.recovered for c in counts),
        "hidden": _hidden(found),
    }


def _shares(counts: Sequence[Counts], kind: str) -> tuple[int, int]:
    rows = [getattr(one, kind) for one in counts]
    return sum(row.visible for row in rows), sum(row.total for row in rows)


def _hits(found: Sequence[ArmReport]) -> float | None:
    hidden = _hidden(found)
    hits = sum(arm.evidence.counts.found or 0 for arm in found)
    return round(hits / hidden, 4) if hidden else None


def _hidden(found: Sequence[ArmReport]) -> int:
    parts = [arm.evidence.hidden for arm in found]
    return sum(part.sealed + part.folded + part.dropped for part in parts)


def _ratio(rows: Sequence[SessionReport], name: str, kind: str, sheet: str) -> float:
    mine = sum(getattr(row.arms[name], kind)[sheet] for row in rows)
    plain: float = sum(row.arms["transcript"].cost[sheet] for row in rows)
    return mine / plain


def _missed(
    long: Sequence[SessionReport],
    single: Sequence[SessionReport],
    rows: Sequence[SessionReport],
    peer: dict[str, float],
) -> Iterable[str]:
    for what, group, targets in (("long", long, LONG), ("single", single, SINGLE)):
        for id, most in targets.items():
            ratio = _ratio(group, "slicetape", "cost", id)
            if ratio > most:
                yield f"{what} sessions cost {ratio:.4f} on {id}, target {most}"
    for id, most in PEER.items():
        if peer[id] > most:
            yield f"the peer transcript costs {peer[id]:.4f} on {id}, target {most}"
    ours = [row.arms["slicetape"] for row in rows]
    hits = _hits(ours)
    if hits is not None and hits < HITS:
        yield f"recall_hits@5 is {hits}, target {HITS}"
    lost = _hidden(ours) - sum(arm.evidence.counts.recovered for arm in ours)
    if lost:
        yield f"{lost} hidden references do not come back"
    for id in SHEETS:
        costs = {name: _ratio(rows, name, "cost_with_recall", id) for name in rows[0].arms}
        for name in sorted(costs.keys() - {"transcript", "slicetape"}):
            if costs[name] < costs["slicetape"]:
                yield f"{name} costs less than slicetape with recall on {id}"


if __name__ == "__main__":
    sys.exit(main())
