"""Recorded histories of folds: the same views and counts, but for the rules that the table names."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from data import shared
from fold_cases import counts, folding_of
from sealing_cases import session_of
from slicetape.log.codec import decode_event
from slicetape.log.events import ToolResult
from slicetape.policy.fold import plan_fold
from slicetape.policy.fold_state import FoldState
from slicetape.policy.views import REFERENCE, RULES, Rules
from slicetape.surface import Session
from story import raw

CASES = {
    case["id"]: case for case in json.loads(shared("golden/fold/cases.json").read_text())["cases"]
}


def append(session: Session, rows: list[Any]) -> None:
    for row in rows:
        event = decode_event(bytes(raw(row)))
        session.append(msgspec.structs.replace(event, seq=-1))


def replay(case: dict[str, Any], rules: Rules) -> list[tuple[list[Any], dict[str, Any]]]:
    """What each round folded, and the counts after it."""
    session = session_of(case["preexisting"])
    fold = {key: value for key, value in case["config"].items() if key != "digest"}
    folding = folding_of(fold, case["config"]["digest"], rules)
    state = FoldState.of(session.view)
    found = []
    for round in case["rounds"]:
        append(session, round["appended"])
        folded = []
        for fold in plan_fold(session.view, state, folding):
            original = session.view.events[fold.seq]
            assert isinstance(original, ToolResult)
            folded.append(session.append(fold.event(original, 1)))
        found.append(([said(event) for event in folded], counts(state.stats)))
    return found


def said(event: Any) -> Any:
    row = msgspec.to_builtins(event)
    return {key: row[key] for key in ("seq", "data", "surfaceOp")} | {
        "sources": list(event.sources)
    }


def recorded(case: dict[str, Any]) -> list[tuple[list[Any], dict[str, Any]]]:
    return [
        ([said(decode_event(bytes(raw(row)))) for row in round["folded"]], round["stats"])
        for round in case["rounds"]
    ]


@pytest.mark.parametrize("name", CASES)
def test_the_reference_rules_give_what_was_recorded(name: str) -> None:
    assert replay(CASES[name], REFERENCE) == recorded(CASES[name])


CHANGED: dict[str, str] = {
    # A case that differs as shipped, and the one rule that changes it.
    "spill-preview-header": "marked_spills",  # its text only says that it is a view of a spill
}


@pytest.mark.parametrize("name", CASES)
def test_a_case_differs_as_shipped_only_by_the_rule_that_the_table_names(name: str) -> None:
    case, rule = CASES[name], CHANGED.get(name)
    if rule is not None:
        assert replay(case, RULES) != recorded(case)
    rules = replace(RULES, **{rule: False}) if rule else RULES
    assert replay(case, rules) == recorded(case)
