"""When finished turns are sealed and what an entry says (edge cases 1 to 26)."""

import json

import msgspec
import pytest

from sealed_story import SealedStory
from slicetape.log.events import Replace, StepStart, ToolResult, TurnStart, UserMessage
from slicetape.log.messages import Reasoning, text_of
from slicetape.policy.fingerprint import fingerprint
from slicetape.surface import View, messages
from story import Story


def turns(count: int, **settings: object) -> SealedStory:
    """A story of `count` finished turns, each with a tool step and an answer."""
    story = SealedStory(**settings)
    for turn in range(1, count + 1):
        story.reading_turn(f"file-{turn}.txt", f"text of file {turn}", f"answer {turn}")
    return story


def test_case_1_while_the_first_turn_is_open_nothing_is_planned_or_appended() -> None:
    story = SealedStory()
    story.start()
    story.human("hello")
    before = len(story.events)
    assert story.prestep.plan().seals == ()
    assert story.seal() == ()
    assert len(story.events) == before


def test_case_2_each_seal_appends_one_entry_and_leaves_the_earlier_ones_alone() -> None:
    story = SealedStory()
    for turn in range(1, 7):
        story.short_turn(f"request {turn}", f"answer {turn}")
        before, entries = len(story.events), story.entries
        added = story.seal()
        assert len(added) == 1
        assert len(story.events) == before + 1
        assert story.entries == [*entries, *added]


def test_case_3_sealing_again_with_nothing_new_changes_nothing() -> None:
    story = turns(3)
    story.start()
    before = story.events, list(story.view.surface.nodes)
    for _ in range(3):
        assert story.seal() == ()
    assert (story.events, story.view.surface.nodes) == before


def test_case_4_eight_turns_give_seven_entries_of_one_turn_each() -> None:
    story = turns(8)
    assert story.ranges == [f"{turn}-{turn}" for turn in range(1, 8)]
    assert all("1 turn(s) sealed" in text for text in story.tape)
    assert "answer 8" in story.shown()


def test_case_5_the_entries_after_each_turn() -> None:
    assert [len(turns(count).entries) for count in range(1, 6)] == [0, 1, 2, 3, 4]


def test_case_6_an_entry_stands_between_the_next_turn_start_and_its_first_step() -> None:
    story = SealedStory()
    for _ in range(3):
        story.start()
        story.step_start()
        story.human()
        story.says("answer", step=1)
        story.step_end()
        story.end()
    for entry in story.entries:
        around = [event for event in story.events if isinstance(event, TurnStart | StepStart)]
        before = [event for event in around if event.seq < entry.seq][-1]
        after = next(event for event in around if event.seq > entry.seq)
        assert isinstance(before, TurnStart)
        assert isinstance(after, StepStart)
        assert before.data.turn == after.data.turn


def test_case_7_within_an_open_turn_each_request_extends_the_one_before() -> None:
    story = SealedStory()
    story.start()
    story.human("work")
    earlier = story.request()
    for step in range(1, 5):
        story.reads(f"{step}.txt", "body")
        assert story.prestep.before_step(step + 1, time=0).entries == ()
        assert story.request()[: len(earlier)] == earlier
        earlier = story.request()
    assert story.entries == []


def test_case_8_an_entry_replaces_its_segment_from_first_to_last_node() -> None:
    story = turns(1)
    story.start()
    nodes = [event.seq for event in story.events if event.surface_op == "append"]
    (entry,) = story.entries
    assert entry.surface_op == Replace(nodes[1], nodes[-1])
    assert entry.sources == tuple(nodes[1:])
    assert entry.data.role == "user"
    assert entry.data.source.plugin == "slice:history"


def test_case_9_a_window_of_one_turn_keeps_that_turn_and_every_human_message_raw() -> None:
    story = SealedStory(keep_recent_turns=1)
    for turn in range(1, 11):
        story.short_turn(f"{turn:02}" * 30_000, f"answer {turn}")
    story.start()
    assert story.ranges == [f"{turn}-{turn}" for turn in range(1, 10)]
    humans = [
        event for event in story.events if isinstance(event, UserMessage) and event.is_original
    ]
    assert len(humans) == 10
    assert all(event.seq in story.view.surface for event in humans)
    assert not story.cited & {event.seq for event in humans}
    assert text_of(story.request()[-1].content) == "answer 10"


