"""Time the fold of every step of the peer transcript, and the growth of it; prints JSON.

A step's work is what `Prestep.before_step` does: deciding, making the views, appending them. With
sealing on, the first step of a turn also seals. Exits with 1 when a target is missed. Needs the
folder that SLICETAPE_DATA names.
"""

import json
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import msgspec

from slicetape.log.events import AssistantAttempt, AssistantMessage, Event, StepStart, TurnStart
from slicetape.log.log import SessionLog
from slicetape.loop.prestep import Prestep
from slicetape.policy.fold_view import Folding
from slicetape.policy.settings import HistorySettings
from slicetape.replay.replay import recordings
from slicetape.surface import Session

MEDIAN_MS, P95_MS, GROWTH = 0.5, 5.0, 1.5
REPEATS = 5


def timed(events: Sequence[Event], header: object, history: HistorySettings | None) -> list[float]:
    """Milliseconds of the policy before each step of a recording."""
    session = Session(SessionLog.in_memory(header), strict=False)  # type: ignore[arg-type]
    prestep = Prestep(session, history, folding=Folding())
    took: list[float] = []
    ready = (0, 0)
    turn = 0
    for event in events:
        place = ready
        if isinstance(event, TurnStart):
            turn = event.data.turn
        elif isinstance(event, StepStart | AssistantMessage | AssistantAttempt):
            place = (turn, event.data.step)
        if place != ready:
            ready = place
            start = perf_counter()
            prestep.before_step(place[1], time=event.time)
            took.append((perf_counter() - start) * 1_000)
        if event.is_original:
            session.append(msgspec.structs.replace(event, seq=-1, source_event_seqs=None))
    return took


def least(runs: Sequence[Sequence[float]]) -> list[float]:
    """The least time of each step over several runs: what the work takes, not the machine."""
    return [min(step) for step in zip(*runs, strict=True)]


def summary(took: Sequence[float]) -> dict[str, float]:
    """What a list of milliseconds says."""
    ranked = sorted(took)
    return {
        "steps": len(ranked),
        "median_ms": round(statistics.median(ranked), 4),
        "p95_ms": round(ranked[int(len(ranked) * 0.95)], 3),
        "max_ms": round(ranked[-1], 3),
    }


def main() -> int:
    """Measure both arms; the exit status."""
    root = os.environ.get("SLICETAPE_DATA")
    if not root:
        print(json.dumps({"skipped": "SLICETAPE_DATA is not set"}))
        return 0
    (recording,) = recordings(Path(root) / "peer-transcript" / "transcript.json")
    found: dict[str, object] = {"target": {"median_ms": MEDIAN_MS, "p95_ms": P95_MS}}
    met = True
    for name, history in {"fold": None, "slicetape": HistorySettings()}.items():
        runs = [timed(recording.events, recording.header, history) for _ in range(REPEATS)]
        steps = least(runs)
        half = len(steps) // 2
        row = summary(steps)
        row["growth"] = round(sum(steps[half:]) / max(sum(steps[:half]), 1e-9), 2)
        met = met and row["median_ms"] <= MEDIAN_MS and row["p95_ms"] <= P95_MS
        met = met and row["growth"] <= GROWTH
        found[name] = row
    print(json.dumps(found))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
