"""The figures: ratios with enough behind them, sums of sessions, the JSON, the worst of all."""

import msgspec
import pytest

from evidence_story import measured, told
from replay_run import recorded
from slicetape.cli.replay_table import report_lines
from slicetape.replay.arms import arms
from slicetape.replay.evidence.explain import worst
from slicetape.replay.evidence.figures import (
    Counts,
    Evidence,
    HiddenCounts,
    Share,
    evidence,
    summed,
)
from slicetape.replay.evidence.hits import Hits
from slicetape.replay.replay import Options, replay
from slicetape.replay.report import Report
from story import Story

NAMES = "transcript,tape,mask:1"


def row(*, tool: int, seen: int, found: int | None = 0) -> Evidence:
    counts = Counts(
        steps=9,
        referring_steps=4,
        clean=3,
        tool=Share(seen, tool),
        said=Share(1, 1),
        recovered=tool - seen,
        found=found,
    )
    return evidence(counts, HiddenCounts(sealed=tool - seen), 2)


class TestRatios:
    def test_they_are_what_is_visible_over_all(self) -> None:
        found = row(tool=60, seen=15, found=9)
        assert found.references == 61
        assert found.visible == pytest.approx(16 / 61)
        assert found.visible_tool == 0.25
        assert found.clean_steps == 0.75
        assert found.recoverable == 1
        assert found.recall_hits == 0.2

    def test_one_over_fewer_than_thirty_references_is_not_given(self) -> None:
        found = row(tool=28, seen=10)
        assert found.references == 29
        assert found.visible is None
        assert found.clean_steps is None
        assert found.recoverable is None
        assert row(tool=29, seen=10).visible is not None
        assert row(tool=29, seen=10).visible_tool is None

    def test_sessions_add_up_before_ratios_are_taken(self) -> None:
        total = summed([row(tool=20, seen=5, found=4), row(tool=20, seen=15, found=2)])
        assert total.visible_tool == 0.5
        assert total.predicted_recalls == 4
        assert total.hidden.sealed == 20
        assert total.counts.found == 6
        assert total.counts.steps == 18

    def test_no_search_in_one_session_is_none_in_the_sum(self) -> None:
        assert summed([row(tool=40, seen=5, found=None), row(tool=40, seen=5)]).recall_hits is None

    def test_nothing_at_all_has_no_ratios(self) -> None:
        assert summed([]).visible is None


@pytest.fixture(scope="module")
def report() -> Report:
    sessions = [recorded(told(seed, turns=9)) for seed in range(6)]
    return replay(sessions, Options(arms=arms(NAMES), head=0, explain=True))


class TestReport:
    def test_the_json_has_the_names_that_programs_rely_on(self, report: Report) -> None:
        arm = msgspec.json.decode(msgspec.json.encode(report))["sessions"][0]["arms"]["tape"]
        assert set(arm["evidence"]) >= {
            *("references", "visible", "visible_tool", "visible_said", "visible_mixed"),
            *("clean_steps", "hidden", "recoverable", "recall_hits@5", "predicted_recalls"),
        }
        assert set(arm["evidence"]["hidden"]) == {"sealed", "folded", "dropped"}
        assert set(arm["cost_with_recall"]) == set(arm["cost_with_reread"]) == set(arm["cost"])
        assert arm["fold_fidelity"] == {}

    def test_the_transcript_hides_nothing(self, report: Report) -> None:
        total = report.total["transcript"]
        assert total.evidence.visible == 1
        assert total.evidence.clean_steps == 1
        assert total.cost_with_recall == total.cost == total.cost_with_reread

    def test_every_arm_has_the_same_references(self, report: Report) -> None:
        for session in report.sessions:
            assert len({arm.evidence.references for arm in session.arms.values()}) == 1

    def test_the_tape_brings_everything_back_and_the_mask_nothing(self, report: Report) -> None:
        tape, mask = report.total["tape"].evidence, report.total["mask:1"].evidence
        assert tape.hidden.sealed == tape.counts.recovered > 0
        assert mask.hidden.dropped > 0
        assert mask.counts.recovered == 0
        assert mask.recall_hits is None

    def test_recalling_costs_more_and_reading_again_still_more(self, report: Report) -> None:
        tape = report.total["tape"]
        assert tape.evidence.predicted_recalls > 0
        for id, ratio in tape.vs_transcript.items():
            if id in report.prices:
                recalled = tape.with_recall_vs_transcript[id]
                assert ratio < recalled < tape.with_reread_vs_transcript[id]

    def test_the_table_has_the_figures_and_the_worst(self, report: Report) -> None:
        text = "\n".join(report_lines(report, 200))
        for part in ("visible", "tool", "clean", "recalls/step", "rel-30+", "of 6 sessions"):
            assert part in text
        assert "the worst that tape hid:" in text
        assert 'expand_result({"seq":' in text
        assert max(map(len, report_lines(report, 100))) <= 100


class TestWorst:
    def test_what_was_copied_most_comes_first_with_its_locators(self) -> None:
        it = Story()
        it.start()
        it.human("read")
        result = it.reads("a.txt", "port_7443 port_7444 " + "y" * 300)
        it.end()
        for calls in ({}, {"c": ("bash", {"command": "use port_7443"})}):
            it.start()
            it.human("go on")
            it.says("port_7444 " + "z" * 200, calls=calls)
            for id in calls:
                it.result(id, "ok")
            it.end()
        recording = recorded(it)
        done = measured(recording, "tape")
        assert done.visibility
        first, second = worst(done.visibility, Hits(recording))
        assert (first.token, first.copies, first.kind, first.how) == (
            "port_7443",
            1,
            "tool",
            "sealed",
        )
        assert first.locators == (f'expand_result({{"seq":{result.seq},"formatVersion":3}})',)
        assert first.rank is not None
        assert (second.token, second.steps, second.copies) == ("port_7444", 1, 0)
        assert len(worst(done.visibility, Hits(recording), most=1)) == 1

    def test_an_arm_without_recall_has_no_locators(self, report: Report) -> None:
        rows = [row for one in report.sessions for row in one.arms["mask:1"].missing]
        assert rows
        assert all(row.locators == () and row.rank is None for row in rows)

    def test_a_very_long_word_is_cut(self) -> None:
        it = Story()
        it.start()
        it.human("x" * 500)
        it.says("y" * 400, calls={"c": ("bash", {"command": "z" * 300})})
        it.result("c", "w" * 1_000)
        it.end()
        it.start()
        it.human("go on")
        it.says("z" * 300 + " " + "w" * 1_000)
        recording = recorded(it)
        done = measured(recording, "tape")
        assert done.visibility
        rows = worst(done.visibility, Hits(recording))
        assert {len(row.token) for row in rows} == {120}
        assert {row.locators[0].partition("(")[0] for row in rows} == {
            "recall_turn",
            "expand_result",
        }
