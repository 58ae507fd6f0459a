"""The report: what is added up, what is not, and how it is shown."""

import json
from dataclasses import replace

import msgspec
import pytest

from slicetape.cli.replay_table import report_lines, sheet_lines
from slicetape.errors import PriceError
from slicetape.log.payloads import Usage
from slicetape.prices.sheet import sheet
from slicetape.replay.arms import arms
from slicetape.replay.recording import Recording, record
from slicetape.replay.replay import Options, chosen_sheets, replay
from story import Story

LONG = "some output that is long enough to matter\n" * 100


def recording(id: str = "story", turns: int = 4, model: str = "m") -> Recording:
    story = Story()
    for number in range(turns):
        story.reading_turn(f"{number}.txt", f"{number} {LONG}")
    events = [
        msgspec.structs.replace(
            event, data=msgspec.structs.replace(event.data, usage=Usage(10, 2, 5))
        )
        if type(event).__name__ == "AssistantMessage"
        else event
        for event in story.events
    ]
    made = record(id, "test", story.session.log.header, events)
    return replace(made, facts=replace(made.facts, model=model))


def options(**more: object) -> Options:
    return Options(arms=arms("tape,mask:1,compact"), tokenizer="bytes", **more)


def test_the_json_has_the_keys_that_programs_rely_on() -> None:
    report = json.loads(msgspec.json.encode(replay([recording()], options())))
    assert report["version"] == 1
    assert report["prices"] == ["rel-30", "rel-10", "rel-none"]
    session = report["sessions"][0]
    assert {
        "id",
        "format",
        "tokenizer",
        "turns",
        "steps",
        "tool_calls",
        "tool_errors",
        "arms",
    } <= set(session)
    arm = session["arms"]["tape"]
    for key in [
        "requests",
        "input_tokens",
        "cached_tokens",
        "written_tokens",
        "fresh_tokens",
        "output_tokens",
        "peak_tokens",
        "prefix_breaks_in_turn",
        "prefix_breaks_at_seal",
        "lint_errors",
        "cost",
        "policy_ms",
        "recoverable",
    ]:
        assert key in arm, key
    assert set(arm["policy_ms"]) == {"median", "p99", "max"}
    assert set(report["total"]["tape"]["vs_transcript"]) >= {"rel-30", "rel-10", "rel-none"}


def test_tokens_by_price_add_up_to_what_was_sent() -> None:
    for sheets in ("rel-30", "rel-10", "rel-none", "flat-30"):
        report = replay([recording()], options(sheets=chosen_sheets(sheets)))
        for arm in report.sessions[0].arms.values():
            assert arm.cached_tokens + arm.written_tokens + arm.fresh_tokens == arm.input_tokens


def test_without_a_cache_the_cost_is_what_was_sent() -> None:
    report = replay([recording()], options())
    for arm in report.sessions[0].arms.values():
        assert arm.cost["rel-none"] == arm.input_tokens


def test_sessions_of_one_counter_are_added_up() -> None:
    report = replay([recording("a"), recording("b", turns=6)], options())
    total = report.total["tape"]
    assert total.sessions == 2
    assert total.input_tokens == sum(s.arms["tape"].input_tokens for s in report.sessions)
    assert report.total["transcript"].vs_transcript["rel-30"] == 1.0


def test_sessions_of_several_counters_give_ratios_only() -> None:
    mixed = [recording("a", model="claude-x"), recording("b", model="gpt-5")]
    report = replay(mixed, Options(arms=arms("tape")))
    total = report.total["tape"]
    assert total.input_tokens is None
    assert total.cost is None
    assert 0 < total.vs_transcript["rel-none"] < 1
    assert "only ratios" in "\n".join(report_lines(report, 100))


def test_recorded_usage_is_shown_apart_from_every_arm() -> None:
    report = replay([recording()], options(sheets=chosen_sheets("rel-30,v4-flash-launch")))
    billed = report.sessions[0].recorded
    assert billed is not None
    assert (billed.fresh_tokens, billed.cached_tokens, billed.output_tokens) == (80, 40, 16)
    assert set(billed.cost) == {"v4-flash-launch"}


def test_real_sheets_price_output_and_show_money() -> None:
    report = replay([recording()], options(sheets=chosen_sheets("v4-flash-launch")))
    assert any("$" in line for line in report_lines(report, 100))
    arm = report.sessions[0].arms["transcript"]
    row = sheet("v4-flash-launch")
    money = (
        arm.cached_tokens * row.hit + arm.fresh_tokens * row.miss + arm.output_tokens * row.out
    ) / row.per
    assert arm.cost["v4-flash-launch"] == pytest.approx(float(money))


def test_a_head_of_zero_leaves_out_prompts_and_schemas() -> None:
    with_head = replay([recording()], options()).sessions[0]
    without = replay([recording()], options(head=0)).sessions[0]
    assert with_head.head_tokens == 4000
    assert without.head_tokens == 0
    requests = with_head.arms["tape"].requests
    assert with_head.arms["tape"].input_tokens - without.arms["tape"].input_tokens == requests * (
        4000 + 900
    )
    assert (
        with_head.arms["transcript"].input_tokens - without.arms["transcript"].input_tokens
        == requests * 4000
    )


def test_hostile_names_cannot_repaint_the_screen() -> None:
    report = replay([recording("\x1b[2Jevil\n\u202e", model="\x1b]0;x\x07")], options())
    text = "\n".join(report_lines(report, 100))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_every_sheet_is_listed_with_its_prices() -> None:
    lines = list(sheet_lines())
    assert any("rel-30" in line for line in lines)
    assert any("v41-flash-20260910-offpeak" in line for line in lines)


def test_an_unknown_sheet_is_refused_with_what_there_is() -> None:
    with pytest.raises(PriceError, match="rel-30"):
        chosen_sheets("rel-31")
    with pytest.raises(PriceError, match="default"):
        chosen_sheets(" , ")


def test_progress_is_told_once_a_request() -> None:
    told: list[tuple[str, str]] = []
    report = replay([recording()], options(), progress=lambda s, a: told.append((s, a)))
    assert len(told) == sum(
        arm.requests - arm.compactions for arm in report.sessions[0].arms.values()
    )
