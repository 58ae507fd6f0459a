"""Overhead of the live loop per step, without model and tools, as JSON.

A session of 10,000 events grows by turns of 25 steps; each step asks a model that answers at once
with one call, and runs a tool that returns at once. What is measured of a step is the time from
its start to the request and from the answer to its end; syncing to the disk is measured apart.
"""

import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from slicetape.log.events import Event, Header, StepEnd, StepStart
from slicetape.log.log import SessionLog
from slicetape.log.messages import Text, ToolCall
from slicetape.log.payloads import Usage
from slicetape.loop.agent import Agent
from slicetape.loop.deltas import BlockEnd, Delta, Finish, FinishReason, UsageSeen
from slicetape.loop.prestep import Prestep
from slicetape.loop.protocols import Call, Output, Route, Tools
from slicetape.policy.fold_view import Folding
from slicetape.policy.settings import HistorySettings, Settings
from slicetape.surface import Session
from slicetape.wire.openai_chat import ChatWire

EVENTS, STEPS = 10_000, 25
MEDIAN_MS, P99_MS = 3.0, 15.0


class Instant:
    """A model that answers at once: calls, and every 25th time a text."""

    def __init__(self) -> None:
        self.route = Route(provider="bench", model="instant", wire=ChatWire())
        self.count = 0

    async def stream(self, body: bytes, *, purpose: str = "step") -> AsyncIterator[Delta]:
        """Answer at once."""
        self.count += 1
        if self.count % STEPS:
            call = ToolCall(f"call_{self.count}", "look", '{"path":"src/app.py"}')
            yield BlockEnd(0, Text("Looking at the next part of it."))
            yield BlockEnd(1, call)
        else:
            yield BlockEnd(0, Text("Done: " + "all of it was looked at. " * 8))
        yield UsageSeen(Usage(input_tokens=1_000, output_tokens=20))
        yield Finish(FinishReason("stop"))

    async def close(self) -> None:
        """Nothing is held."""


class Look:
    """A tool that returns 1,500 characters at once."""

    name, description = "look", "Look."
    parameters: Mapping[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}

    def parallel(self, arguments: Mapping[str, Any]) -> bool:
        """Alone."""
        return False

    async def run(self, arguments: Mapping[str, Any], call: Call) -> Output:
        """Return at once."""
        return Output.of(f"result of {call.call_id}\n" + "some text of a result\n" * 70)


class Stopwatch:
    """Times each step, and what of it was spent on syncing."""

    def __init__(self) -> None:
        self.steps: list[float] = []
        self.syncs: list[float] = []
        self._start = self._synced = 0.0

    def event(self, event: Event, _: object) -> None:
        """Take the time at the ends of a step."""
        if isinstance(event, StepStart):
            self._start, self._synced = perf_counter(), sum(self.syncs)
        elif isinstance(event, StepEnd):
            spent = perf_counter() - self._start
            self.steps.append((spent - (sum(self.syncs) - self._synced)) * 1_000)


async def _measure(path: Path, *, sealing: bool) -> Stopwatch:
    header = Header("session", 3, path.parent.name, 1, False, 0)
    log = SessionLog.create(path, header)
    session, watch = Session(log), Stopwatch()
    plain = log.sync

    def sync() -> None:
        start = perf_counter()
        plain()
        watch.syncs.append(perf_counter() - start)

    log.sync = sync  # type: ignore[method-assign]
    session.listen(watch.event)
    settings = Settings()
    history = HistorySettings() if sealing else None
    folding = Folding.of(settings) if sealing else None
    agent = Agent(session, Instant(), Tools([Look()]), Prestep(session, history, folding=folding))
    while len(log.events) < EVENTS:
        agent.followup("Go on with the next part.")
        await agent.when_idle()
    await agent.close()
    return watch


def _row(watch: Stopwatch) -> dict[str, float]:
    late = watch.steps[-len(watch.steps) // 4 :]
    return {
        "steps": len(watch.steps),
        "median_ms": round(statistics.median(late), 3),
        "p99_ms": round(statistics.quantiles(late, n=100)[98], 3),
        "first_quarter_median_ms": round(
            statistics.median(watch.steps[: len(watch.steps) // 4]), 3
        ),
        "sync_median_ms": round(statistics.median(watch.syncs) * 1_000, 3),
    }


def main() -> int:
    """Measure with and without the policy; the exit status."""
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, sealing in (("slicetape", True), ("transcript", False)):
            path = Path(folder) / name / "session.v3.jsonl"
            path.parent.mkdir()
            rows[name] = _row(asyncio.run(_measure(path, sealing=sealing)))
    ours = rows["slicetape"]
    missed = [
        name for name, limit in (("median_ms", MEDIAN_MS), ("p99_ms", P99_MS)) if ours[name] > limit
    ]
    facts = {"python": platform.python_version(), "cores": os.cpu_count(), "events": EVENTS}
    print(json.dumps({**facts, **rows, "missed": missed}, indent=1))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
