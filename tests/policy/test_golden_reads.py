"""Every recorded read-index line and the observations behind it."""

import json
from typing import Any

import pytest

from data import shared
from sealing_cases import session_of
from slicetape.policy.observe import Evidence, Observation
from slicetape.policy.reads import BUDGET, read_line
from slicetape.surface import View

CHANGED = {
    # (golden case, turn): the rule that changes its lines, how many lines, the reference's text,
    # and ours. Putting one for the other gives the line byte for byte, so nothing else differs.
    ("tools-and-keys", 1): (
        "D12: read-window keys are sorted by code point",
        3,
        '{"9":7,"10":6,"_":5,"e":2,"É":1,"z":4,"Z":3}',
        '{"10":6,"9":7,"Z":3,"_":5,"e":2,"z":4,"É":1}',
    ),
    ("errors-and-retry", 2): (
        "no observation, no line: the reference's renderer never asks for this one either",
        7,
        "[files read this turn: ]",
        "",
    ),
}
UNCHANGED = ("", 0, "[", "[")

CASES = json.loads(shared("golden/reads/cases.json").read_text())["cases"]
case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


def read(case: dict[str, Any]) -> tuple[View, Evidence]:
    view, evidence = session_of(case["events"]).view, Evidence()
    evidence.advance(view)
    return view, evidence


def results_of(view: View, turn: int) -> list[int]:
    return [seq for (owner, _), seqs in view.calls.results.items() if owner == turn for seq in seqs]


def row_of(observation: Observation) -> list[Any]:
    channel = "result" if observation.block else "code log"
    return [
        [observation.target, observation.tool, observation.window, channel],
        [observation.turn, observation.step, observation.seq, observation.block],
        [observation.digest, observation.lines],
    ]


def representatives(refs: list[dict[str, Any]], theirs: str, ours: str) -> list[list[Any]]:
    """The recorded observations of a turn, the last of each key, in our shape."""
    latest: dict[str, list[Any]] = {}
    for ref in refs:
        target, tool, window, channel = json.loads(ref["key"])
        latest[ref["key"]] = [
            [target, tool, window.replace(theirs, ours), channel],
            [ref["turn"], ref["step"], ref["seq"], ref.get("block")],
            [ref["digest"], ref["lines"]],
        ]
    return list(latest.values())


@case
def test_lines_are_as_recorded(case: dict[str, Any]) -> None:
    view, evidence = read(case)
    for golden in case["lines"]:
        turn = golden["turn"]
        line = read_line(evidence, turn, results_of(view, turn), golden["maxChars"] or BUDGET)
        _, _, theirs, ours = CHANGED.get((case["id"], turn), UNCHANGED)
        assert line == golden["line"].replace(theirs, ours), golden["maxChars"]


@case
def test_observations_are_as_recorded(case: dict[str, Any]) -> None:
    view, evidence = read(case)
    for golden in case["reads"]:
        turn = golden["turn"]
        _, _, theirs, ours = CHANGED.get((case["id"], turn), UNCHANGED)
        seen = evidence.of_results(results_of(view, turn))
        assert [row_of(one) for one in seen] == representatives(golden["refs"], theirs, ours)


def test_the_table_counts_every_line_that_differs() -> None:
    differ: dict[tuple[str, int], int] = {}
    total = 0
    for case in CASES:
        view, evidence = read(case)
        for golden in case["lines"]:
            total += 1
            turn = golden["turn"]
            line = read_line(evidence, turn, results_of(view, turn), golden["maxChars"] or BUDGET)
            if line != golden["line"]:
                differ[case["id"], turn] = differ.get((case["id"], turn), 0) + 1
    assert differ == {key: row[1] for key, row in CHANGED.items()}
    assert (len(CASES), total) == (15, 208)
