"""Other libraries on the requests of the peer transcript and of shared sessions, ours beside them.

Needs the folder named by SLICETAPE_DATA. Installs each peer once, into its own environment under
slicetape's home; one that cannot be installed is printed as absent. `--all` takes every shared
session instead of a few, `--peers NAMES` some peers. Prints JSON; exits with 1 when a peer is at
once cheaper and as faithful as ours, or when figures differ from the published ones.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from slicetape.prices.sheet import sheet
from slicetape.replay.arms import ARMS, Arm, arms
from slicetape.replay.peers.figures import Options
from slicetape.replay.peers.peers import Lineup
from slicetape.replay.peers.pins import all_peers, peers
from slicetape.replay.peers.rows import PeerRow, PeerSession, cost_in_bytes, total_rows
from slicetape.replay.replay import recordings

FLAT = ("flat-30", "flat-10", "rel-none")
RELATIVE = ("rel-30", "rel-10", "rel-none")
SHEETS = ("flat-30", "flat-10", *RELATIVE)
HITS = {"flat-30": 1 / 30, "flat-10": 0.1, "rel-none": 1.0}
FEW = ("cc-10", "cdx-02", "chat-01", "oc-03", "oh-02", "swea-01")
"""Shared sessions that are taken unless all are asked for, as far as they are there."""

NEAR = 0.02
"""How far a share may be from a published one, which is given in hundredths."""


def main() -> int:
    """Run everything; the exit status."""
    root = os.environ.get("SLICETAPE_DATA")
    if not root:
        print(json.dumps({"skipped": "SLICETAPE_DATA is not set"}))
        return 0
    asked = _asked()
    options = Options(sheets=tuple(map(sheet, SHEETS)), arms=_ours())
    chosen = peers(asked.peers) if asked.peers else all_peers()
    with Lineup(chosen, tell=lambda line: print(line, file=sys.stderr)) as lineup:
        path = Path(root) / "peer-transcript" / "transcript.json"
        survey = next(lineup.compare(one, options) for one in recordings(path))
        shared = [
            lineup.compare(one, options)
            for path in _paths(Path(root), every=asked.all)
            for one in recordings(path)
        ]
    total = total_rows(shared)
    losses = {
        "peer_transcript": _losses(survey.rows, FLAT),
        "shared_total": _losses(total, RELATIVE),
    }
    single = {one.id: found for one in shared if (found := _losses(one.rows, RELATIVE))}
    differing = _differing(survey)
    result = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "ours": _best(survey.rows).name,
        "peer_transcript": [_printed(row, survey.rows[0]) for row in survey.rows],
        "shared_sessions": [_brief(session) for session in shared],
        "shared_total": [_printed(row, None) for row in total],
        "cheaper_and_as_faithful": losses,
        "cheaper_and_as_faithful_in_single_sessions": single,
        "differs_from_published": differing,
    }
    print(json.dumps(result, indent=1))
    return 1 if any(losses.values()) or differing else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every shared session")
    parser.add_argument("--peers", metavar="NAMES", help="peers, separated by commas")
    return parser.parse_args()


def _ours() -> tuple[Arm, ...]:
    """The arms of ours that there are, the product last."""
    wanted = [name for name in ("tape", "fold", "slicetape") if name in ARMS]
    return arms(",".join(("mask:30", *wanted)))


def _best(rows: Sequence[PeerRow]) -> PeerRow:
    """The arm that peers are held against: the product, until it is there the tape."""
    named = {row.name: row for row in rows if row.ours}
    return named.get("slicetape") or named["tape"]


def _paths(root: Path, *, every: bool) -> Iterator[Path]:
    folder = root / "transcripts"
    for row in json.loads((folder / "manifest.json").read_bytes())["sessions"]:
        if every or row["id"] in FEW:
            yield folder / row["file"].removeprefix("transcripts/")


def _losses(rows: Sequence[PeerRow], sheets: Sequence[str]) -> list[str]:
    """Peers that are cheaper than ours on a sheet, show no less and do not pay for it later."""
    if not rows:
        return []
    ours = _best(rows)
    return [
        f"{row.name} on {id}"
        for row in rows
        if not row.ours and row.state == "measured"
        for id in row.beats(ours, sheets)
    ]


def _differing(session: PeerSession) -> list[str]:
    """Published figures that a row does not give again; times are not compared."""
    plain = session.rows[0]
    found: list[str] = []
    published = {
        f"{peer.name} {setup.name}": setup.published
        for peer in all_peers()
        for setup in peer.setups
    }
    for row in session.rows:
        if row.ours or row.state != "measured":
            continue
        now = _figures(row, plain)
        for key, value in published[row.name].items():
            limit = 0.0 if key in row.fidelity or key == "breaks" else NEAR
            if not key.startswith("ms_") and abs(now[key] - value) > limit:
                found.append(f"{row.name}: {key} {now[key]:.3f}, published {value}")
    return found


def _figures(row: PeerRow, plain: PeerRow) -> dict[str, float]:
    """The figures of the published table, costs in bytes as there."""
    return {
        "last_share": row.last_share,
        "breaks": float(row.prefix_breaks),
        **{id: cost_in_bytes(row, plain, hit=hit) for id, hit in HITS.items()},
        **{kind: float(figure.shown) for kind, figure in row.fidelity.items()},
    }


def _printed(row: PeerRow, plain: PeerRow | None) -> dict[str, object]:
    if row.state != "measured":
        return {"name": row.name, "state": row.state, "reason": row.reason}
    found: dict[str, object] = {
        "name": row.name,
        "versions": row.versions,
        "requests": row.requests,
        "failed_requests": row.failed_requests,
        "first_failure": row.first_failure,
        "prefix_breaks": row.prefix_breaks,
        "cost": {id: round(ratio, 3) for id, ratio in row.vs_transcript.items()},
        "shown_at_first_sight": {k: f"{v.shown}/{v.of}" for k, v in row.fidelity.items()},
        "lines_at_first_sight": {
            kind: f"{lines.shown}+{lines.counted}/{lines.total}"
            for kind, lines in row.first_sight.items()
        },
        "evidence": _evidence(row),
    }
    if plain:
        found["last_request"] = round(row.last_share, 3)
        found["ms"] = [row.ms.median, row.ms.p95] if row.ms else None
        found["cost_in_bytes"] = {
            id: round(cost_in_bytes(row, plain, hit=hit), 3) for id, hit in HITS.items()
        }
    return {key: value for key, value in found.items() if value not in (None, {})}


def _evidence(row: PeerRow) -> dict[str, object]:
    found = row.evidence
    if found is None or not found.references:
        return {}
    return {
        "references": found.references,
        "visible": found.visible and round(found.visible, 3),
        "visible_tool": found.visible_tool and round(found.visible_tool, 3),
        "clean_steps": found.clean_steps and round(found.clean_steps, 3),
        "predicted_recalls": found.predicted_recalls,
        "steps": found.counts.steps,
    }


def _brief(session: PeerSession) -> dict[str, object]:
    rows = [_printed(row, session.rows[0]) for row in session.rows]
    return {"id": session.id, "tokenizer": session.tokenizer, "rows": rows}


if __name__ == "__main__":
    sys.exit(main())
