"""Whole recorded runs: our sealing, at the recorded moments, gives the recorded requests."""

import json
from typing import Any

import pytest

from data import shared
from recorded_session import Drive
from sealing_cases import normal, settings_of, without_d1
from slicetape.log.events import Event
from slicetape.log.log import SessionLog
from slicetape.log.messages import text_of
from slicetape.surface import messages
from slicetape.wire.openai_chat import ChatWire

RUNS = (
    *("abort", "basic", "basic-cap256", "basic-cap900", "basic-keep2", "basic-stock"),
    *("context", "context-keep1", "fold", "fold-digest-policy", "fold-pin2", "long"),
    *("long-stock", "ptc", "recall", "resume", "spill"),
)

CHANGED_BY_D1: dict[str, int] = {
    # Golden run: how many of its entries name results that the reference only counts.
    "fold": 1,
    "fold-digest-policy": 1,
    "fold-pin2": 1,
}


def load(name: str) -> tuple[SessionLog, dict[str, Any], dict[str, Any]]:
    tape = json.loads(shared(f"golden/sessions/{name}.tape.json").read_text())
    requests = json.loads(shared(f"golden/sessions/{name}.requests.json").read_text())
    return SessionLog.read(shared(f"golden/sessions/{name}.jsonl")), tape, requests


def drive(name: str) -> tuple[Drive, list[list[Any]], dict[str, Any], dict[str, Any]]:
    log, tape, requests = load(name)
    settings = settings_of(tape["config"].get("history", {})) if tape["plugin"] else None
    driven, sent = Drive(log, settings), []

    def at_request(_: Event) -> None:
        wire = ChatWire()
        body = wire.messages(message for _, message in messages(driven.session.view))
        sent.append(json.loads(body))

    return driven.run(at_request), sent, tape, requests


@pytest.mark.parametrize("name", RUNS)
def test_entries_surfaces_and_requests_are_as_recorded(name: str) -> None:
    driven, sent, tape, requests = drive(name)
    for moment in driven.moments:
        assert [(entry.seq, entry.sources, entry.surface_op) for entry in moment.ours] == [
            (entry.seq, entry.sources, entry.surface_op) for entry in moment.recorded
        ]
        assert [without_d1(text_of(entry.data.content)) for entry in moment.ours] == [
            text_of(entry.data.content) for entry in moment.recorded
        ]
    entries = [entry.seq for moment in driven.moments for entry in moment.ours]
    assert entries == [row["seq"] for row in tape["tape"]]
    assert driven.session.view.surface.nodes == tape["surface"]
    assert driven.warnings == tape["warnings"]
    pool = [normal(message) for message in requests["pool"]]
    assert [[normal(message) for message in request] for request in sent] == [
        [pool[at] for at in request["messages"]] for request in requests["requests"]
    ]


@pytest.mark.parametrize("name", RUNS)
def test_d1_changes_the_entries_that_the_table_says_and_nothing_else(name: str) -> None:
    driven = drive(name)[0]
    changed = sum(
        text_of(ours.data.content) != text_of(recorded.data.content)
        for moment in driven.moments
        for ours, recorded in zip(moment.ours, moment.recorded, strict=True)
    )
    assert changed == CHANGED_BY_D1.get(name, 0)
