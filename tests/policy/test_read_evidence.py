"""Which call a read belongs to, and what is taken in once (edge cases 95 to 100)."""

from pathlib import Path

import pytest

from read_lines import digest, evidence_of, line, turn
from sealed_story import SealedStory
from slicetape.log.events import Event
from slicetape.policy.observe import Evidence
from story import Story


def code_turn(story: Story, id: str = "c1", *, error: bool = False) -> tuple[Event, Event]:
    """A turn whose code reads a file and returns something else."""
    story.start()
    story.says(calls={id: ("run_code", {})})
    nested = story.nested(id, f"{id}:1", "read", {"path": "nested.ts", "limit": 2}, "the body")
    return nested, story.result(id, "42", error=error)


def test_case_95_a_read_by_running_code_is_marked_as_the_codes() -> None:
    story = SealedStory()
    nested, _ = code_turn(story)
    story.says("done")
    story.end()
    story.start()
    assert (
        f"nested.ts (1 lines, {digest('the body')}, step 1, dispatch seq {nested.seq}, read window "
        '{"limit":2}, code log; model visibility not implied; '
        'recall_turn({"turn":"1","view":"full"}))]'
    ) in story.tape[0]
    assert "the body" not in story.shown()
    assert "the body" in story.page(1)


def test_case_96_a_reused_call_id_takes_its_reads_along() -> None:
    story = Story()
    story.start()
    story.says(calls={"c1": ("run_code", {})})
    story.result("c1", "nothing read")
    story.end()
    nested, _ = code_turn(story, "c1")
    assert line(story, 1) == ""
    assert f"dispatch seq {nested.seq}" in line(story, 2)


def test_case_97_a_nested_read_waits_for_its_outer_result_even_a_failed_one() -> None:
    story = Story()
    story.start()
    story.says(calls={"c1": ("run_code", {})})
    evidence = Evidence()
    story.nested("c1", "c1:1", "read", {"path": "a"}, "body")
    evidence.advance(story.view)
    outer = story.result("c1", "boom", error=True)
    evidence.advance(story.view)
    assert [read.target for read in evidence.of_results([outer.seq])] == ["a"]
    assert evidence.hashed == 1


def test_a_nested_read_that_failed_or_has_no_root_is_no_observation() -> None:
    story = Story()
    story.start()
    story.says(calls={"c1": ("run_code", {})})
    story.nested("c1", "c1:1", "read", {"path": "a"}, "boom", error=True)
    story.nested("unknown", "u:1", "read", {"path": "b"}, "body")
    story.nested("c1", "c1:2", "grep", {"path": "c"}, "body")
    story.result("c1", "done")
    assert line(story, 1) == ""


def test_a_settlement_without_a_start_belongs_to_the_newest_holder_of_the_root_id() -> None:
    story = Story()
    story.start()
    story.says(calls={"c1": ("run_code", {})})
    story.nested("c1", "c1:1", "read", {"path": "a"}, "body", started=False)
    story.result("c1", "done")
    assert "a (1 lines" in line(story, 1)


def test_a_sub_call_stays_with_the_call_that_held_the_root_id_when_it_started() -> None:
    story = Story()
    story.start()
    story.says(calls={"c1": ("run_code", {})})
    story.nested("c1", "s", "read", {"path": "a"}, "body")
    story.result("c1", "done")
    story.says(calls={"c1": ("run_code", {})})
    story.result("c1", "again")
    assert "step 1, dispatch" in line(story, 1)


def test_a_nested_read_belongs_to_the_first_result_of_its_call_only() -> None:
    story = Story()
    story.start()
    story.says(calls={"c1": ("run_code", {})})
    story.nested("c1", "c1:1", "read", {"path": "inner"}, "body")
    first, second = story.result("c1", "done"), story.result("c1", "done again")
    evidence = evidence_of(story)
    assert [read.target for read in evidence.of_results([first.seq])] == ["inner"]
    assert evidence.of_results([second.seq]) == []


def test_nested_reads_come_ahead_of_the_results_own() -> None:
    story = Story()
    story.start()
    story.says(calls={"c1": ("read", {"path": "own"})})
    story.nested("c1", "c1:1", "read", {"path": "inner"}, "body")
    story.result("c1", "text")
    assert line(story, 1).index("inner") < line(story, 1).index("own")


def test_case_98_a_result_without_a_call_of_its_turn_inherits_no_path() -> None:
    story = Story()
    turn(story, ("a.txt", "text"))
    id = "reused"
    story.start()
    story.says(calls={id: ("read", {"path": "a.txt"})})
    story.result(id, "text")
    story.end()
    story.start()
    story.says("no call here")
    orphan = story.result(id, "other text")
    assert evidence_of(story).of_results([orphan.seq]) == []
    assert line(story, 3) == ""


