"""Whole recorded runs with folds: ours, at the recorded moments, gives the recorded views."""

import json
from dataclasses import replace
from typing import Any

import pytest

from data import shared
from fold_cases import counts, folding_of
from recorded_session import Drive, Policies
from sealing_cases import normal, settings_of
from slicetape.log.log import SessionLog
from slicetape.log.spill import Blobs
from slicetape.policy.views import REFERENCE, RULES, Rules
from slicetape.surface import messages
from slicetape.wire.openai_chat import ChatWire

RUNS = (
    *("abort", "basic", "basic-cap256", "context", "fold", "fold-digest-policy", "fold-pin2"),
    *("long", "ptc", "recall", "resume", "spill"),
)


def drive(name: str, rules: Rules) -> tuple[Drive, list[list[Any]], dict[str, Any], dict[str, Any]]:
    tape = json.loads(shared(f"golden/sessions/{name}.tape.json").read_text())
    requests = json.loads(shared(f"golden/sessions/{name}.requests.json").read_text())
    log = SessionLog.read(shared(f"golden/sessions/{name}.jsonl"))
    config = tape["config"]
    folding = folding_of(config.get("fold", {}), config.get("digest", {}), rules)
    known = known_spills() if name == "spill" else {}
    policies = Policies(settings_of(config.get("history", {})), folding, known)
    sent: list[list[Any]] = []
    driven = Drive(log, None, policies)

    def at_request(_: object) -> None:
        wire = ChatWire()
        body = wire.messages(message for _, message in messages(driven.session.view))
        sent.append(json.loads(body))

    return driven.run(at_request), sent, tape, requests


def known_spills() -> dict[str, str | None]:
    golden = json.loads(shared("golden/recall/spill.json").read_text())
    blobs = Blobs(None)
    return {
        file["locator"]: blobs.put(file["text"], block=1, part=1).sha256
        for file in golden["spillFiles"]
    }


def fold_rows(driven: Drive) -> list[Any]:
    """Each view of ours as its whole line says it, without its time."""
    log = driven.session.log
    rows = [json.loads(log.raw(event.seq)) for event in driven.views]
    return [{key: row[key] for key in row if key != "time"} for row in rows]


def recorded_rows(driven: Drive, tape: dict[str, Any]) -> list[Any]:
    rows = [json.loads(driven.log.raw(row["seq"])) for row in tape["folds"]]
    return [{key: row[key] for key in row if key != "time"} for row in rows]


def stats_of(driven: Drive) -> list[dict[str, Any]]:
    return [counts(stats) for stats in driven.stats]


@pytest.mark.parametrize("name", RUNS)
def test_views_counts_surfaces_and_requests_are_as_recorded(name: str) -> None:
    driven, sent, tape, requests = drive(name, REFERENCE)
    assert fold_rows(driven) == recorded_rows(driven, tape)
    assert stats_of(driven) == tape["foldStats"]
    assert driven.session.view.surface.nodes == tape["surface"]
    pool = [normal(message) for message in requests["pool"]]
    assert [[normal(message) for message in request] for request in sent] == [
        [pool[at] for at in request["messages"]] for request in requests["requests"]
    ]


CHANGED_BY: dict[str, tuple[str, ...]] = {
    # Golden run: the rules without which its views are as recorded.
    "fold": ("count_groups", "end_traces", "fill_gaps", "say_once"),
    "fold-digest-policy": ("count_groups", "end_traces", "original_chars", "fill_gaps"),
    "fold-pin2": ("count_groups", "end_traces", "fill_gaps", "say_once"),
    "recall": ("count_groups", "end_traces", "fill_gaps"),
}


@pytest.mark.parametrize("name", RUNS)
def test_views_as_shipped_differ_only_by_the_rules_of_the_table(name: str) -> None:
    rules = CHANGED_BY.get(name, ())
    if rules:
        driven, _, tape, _ = drive(name, RULES)
        assert fold_rows(driven) != recorded_rows(driven, tape)
    driven, _, tape, _ = drive(name, replace(RULES, **dict.fromkeys(rules, False)))
    assert fold_rows(driven) == recorded_rows(driven, tape)
    assert stats_of(driven) == tape["foldStats"]