def test_case_10_view_chars_are_the_code_points_of_the_messages_as_json() -> None:
    story = SealedStory(keep_recent_turns=1)
    for turn in range(1, 11):
        story.short_turn("漢" * 60_000, f"answer {turn}")
    Story.start(story)
    plan = story.prestep.plan()
    story.seal()
    rows = msgspec.to_builtins([message for _, message in messages(story.view)])
    expected = len(json.dumps(rows, ensure_ascii=False, separators=(",", ":")))
    assert plan.view_chars == expected > 600_000
    assert 0 < plan.history_chars < plan.view_chars


def test_case_11_human_messages_stay_where_they_are_exactly_once() -> None:
    story = turns(4)
    for turn in range(1, 5):
        assert story.shown().count(f'"read file-{turn}.txt"') == 1
    humans = [event.seq for event in story.events if text_at(event).startswith("read ")]
    assert [seq for seq in story.view.surface.nodes if seq in humans] == humans
    assert not story.cited & set(humans)


def test_case_12_a_long_later_human_message_keeps_its_identity() -> None:
    story = SealedStory()
    story.short_turn()
    story.start()
    human = story.human("x" * 9_000)
    story.says("answer")
    story.end()
    for _ in range(3):
        story.short_turn()
        assert human.data in story.request()
    resumed = View.of(story.events)
    assert human.data in [message for _, message in messages(resumed)]


def test_case_13_a_cap_bounds_the_entry_and_leaves_the_human_message() -> None:
    story = SealedStory(entry_max_chars=256)
    story.start()
    human = story.human("h" * 10_000)
    story.says("a" * 3_000)
    story.end()
    story.start()
    (text,) = story.tape
    assert len(text) <= 256
    assert human.data in story.request()


def test_case_14_long_replies_are_whole_in_order_once_each() -> None:
    story = SealedStory()
    story.start()
    story.human()
    first, last = "first " * 3_000, "last " * 4_000
    story.says(first, calls={"c1": ("bash", {})})
    story.result("c1", "done")
    story.says(last)
    story.end()
    story.start()
    (text,) = story.tape
    assert len(text) > 8_000
    assert text.count(first) == text.count(last) == 1
    assert text.index(first) < text.index(last)


@pytest.mark.parametrize("body", ["  two blanks ", "\n\n\tindented\n", "a\n\n\nb \t\n"])
def test_case_15_blanks_around_a_reply_are_kept(body: str) -> None:
    story = SealedStory()
    story.short_turn(answer=body)
    story.start()
    mark = fingerprint(body, 12)
    assert f" @sha256:{mark}]\n{body}\n[end reply @sha256:{mark}]" in story.tape[0]


def test_case_16_each_reply_names_its_own_step_and_seq() -> None:
    story = SealedStory()
    story.start()
    story.human()
    one = story.says("one", calls={"c1": ("bash", {})})
    story.result("c1", "ok")
    two = story.says("two")
    story.end()
    story.start()
    assert f"[reply slice-turn-1-step-1-seq-{one.seq} @sha256:" in story.tape[0]
    assert f"[reply slice-turn-1-step-2-seq-{two.seq} @sha256:" in story.tape[0]
    assert "chars in sealed turn" not in story.tape[0]


def test_case_17_opening_and_closing_line_carry_the_same_twelve_digits() -> None:
    story = SealedStory()
    story.short_turn(answer="Reading the config first.")
    story.start()
    assert story.tape[0].count("@sha256:7a6df0d85781]") == 2


def test_case_18_an_empty_message_is_sealed_and_cited_and_later_turns_seal() -> None:
    story = SealedStory()
    story.start()
    story.human()
    empty = story.says()
    story.end()
    story.short_turn()
    story.short_turn()
    assert empty.seq in story.cited
    assert empty.seq not in story.view.surface
    assert story.ranges == ["1-1", "2-2"]
    assert story.view.turns.status[1] == "completed"


def test_case_19_messages_that_say_nothing_are_counted() -> None:
    story = SealedStory()
    story.start()
    story.human()
    story.says()
    story.says(Reasoning("only thoughts"))
    story.end()
    story.start()
    assert story.tape[0].endswith(
        "[turn 1]\n[2 assistant message(s) contained no visible text or tool calls]"
    )


def test_case_20_a_reply_of_blanks_is_a_reply() -> None:
    story = SealedStory()
    story.short_turn(answer=" \n ")
    story.start()
    assert "]\n \n \n[end reply" in story.tape[0]
    assert "no visible text" not in story.tape[0]


