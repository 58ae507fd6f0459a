"""Recorded runs through the live loop: the same events in the same order, the same requests."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from data import shared
from fold_cases import folding_of
from live_recording import Recorded, Rerun, Surroundings
from sealing_cases import normal, settings_of, without_d1
from slicetape.log.events import (
    Event,
    Foreign,
    Replace,
    ToolResult,
    UserMessage,
    is_entry,
    type_of,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import text_of
from slicetape.log.spill import Blobs
from slicetape.policy.views import REFERENCE

RUNS = (
    *("abort", "basic", "basic-cap256", "basic-cap900", "basic-keep2", "basic-stock"),
    *("context", "context-keep1", "fold", "fold-digest-policy", "fold-pin2", "long"),
    *("long-stock", "recall", "resume", "spill"),
)


def rerun(name: str, *, notes: bool = False) -> tuple[Rerun, SessionLog, dict[str, Any]]:
    tape = json.loads(shared(f"golden/sessions/{name}.tape.json").read_text())
    log = SessionLog.read(shared(f"golden/sessions/{name}.jsonl"))
    config = tape["config"]
    plugin = tape["plugin"]
    around = Surroundings(
        history=settings_of(config.get("history", {})) if plugin else None,
        folding=folding_of(config.get("fold", {}), config.get("digest", {}), REFERENCE)
        if plugin
        else None,
        known=known_spills() if name == "spill" else {},
        notes=notes,
    )
    return Rerun(Recorded.of(log), around).run(), log, tape


def known_spills() -> dict[str, str | None]:
    golden = json.loads(shared("golden/recall/spill.json").read_text())
    blobs = Blobs(None)
    return {
        file["locator"]: blobs.put(file["text"], block=1, part=1).sha256
        for file in golden["spillFiles"]
    }


def shape(event: Event) -> tuple[Any, ...]:
    """What is compared of an event: its kind, its place, and what it does to the surface."""
    data = getattr(event, "data", None)
    place = (getattr(data, "turn", None), getattr(data, "step", None))
    return type_of(event), event.seq, place, event.surface_op, event.sources


@pytest.mark.parametrize("name", RUNS)
def test_the_live_loop_logs_the_recorded_events_in_the_recorded_order(name: str) -> None:
    again, log, _ = rerun(name)
    ours = [shape(event) for event in again.session.log.events]
    assert ours == [shape(event) for event in log.events]


@pytest.mark.parametrize("name", RUNS)
def test_the_live_loop_sends_the_recorded_requests(name: str) -> None:
    again, _, _ = rerun(name)
    requests = json.loads(shared(f"golden/sessions/{name}.requests.json").read_text())
    pool = [normal(message) for message in requests["pool"]]
    assert [[normal(message) for message in request] for request in again.sent] == [
        [pool[at] for at in request["messages"]] for request in requests["requests"]
    ]


@pytest.mark.parametrize("name", RUNS)
def test_the_live_loop_writes_the_recorded_entries_and_views(name: str) -> None:
    again, log, _ = rerun(name)
    ours, theirs = again.session.log.events, log.events
    assert entries(ours, without_d1) == entries(theirs, str)
    assert views(ours) == views(theirs)


def entries(events: Sequence[Event], said: Callable[[str], str]) -> list[tuple[int, str]]:
    return [
        (event.seq, said(text_of(event.data.content)))
        for event in events
        if isinstance(event, UserMessage) and is_entry(event)
    ]


def views(events: Sequence[Event]) -> list[tuple[int, Any]]:
    return [
        (event.seq, event.data.message.content)
        for event in events
        if isinstance(event, ToolResult) and not event.is_original
    ]


@pytest.mark.parametrize("name", ["basic", "fold", "context", "recall"])
def test_events_of_our_own_change_nothing_but_the_numbers(name: str) -> None:
    plain, _, _ = rerun(name)
    noted, _, _ = rerun(name, notes=True)
    events = noted.session.log.events
    seqs = [event.seq for event in events if not is_ours(event)]
    assert len(seqs) < len(events), "the second run has events of our own"
    mapped = {seq: number for number, seq in enumerate(seqs)}
    assert [renumbered(shape(events[seq]), mapped) for seq in seqs] == [
        shape(event) for event in plain.session.log.events
    ]
    assert [(mapped[seq], renumbered_text(text, mapped)) for seq, text in entries(events, str)] == [
        *entries(plain.session.log.events, str)
    ]
    assert [(mapped[seq], views_text(content, mapped)) for seq, content in views(events)] == [
        (seq, views_text(content, {})) for seq, content in views(plain.session.log.events)
    ]
    assert [roles(request) for request in noted.sent] == [roles(request) for request in plain.sent]


def roles(request: list[Any]) -> list[tuple[str, list[str]]]:
    return [
        (message["role"], [call["id"] for call in message.get("tool_calls", ())])
        for message in request
    ]


def views_text(content: tuple[Any, ...], mapped: dict[int, int]) -> list[str]:
    texts = [part.text for block in content for part in block.content]
    return [renumbered_text(text, mapped) if mapped else text for text in texts]


def is_ours(event: Event) -> bool:
    return isinstance(event, Foreign) and event.kind.startswith("x/")


def renumbered(row: tuple[Any, ...], mapped: dict[int, int]) -> tuple[Any, ...]:
    kind, seq, place, op, sources = row
    if isinstance(op, Replace):
        op = Replace(mapped[op.start_seq], mapped[op.end_seq])
    return kind, mapped[seq], place, op, tuple(mapped[source] for source in sources)


def renumbered_text(text: str, mapped: dict[int, int]) -> str:
    """An entry or view with the seqs that it prints as they are without our events."""

    def number(match: re.Match[str]) -> str:
        return match[1] + re.sub(r"\d+", lambda found: str(mapped[int(found[0])]), match[2])

    return re.sub(r'(\bseq[ -]|"seq": ?|\bseqs )(\d+(?:, \d+)*)', number, text)