def test_case_99_each_payload_is_hashed_once_and_the_log_is_read_from_the_last_position() -> None:
    story = SealedStory()
    payload = "x" * 63_000
    for number in range(400):
        story.start()
        story.reads(f"{number % 7}.txt", payload)
        story.says("done")
        story.end()
        evidence = story.prestep.state.evidence
        assert evidence.hashed == max(0, number)
    story.start()
    assert evidence.hashed == 400
    scanned = evidence.scanned
    story.seal()
    assert evidence.hashed == 400
    assert evidence.scanned == len(story.events) >= scanned


def test_case_100_a_restored_session_builds_equal_evidence_on_its_own(tmp_path: Path) -> None:
    story = SealedStory()
    for text in ("one", "one", "two"):
        turn(story, ("a.txt", text), ("b.txt", text))
    resumed = story.reopened(tmp_path)
    assert [line(resumed, n) for n in (1, 2, 3)] == [line(story, n) for n in (1, 2, 3)]
    resumed.seal()
    assert resumed.prestep.state.evidence.hashed == 6
    turn(story, ("a.txt", "three"))
    assert resumed.prestep.state.evidence.hashed == 6


def test_a_replaced_result_is_never_observed() -> None:
    story = Story()
    story.start()
    result = story.reads("a.txt", "the original")
    view = story.view_of(result, "a view")
    assert evidence_of(story).of_results([view.seq]) == []
    assert digest("the original") in line(story, 1)


def test_d8_a_spilled_read_is_named_by_its_stored_original() -> None:
    stored = "0123456789abcdef" * 4
    story = Story()
    story.start()
    story.says(calls={"c": ("read", {"path": "a"})})
    rows = [{"block": 1, "part": 0, "sha256": stored, "lines": 4_000, "bytes": 9}]
    story.result("c", "[preview]", meta={"spill": rows})
    assert "a (4000 lines, 01234567, " in line(story, 1)
    assert evidence_of(story).hashed == 0


@pytest.mark.parametrize(
    "meta", [{"spill": 7}, {"spill": [{"block": 2, "sha256": "x", "lines": 1}]}]
)
def test_a_spill_record_that_says_nothing_of_this_block_is_ignored(meta: object) -> None:
    story = Story()
    story.start()
    story.says(calls={"c": ("read", {"path": "a"})})
    story.result("c", "[preview]", meta=meta)
    assert f"a (1 lines, {digest('[preview]')}, " in line(story, 1)


def test_a_call_id_used_twice_within_a_step_binds_each_result_to_its_own_call() -> None:
    story = SealedStory()
    story.start()
    story.says(calls={"c": ("read", {"path": "one"})})
    early = Evidence()
    story.result("c", "1")
    early.advance(story.view)
    story.called("c", "read", {"path": "two"})
    story.result("c", "2")
    early.advance(story.view)
    assert line(story, 1).index("one (1 lines") < line(story, 1).index("two (1 lines")
    results = story.view.calls.results[1, 1]
    assert early.of_results(results) == evidence_of(story).of_results(results)


def test_turns_read_out_of_order_are_compared_by_first_appearance() -> None:
    story = Story()
    for number, text in ((1, "a"), (3, "b"), (9, "c"), (2, "d")):
        story.start(number)
        story.reads("x", text)
        story.end()
    assert "≠ turn 2 step" in line(story, 9), "the newest, not the nearest number"
    assert "≠ turn 1 step" in line(story, 2)
    assert "≠ turn 2 step" in line(story, 3), "turn 2 appeared last of those below 3"


def test_reads_are_told_in_log_order_whatever_the_order_of_results() -> None:
    story = Story()
    results = [result.seq for result in turn(story, ("a", "1"), ("b", "2"), ("a", "3"))]
    evidence = evidence_of(story)
    reads = evidence.of_results(results[::-1])
    assert reads == evidence.of_results(results)
    assert [(read.target, read.step) for read in reads] == [("a", 3), ("b", 2)]


def test_a_settlement_releases_its_binding() -> None:
    story = Story()
    story.start()
    story.says(calls={"c1": ("run_code", {})})
    story.nested("c1", "s", "read", {"path": "a"}, "body")
    story.result("c1", "done")
    story.end()
    story.start()
    story.says(calls={"c1": ("run_code", {})})
    story.nested("c1", "s", "read", {"path": "b"}, "body", started=False)
    story.result("c1", "done")
    assert "b (1 lines" in line(story, 2)