def test_case_21_an_empty_human_message_stays_raw_and_unmentioned() -> None:
    story = SealedStory()
    story.start()
    empty = story.human("")
    story.says("answer")
    story.end()
    story.start()
    assert empty.seq in story.view.surface
    assert story.tape[0].count("\n") == 4


def test_case_22_a_sealed_result_leaves_its_size_and_its_locator() -> None:
    story = SealedStory()
    result = story.reading_turn("a.txt", "eighteen chars yes")
    story.start()
    assert story.tape[0].endswith(
        f"\n[tool turn 1 step 1 seq {result.seq} · read · 18 chars · "
        f'expand_result({{"seq":{result.seq},"formatVersion":3}})]'
    )
    assert "eighteen chars yes" not in story.shown()


def test_case_23_the_seqs_in_locators_are_original_results() -> None:
    story = turns(4)
    story.start()
    seqs = [int(text.split('expand_result({"seq":')[2].split(",")[0]) for text in story.tape]
    assert len(seqs) == 4
    for seq in seqs:
        event = story.events[seq]
        assert isinstance(event, ToolResult)
        assert event.is_original


@pytest.mark.parametrize(
    ("results", "last"),
    [
        (6, "seq 19 · bash"),
        (7, "[+1 more tool results · seqs 22]"),
        (9, "[+3 more tool results · seqs 22, 25, 28]"),
        (30, ", 88, 91]"),
        (31, ", 88, 91, …]"),
    ],
)
def test_case_24_six_results_have_a_line_and_d1_names_up_to_24_more(
    results: int, last: str
) -> None:
    story = SealedStory()
    story.start()
    story.human()
    for call in range(results):
        story.says(calls={f"c{call}": ("bash", {})})
        story.result(f"c{call}", "out")
    story.end()
    story.start()
    assert story.tape[0].count("\n[tool turn 1 ") == min(results, 6)
    assert last in story.tape[0].splitlines()[-1]
    assert ("more tool results" in story.tape[0]) == (results > 6)
    if results > 6:
        assert f"[+{results - 6} more tool results · seqs 22" in story.tape[0]


def test_case_25_a_failing_call_beside_a_good_one() -> None:
    story = SealedStory()
    story.start()
    story.human()
    story.says(calls={"good": ("read", {}), "bad": ("bash", {})})
    story.result("good", "text")
    story.result("bad", "boom", error=True)
    blocks = [block for message in story.request()[-2:] for block in message.content]
    assert [(block.tool_call_id, bool(block.is_error)) for block in blocks] == [
        ("good", False),
        ("bad", True),
    ]
    story.says("one of them failed")
    story.end()
    story.start()
    assert len(story.entries) == 1
    assert story.tape[0].count("\n[tool turn 1 ") == 2


def test_case_26_a_folded_result_is_named_by_its_original() -> None:
    story = SealedStory()
    story.start()
    story.human()
    result = story.reads("a.txt", "o" * 5_000)
    view = story.view_of(story.view_of(result, "shorter view"), "short view")
    story.says("answer")
    story.end()
    story.start()
    assert view.seq in story.cited
    assert result.seq not in story.cited
    assert f"seq {result.seq} · read · 5000 chars · " in story.tape[0]


def test_case_26_a_result_replaced_by_what_cites_no_result_stands_for_itself() -> None:
    story = SealedStory()
    story.start()
    human = story.human()
    result = story.reads("a.txt", "o" * 50)
    content = (msgspec.structs.replace(result.data.message.content[0], content=()),)
    message = msgspec.structs.replace(result.data.message, content=content)
    other = story.add(
        ToolResult(
            data=msgspec.structs.replace(result.data, message=message),
            surface_op=Replace(result.seq, result.seq),
            source_event_seqs=(human.seq, result.seq),
        )
    )
    story.says("answer")
    story.end()
    story.start()
    assert f"seq {other.seq} · read · 0 chars · " in story.tape[0]


def text_at(event: object) -> str:
    return text_of(event.data.content) if isinstance(event, UserMessage) else ""


def test_the_entry_stays_readable_for_every_host() -> None:
    story = turns(1)
    story.start()
    (entry,) = story.entries
    assert type(entry) is UserMessage
    assert entry.ignorable is None


def test_only_the_first_step_of_a_turn_seals() -> None:
    story = turns(2)
    Story.start(story)
    before = len(story.events)
    assert story.prestep.before_step(2, time=0).entries == ()
    assert len(story.events) == before
    assert len(story.prestep.before_step(1, time=9).entries) == 1
    assert story.events[-1].time == 9
