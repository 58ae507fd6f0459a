"""The report: what is added up, what is not, and how it is shown."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest

from slicetape.cli.replay_table import arm_lines, counter_lines, report_lines, sheet_lines
from slicetape.errors import PriceError
from slicetape.log.payloads import Usage
from slicetape.prices.sheet import sheet
from slicetape.prices.tokens import counters
from slicetape.replay.arms import ARMS, arms
from slicetape.replay.recording import Recording, record
from slicetape.replay.replay import RECALL_HEAD, Options, chosen_sheets, replay, report_of
from slicetape.replay.report import PolicyMs
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


def test_recorded_usage_that_cannot_be_true_is_left_out_and_told() -> None:
    story = Story()
    story.start()
    story.human()
    events = story.events
    for step, fresh in ((1, -5), (2, 7)):
        said = story.says("ok", step=step)
        data = msgspec.structs.replace(said.data, usage=Usage(fresh, 2))
        events.append(msgspec.structs.replace(said, data=data))
    made = record("odd", "test", story.session.log.header, events)
    assert made.facts.usage is not None
    assert made.facts.usage.fresh == 7
    assert made.notes == ("1 recorded usages have negative counts and are left out",)


def test_peak_hours_cost_what_they_cost_then() -> None:
    """V4 flash doubles from 01:00 to 04:00 UTC; 2026-08-20 is a Thursday."""
    night, noon = (int(datetime(2026, 8, 20, h, tzinfo=UTC).timestamp() * 1000) for h in (2, 12))
    sheets = chosen_sheets("v4-flash-20260816-offpeak")
    costs = []
    for time in (night, noon):
        made = recording()
        events = tuple(msgspec.structs.replace(event, time=time) for event in made.events)
        report = replay([replace(made, events=events)], options(sheets=sheets))
        costs.append(report.sessions[0].arms["transcript"].cost["v4-flash-20260816-offpeak"])
    assert costs[0] == pytest.approx(2 * costs[1])


def test_times_matter_only_when_asked_for() -> None:
    made = recording()
    hours = tuple(
        msgspec.structs.replace(event, time=(at + 1) * 3_600_000)
        for at, event in enumerate(made.events)
    )
    timed = replace(made, events=hours)
    for sheets, lost in (("rel-10", True), ("rel-30", False)):
        plain, kept, expired = (
            replay([session], options(sheets=chosen_sheets(sheets), ttl=ttl)).sessions[0]
            for session, ttl in ((made, True), (timed, False), (timed, True))
        )
        arm = "transcript"
        assert plain.arms[arm].cached_tokens == kept.arms[arm].cached_tokens > 0
        assert (expired.arms[arm].cached_tokens == 0) == lost


def test_the_window_of_the_compact_arm_is_the_asked_the_recorded_or_a_constant() -> None:
    made = recording()
    known = replace(made, facts=replace(made.facts, window=64_000))
    assert replay([made], options()).sessions[0].window == 200_000
    assert replay([known], options()).sessions[0].window == 64_000
    assert replay([known], options(window=9_000)).sessions[0].window == 9_000


def test_a_recorded_head_is_counted_and_replaces_the_constant() -> None:
    made = recording()
    tools = b'[{"name":"read"}]' * 100
    known = replace(made, facts=replace(made.facts, tools=tools))
    assert replay([known], options(head=50)).sessions[0].head_tokens == round(1_700 / 3.3)
    assert replay([known], options(head=0)).sessions[0].head_tokens == 0
    assert replay([made], options(head=50)).sessions[0].head_tokens == 50
    prompted = replace(made, facts=replace(made.facts, has_system=True))
    assert replay([prompted], options()).sessions[0].head_tokens == 0


def test_a_head_of_zero_leaves_prompts_weightless_but_sent() -> None:
    story = Story()
    story.start()
    story.system("rules " * 100)
    story.human("hello")
    story.says("hi")
    made = record("s", "test", story.session.log.header, story.events)
    with_head, without = (
        replay([made], options(head=head)).sessions[0].arms["transcript"] for head in (None, 0)
    )
    assert with_head.input_tokens > without.input_tokens
    assert with_head.sent_chars - without.sent_chars == 600


def test_a_session_without_requests_has_a_report_of_zeros() -> None:
    made = record("empty", "test", Story().session.log.header, [])
    report = replay([made, made], options())
    for arm in report.sessions[0].arms.values():
        assert (arm.requests, arm.input_tokens, arm.peak_tokens, arm.cost["rel-30"]) == (0, 0, 0, 0)
        assert arm.policy_ms == PolicyMs()
    assert report.total["tape"].vs_transcript["rel-30"] == 1.0
    assert "0 steps" in "\n".join(report_lines(report, 100))


def test_ratios_are_sums_over_sums_each_in_its_own_tokens() -> None:
    mixed = [recording("a", model="claude-x"), recording("b", turns=9, model="gpt-5")]
    report = replay(mixed, Options(arms=arms("tape")))
    rows = report.sessions
    assert {row.tokenizer for row in rows} == {"claude-est", "o200k"}
    for sheet_id in report.prices:
        tape, plain = (
            sum(row.arms[name].cost[sheet_id] for row in rows) for name in ("tape", "transcript")
        )
        assert report.total["tape"].vs_transcript[sheet_id] == pytest.approx(tape / plain)


def test_a_sheet_named_twice_is_one() -> None:
    assert [row.id for row in chosen_sheets("rel-30, rel-30,rel-10")] == ["rel-30", "rel-10"]


def test_signed_reasoning_goes_over_the_wire_that_carries_it() -> None:
    made = recording()
    signed = replace(made, facts=replace(made.facts, signed=True))
    wires = [replay([one], options()).sessions[0].wire for one in (made, signed)]
    assert wires == ["openai-chat", "anthropic-messages"]


SHEETS = "rel-30,rel-10,rel-none,v41-flash-20260910-offpeak,v4-pro-0813-offpeak"


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    names = arms("tape,tape{history.keepRecentTurns=1},mask:30")
    made = [recording("a", model="claude-x"), recording("b", model="gpt-5")]
    report = replay(made, Options(arms=names, sheets=chosen_sheets(SHEETS)))
    lines = list(report_lines(report, width))
    assert max(map(len, lines)) <= width
    for name in SHEETS.split(","):
        assert any(name in line for line in lines)


def test_a_wide_terminal_gets_one_table_a_narrow_one_two() -> None:
    report = replay([recording()], options())
    heads = [line for line in report_lines(report, 200) if line.split()[:1] == ["arm"]]
    assert len(heads) == 1
    heads = [line for line in report_lines(report, 100) if line.split()[:1] == ["arm"]]
    assert [head.split()[-1] for head in heads] == ["rel-none", "recoverable"]


def test_of_many_sessions_the_largest_are_shown_and_all_are_added_up() -> None:
    report = replay([recording("large"), recording("small", turns=1)], options())
    large, small = report.sessions
    many = report_of([small] * 40 + [large] * 30, options())
    lines = list(report_lines(many, 100))
    assert sum(line.startswith("large (") for line in lines) == 30
    assert sum(line.startswith("small (") for line in lines) == 30
    assert any("60 largest of 70 sessions" in line for line in lines)
    assert any(line.startswith("all 70 sessions") for line in lines)


def test_a_share_below_one_is_never_shown_as_one() -> None:
    report = replay([recording()], options())
    arm = msgspec.structs.replace(report.sessions[0].arms["tape"], recoverable=0.99999)
    session = msgspec.structs.replace(report.sessions[0], arms={"tape": arm})
    shown = "\n".join(report_lines(msgspec.structs.replace(report, sessions=(session,)), 200))
    assert "0.9999" in shown


def test_every_arm_and_counter_is_listed() -> None:
    assert [line.split()[0] for line in arm_lines()][1:] == [*ARMS, "mask:N"]
    assert tuple(line.split()[0] for line in counter_lines())[1:] == counters()


def test_a_head_of_zero_leaves_out_prompts_and_schemas() -> None:
    with_head = replay([recording()], options()).sessions[0]
    without = replay([recording()], options(head=0)).sessions[0]
    assert with_head.head_tokens == 4000
    assert without.head_tokens == 0
    requests = with_head.arms["tape"].requests
    assert with_head.arms["tape"].input_tokens - without.arms["tape"].input_tokens == requests * (
        4000 + RECALL_HEAD
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
    report = replay([recording()], options(), progress=lambda s, a: told.append((s.id, a)))
    assert len(told) == report.sessions[0].steps * len(report.sessions[0].arms)
