"""Every recorded seal plan: the same runs, texts, sources and warnings, except where D1 differs."""

import json
from typing import Any

import pytest

from data import GOLDEN, shared
from sealing_cases import messages_of, rows_of, rows_without_d1, session_of, settings_of
from slicetape.log.events import UserMessage
from slicetape.log.messages import text_of
from slicetape.loop.prestep import Prestep
from slicetape.policy.seal import plan_seal
from slicetape.policy.state import SealState

CHANGED_BY_D1 = {
    # Golden case: how many of its planned entries name results that the reference only counts.
    "many-tools-7": 5,
    "many-tools-40": 3,
    "reads-changes": 4,
    "reads-overflow": 3,
    "random-5": 3,
}

CASES = json.loads(shared("golden/seal/cases.json").read_text())["cases"]
case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


def plans(case: dict[str, Any], state: SealState | None) -> list[tuple[dict[str, Any], Any]]:
    """Each golden plan beside ours; with a state of its own, or all on the one given."""
    session, pending = session_of(case["events"]), messages_of(case["pending"])
    return [
        (
            golden,
            plan_seal(
                session.view,
                SealState() if state is None else state,
                settings_of(golden["policy"]),
                pending=pending,
            ),
        )
        for golden in case["plans"]
        if "error" not in golden
    ]


@case
def test_plans_have_the_recorded_runs_and_texts(case: dict[str, Any]) -> None:
    for golden, ours in plans(case, None):
        assert rows_without_d1(rows_of(ours.seals)) == golden["appends"], golden["policy"]


@case
def test_plans_of_many_settings_on_one_memory_are_the_same(case: dict[str, Any]) -> None:
    for golden, ours in plans(case, SealState()):
        assert rows_without_d1(rows_of(ours.seals)) == golden["appends"], golden["policy"]
        assert list(ours.warnings) == golden["warnings"], "once per log and cut"


@case
def test_d1_is_the_only_difference_and_only_where_the_table_says(case: dict[str, Any]) -> None:
    changed = sum(
        ours != theirs
        for golden, plan in plans(case, None)
        for ours, theirs in zip(rows_of(plan.seals), golden["appends"], strict=True)
    )
    assert changed == CHANGED_BY_D1.get(case["id"], 0)


@case
def test_a_cap_below_256_is_refused_at_plan_time(case: dict[str, Any]) -> None:
    session = session_of(case["events"])
    refused = [golden for golden in case["plans"] if "error" in golden]
    for golden in refused:
        with pytest.raises(ValueError, match="safe integer >= 256") as caught:
            plan_seal(session.view, SealState(), settings_of(golden["policy"]))
        assert f"RangeError: {caught.value}" == golden["error"]
    assert bool(refused) == (case["id"] == "bad-cap")


@case
def test_applying_the_first_plan_gives_the_recorded_surface(case: dict[str, Any]) -> None:
    session, pending = session_of(case["events"]), messages_of(case["pending"])
    assert session.view.surface.nodes == case["surfaceBefore"]
    applied = case["applied"]
    prestep = Prestep(session, settings_of(applied["policy"]))
    entries = prestep.before_step(1, time=7, pending=pending).entries
    assert [
        {
            "seq": entry.seq,
            "sources": list(entry.sources),
            "op": [entry.surface_op.start_seq, entry.surface_op.end_seq],
            "source": entry.data.source.plugin,
        }
        for entry in entries
    ] == [
        {
            "seq": row["seq"],
            "sources": row["sourceEventSeqs"],
            "op": [row["surfaceOp"]["startSeq"], row["surfaceOp"]["endSeq"]],
            "source": row["data"]["source"]["plugin"],
        }
        for row in applied["events"]
    ]
    assert session.view.surface.nodes == applied["surface"]
    again = prestep.before_step(1, time=8, pending=pending).entries
    assert len(again) == applied["replanAppends"] == 0


def test_the_whole_of_the_recorded_plans_was_compared() -> None:
    entries = sum(len(plan.get("appends", ())) for case in CASES for plan in case["plans"])
    count = len(CASES), sum(len(case["plans"]) for case in CASES), entries
    small = json.loads((GOLDEN / "seal/cases.json").read_text())["cases"]
    assert count == (61, 392, 821) or len(CASES) == len(small) == 20


@case
def test_an_entry_of_the_log_is_a_plain_user_message(case: dict[str, Any]) -> None:
    session = session_of(case["events"])
    settings = settings_of(case["applied"]["policy"])
    for entry in Prestep(session, settings).before_step(1, time=7).entries:
        assert type(entry) is UserMessage
        assert entry.data.role == "user"
        assert len(entry.data.content) == 1
        assert text_of(entry.data.content).startswith("[slice tape v1 · turns ")
