"""Recorded histories of folds: the same views and counts, but for the rules that the table names."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from data import shared
from sealing_cases import session_of
from slicetape.log.codec import decode_event
from slicetape.log.events import ToolResult
from slicetape.policy.fold import plan_fold
from slicetape.policy.fold_state import FoldState
from slicetape.policy.fold_view import Folding
from slicetape.policy.settings import DigestSettings, FoldSettings
from slicetape.policy.views import REFERENCE, RULES, Rules
from slicetape.surface import Session
from story import raw

CASES = {
    case["id"]: case for case in json.loads(shared("golden/fold/cases.json").read_text())["cases"]
}


def folding_of(config: dict[str, Any], rules: Rules) -> Folding:
    digest = {_snake(key): value for key, value in config["digest"].items()}
    fold = {_snake(key): value for key, value in config.items() if key != "digest"}
    return Folding(fold=FoldSettings(**fold), digest=DigestSettings(**digest), rules=rules)


def _snake(key: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in key)


def append(session: Session, rows: list[Any]) -> None:
    for row in rows:
        event = decode_event(bytes(raw(row)))
        session.append(msgspec.structs.replace(event, seq=-1))


def replay(case: dict[str, Any], rules: Rules) -> list[tuple[list[Any], dict[str, Any]]]:
    """What each round folded, and the counts after it."""
    session = session_of(case["preexisting"])
    folding = folding_of(case["config"], rules)
    state = FoldState.of(session.view)
    found = []
    for round in case["rounds"]:
        append(session, round["appended"])
        folded = []
        for fold in plan_fold(session.view, state, folding):
            original = session.view.events[fold.seq]
            assert isinstance(original, ToolResult)
            folded.append(session.append(fold.event(original, 1)))
        found.append(([said(event) for event in folded], counts(state)))
    return found


def said(event: Any) -> Any:
    row = msgspec.to_builtins(event)
    return {key: row[key] for key in ("seq", "data", "surfaceOp")} | {
        "sources": list(event.sources)
    }


def counts(state: FoldState) -> dict[str, Any]:
    stats = state.stats
    return {
        "folded": stats.folded,
        "charsBefore": stats.chars_before,
        "charsAfter": stats.chars_after,
        "expanded": stats.expanded,
        "backedOff": list(stats.backed_off),
        "spilled": stats.spilled,
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
