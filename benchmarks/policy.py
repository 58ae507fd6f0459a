"""Time sealing at each turn's first step, on recorded and on synthetic sessions; prints JSON.

The work of a turn is what the policy adds to it: taking its events into the view, reading the
evidence, planning and applying the seal. Appending what happened anyway is not counted. Recorded
sessions are the Claude Code transcripts in the folder that SLICETAPE_DATA names.
"""

import json
import os
import statistics
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from log import turn_events
from slicetape.log.events import Event, Header, Replace, TurnStart
from slicetape.log.log import SessionLog
from slicetape.log.seqs import pack
from slicetape.loop.prestep import Prestep
from slicetape.policy.settings import HistorySettings
from slicetape.surface import Session

EVENTS = 100_000
TURN = 48
TEXT = 200


class Timed:
    """A session that takes events in one by one and keeps the policy's time of each turn."""

    def __init__(self, header: Header, history: HistorySettings) -> None:
        self.session = Session(SessionLog.in_memory(header))
        self.prestep = Prestep(self.session, history)
        self.turns: list[float] = []
        """Milliseconds of the policy in each turn that was followed by another."""
        self._seqs: dict[int, int] = {}
        self._index = 0.0

    def take(self, event: Event) -> None:
        """Record an event, and seal when it opens a turn."""
        recorded = self.session.log.append(self._renumbered(event))
        self._seqs[event.seq] = recorded.seq
        start = time.perf_counter()
        self.session.view.check(recorded)
        self.session.view.advance(recorded)
        self._index += time.perf_counter() - start
        if isinstance(event, TurnStart):
            start = time.perf_counter()
            self.prestep.before_step(1, time=event.time)
            self.turns.append((self._index + time.perf_counter() - start) * 1_000)
            self._index = 0.0

    def _renumbered(self, event: Event) -> Event:
        op = event.surface_op
        sources = [self._seqs[seq] for seq in event.sources if seq in self._seqs]
        if isinstance(op, Replace):
            op = Replace(self._seqs[op.start_seq], self._seqs[op.end_seq])
        packed = pack(sources) if sources else None
        return msgspec.structs.replace(event, seq=-1, surface_op=op, source_event_seqs=packed)


def summary(turns: Sequence[float]) -> dict[str, float]:
    """What a list of milliseconds says."""
    ranked = sorted(turns)
    return {
        "turns": len(ranked),
        "median_ms": round(statistics.median(ranked), 4),
        "p99_ms": round(ranked[int(len(ranked) * 0.99)], 3),
        "max_ms": round(ranked[-1], 3),
    }


def recorded(paths: Iterable[Path], history: HistorySettings) -> list[float]:
    """The policy's time in every turn of some transcripts."""
    from slicetape.replay.replay import recordings

    turns: list[float] = []
    for path in paths:
        for recording in recordings(str(path)):
            timed = Timed(recording.header, history)
            for event in recording.events:
                timed.take(event)
            turns += timed.turns[1:]
    return turns


def synthetic(history: HistorySettings) -> list[float]:
    """The policy's time in each turn of one long session of equal turns."""
    timed = Timed(Header("session", 3, "bench", 1, False, 0), history)
    seq = 0
    for turn in range(1, EVENTS // TURN + 2):
        for event in turn_events(turn, TEXT):
            timed.take(msgspec.structs.replace(event, seq=seq))
            seq += 1
    return timed.turns[1:]


def growth(turns: Sequence[float]) -> float:
    """The median of the last tenth against that of the first."""
    tenth = len(turns) // 10
    return round(statistics.median(turns[-tenth:]) / statistics.median(turns[:tenth]), 3)


SETTINGS = {
    "default": HistorySettings(),
    "always": HistorySettings(seal_only_if_shorter=False),
    "keep_10": HistorySettings(keep_recent_turns=10),
    "cap_2000": HistorySettings(entry_max_chars=2_000),
}


def main() -> None:
    """Measure each setting on both kinds of sessions."""
    found: dict[str, object] = {"target": {"median_ms": 0.5, "growth": 1.3}}
    root = os.environ.get("SLICETAPE_DATA")
    paths = sorted(Path(root, "transcripts/claude-code").glob("*.jsonl*")) if root else []
    for name, history in SETTINGS.items():
        long = synthetic(history)
        row: dict[str, object] = {"synthetic": {**summary(long), "growth": growth(long)}}
        if paths:
            row["claude_code"] = summary(recorded(paths, history))
        found[name] = row
    print(json.dumps(found))


if __name__ == "__main__":
    main()
