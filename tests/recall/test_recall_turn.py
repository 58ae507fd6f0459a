"""recall_turn: one turn as it was said."""

import json

import pytest

from recall_story import SNAPSHOT, Story, result
from slicetape.log.events import Replace
from slicetape.log.messages import Source
from slicetape.recall.schemas import schemas

DIALOGUE_OF_1 = """\
[sealed turn slice-turn-1 · status completed · 1 user message(s) · 1 assistant step(s) with text · \
view dialogue (default: text once, tool results as locators; full record with reasoning and tool \
output: recall_turn({"turn":"1","view":"full"})) · historical record: establishes what was said, \
not current world state]

## User request (verbatim)
read it

## Assistant response (verbatim)
[tool step 1 seq 4 · read_config · 11 chars · expand_result({"seq":4,"formatVersion":3})]
[step 2]
it says 36
"""


@pytest.fixture
def story() -> Story:
    told = Story()
    told.start(1)
    told.heard("read it")
    told.said(1, 1, think="hmm", calls=[("c1", "read_config", "{}")])
    told.returned(1, 1, result("c1", "limit: 36\nx"))
    told.said(1, 2, "it says 36", think="aha")
    told.end(1)
    return told


def records(page: str) -> list[dict[str, object]]:
    return json.loads(page.split("recorded file metadata)\n")[1])


def test_case_105_the_dialogue_page_says_each_text_once(story: Story) -> None:
    assert story.ask("recall_turn", turn="1") == DIALOGUE_OF_1


def test_case_106_the_dialogue_view_is_the_default(story: Story) -> None:
    assert story.ask("recall_turn", turn="1", view="dialogue") == DIALOGUE_OF_1


def test_case_107_the_full_view_holds_every_record() -> None:
    story = Story()
    story.start(1)
    story.heard("read it")
    story.said(1, 1, think="hmm", calls=[("c1", "read", "{}")])
    story.returned(1, 1, result("c1", "x" * 36_000))
    story.said(1, 2, "done")
    story.end(1)
    full, dialogue = (
        story.ask("recall_turn", turn="1", view="full"),
        story.ask("recall_turn", turn="1"),
    )
    assert [record["type"] for record in records(full)] == [
        "user/message",
        "assistant/message",
        "tool/call",
        "tool/result",
        "assistant/message",
    ]
    assert "hmm" in full
    assert "[tool step" not in full
    assert len(full) > 50 * len(dialogue)


def test_case_108_the_description_prices_the_full_view() -> None:
    told = {tool["name"]: tool["description"] for tool in schemas()}["recall_turn"]
    assert 'view "dialogue" (default)' in told
    assert "two orders of magnitude larger" in told
    assert '"full" (default)' not in told


def test_case_109_a_plugin_message_is_generated_context() -> None:
    story = Story()
    story.start(1)
    story.heard("ask")
    story.heard("injected", source=Source(kind="plugin", plugin="notes"))
    story.said(1, 1, "answer")
    story.end(1)
    page = story.ask("recall_turn", turn="1")
    assert "1 user message(s) · 1 generated context message(s) ·" in page
    assert "## User request (verbatim)\nask\n\n" in page
    assert page.endswith(
        "answer\n\n\n## Generated context recorded during this turn (verbatim)\n[notes]\ninjected"
    )


@pytest.mark.parametrize("view", ["dialogue", "full"])
def test_cases_110_and_111_a_snapshot_is_context_of_its_own_turn(view: str) -> None:
    story = Story()
    story.start(1)
    snapshot = story.heard("facts", source=SNAPSHOT)
    story.heard("ask one")
    story.said(1, 1, "one")
    story.end(1)
    story.heard("facts", source=SNAPSHOT, op=Replace(snapshot, snapshot), cites=(snapshot,))
    story.turn(2, "ask two", "two")
    first, second = (story.ask("recall_turn", turn=turn, view=view) for turn in "12")
    assert "## User request (verbatim)\nask one\n\n" in first
    assert "(verbatim)\n[@deepseek-ai/dsh-system-prompt]\nfacts" in first
    assert "1 generated context message(s)" in first
    assert "Generated context" not in second
    assert "one" not in second.split("]", 1)[1]


def test_case_112_an_assistant_event_belongs_to_the_turn_it_carries() -> None:
    story = Story()
    story.start(1)
    story.heard("ask")
    story.said(2, 1, "early")
    story.end(1)
    assert "early" not in story.ask("recall_turn", turn="1")
    assert "early" in story.ask("recall_turn", turn="2")


@pytest.mark.parametrize("view", ["dialogue", "full"])
def test_case_113_text_between_turns_belongs_to_the_turn_that_ended(view: str) -> None:
    story = Story()
    story.turn(1, "ask one", "one")
    story.heard("  näch­ste 折叠  ")
    story.turn(2, "ask two", "two")
    first, second = (story.ask("recall_turn", turn=turn, view=view) for turn in "12")
    assert "ask one\n\n  näch­ste 折叠  \n" in first
    assert "折叠" not in second
    if view == "full":
        assert len(records(first)) == 3


def test_case_114_a_steering_message_stands_on_its_turn_only() -> None:
    story = Story()
    story.turn(1, "one", "1")
    story.start(2)
    story.heard("two")
    story.said(2, 1, "so")
    story.heard("no, steer")
    story.said(2, 2, "ok")
    story.end(2)
    assert "steer" not in story.ask("recall_turn", turn="1")
    assert "two\n\nno, steer" in story.ask("recall_turn", turn="2")


def test_case_115_text_before_the_first_turn_is_on_no_page() -> None:
    story = Story()
    story.heard("preface")
    story.turn(1, "one", "1")
    assert "preface" not in story.ask("recall_turn", turn="1")
    assert story.ask("recall_turn", turn="0").startswith("ERROR recall_turn needs")


def test_case_116_empty_messages_are_said_to_be_empty() -> None:
    story = Story()
    story.turn(1, "", "")
    page = story.ask("recall_turn", turn="1")
    assert "1 user message(s) · 0 assistant step(s) with text" in page
    assert "(no user text recorded in this message)" in page
    assert "[step 1]\n(no assistant text recorded for this step)" in page


def test_case_117_blank_texts_are_kept_and_counted() -> None:
    story = Story()
    story.turn(1, " \t", "  ")
    page = story.ask("recall_turn", turn="1")
    assert "1 user message(s) · 1 assistant step(s) with text" in page
    assert "## User request (verbatim)\n \t\n" in page
    assert "[step 1]\n  \n" in page


@pytest.mark.parametrize("view", ["dialogue", "full"])
def test_case_118_the_original_is_shown_and_never_its_replacement(story: Story, view: str) -> None:
    before = story.ask("recall_turn", turn="1", view=view)
    story.replaced(4, "[read_config · folded]")
    assert story.ask("recall_turn", turn="1", view=view) == before


def test_case_119_each_block_has_its_own_line() -> None:
    story = Story()
    story.start(1)
    story.said(1, 1, calls=[("a", "bash", "{}"), ("b", "read", "{}"), ("c", "grep", "{}")])
    story.returned(1, 1, result("a", "1"), result("b", "22", "", "4"), result("c", ""))
    story.end(1)
    lines = [line for line in story.ask("recall_turn", turn="1").split("\n") if "[tool" in line]
    assert lines == [
        '[tool step 1 seq 5 block 1 · bash · 1 chars · expand_result({"seq":5,"formatVersion":3,"block":1})]',
        '[tool step 1 seq 5 block 2 · read · 4 chars · expand_result({"seq":5,"formatVersion":3,"block":2})]',
        '[tool step 1 seq 5 block 3 · grep · 0 chars · expand_result({"seq":5,"formatVersion":3,"block":3})]',
    ]


def test_case_120_a_failed_turn_shows_its_status_and_records() -> None:
    story = Story()
    story.start(1)
    story.said(1, 1, calls=[("a", "bash", '{"command":"x"}')])
    story.returned(1, 1, result("a", "boom", error=True))
    story.end(1, "error")
    page = story.ask("recall_turn", turn="1", view="full")
    assert "· status error ·" in page
    assert '"arguments":"{\\"command\\":\\"x\\"}"' in page
    assert '"boom"' in page


@pytest.mark.parametrize("turn", ["slice-turn-1", " 1 ", "01"])
def test_case_121_a_turn_is_named_in_several_ways(story: Story, turn: str) -> None:
    assert story.ask("recall_turn", turn=turn) == DIALOGUE_OF_1


@pytest.mark.parametrize("turn", ["0", "-1", "x", "", "1.0", "slice-turn-", "9" * 5000, "１"])
def test_case_121_other_names_are_rejected(story: Story, turn: str) -> None:
    assert story.ask("recall_turn", turn=turn) == (
        'ERROR recall_turn needs {"turn": "slice-turn-N"} (or just "N")'
    )


def test_case_122_an_unknown_turn_lists_the_turns_that_ended(story: Story) -> None:
    empty = Story()
    assert empty.ask("recall_turn", turn="7") == (
        "ERROR no recorded turn 7 in this session (no sealed turns yet)"
    )
    for turn in range(2, 30):
        story.turn(turn, "a", "b")
    listed = ", ".join(map(str, range(1, 21)))
    assert story.ask("recall_turn", turn="99") == (
        f"ERROR no recorded turn 99 in this session (sealed turns: {listed})"
    )


def test_case_123_the_open_turn_is_served() -> None:
    story = Story()
    story.start(1)
    page = story.ask("recall_turn", turn="1")
    assert "· status open · 0 user message(s) · 0 assistant step(s)" in page
    assert "(no user text recorded for this turn)" in page
    assert "(no assistant text recorded for this turn)" in page


def test_case_124_nested_dispatches_stand_in_the_full_view() -> None:
    story = Story()
    story.start(1)
    story.said(1, 1, calls=[("c1", "run_code", "{}")])
    story.dispatched("c1", "read", '{"path":"a"}', "inner text")
    story.returned(1, 1, result("c1", "outer"))
    story.end(1)
    story.turn(2, "next", "turn")
    full = story.ask("recall_turn", turn="1", view="full")
    assert [record["type"] for record in records(full)] == [
        "assistant/message",
        "tool/call",
        "tool/ptc-dispatch-start",
        "tool/ptc-dispatch",
        "tool/result",
    ]
    assert "inner text" in full
    assert "inner text" not in story.ask("recall_turn", turn="1")
    assert "inner text" not in story.ask("recall_turn", turn="2", view="full")


def test_a_source_without_a_plugin_is_named_by_its_kind() -> None:
    story = Story()
    story.start(1)
    story.heard("a", source=Source(kind="compaction"))
    story.heard("b", source=Source(kind=""))
    assert story.ask("recall_turn", turn="1").endswith("[compaction]\na\n[generated]\nb")


def test_records_are_shown_as_they_were_logged() -> None:
    story = Story()
    story.turn(1, "half \ud83d of it", "b")
    assert '"text":"half \\ud83d of it"' in story.ask("recall_turn", turn="1", view="full")
    line = (
        b'{"type":"user/message", "seq":1, "time":1, "data":{ "more" : 1e2 }, "surfaceOp":"append"}'
    )
    page = story.ask_of(story.recall(line=lambda seq: line), "recall_turn", turn="1", view="full")
    assert '{"type":"user/message","data":{ "more" : 1e2 }}' in page


def test_several_newlines_at_the_end_become_one() -> None:
    story = Story()
    story.turn(1, "ask", "answer\n\n\n")
    assert story.ask("recall_turn", turn="1").endswith("answer\n")
    assert not story.ask("recall_turn", turn="1").endswith("\n\n")
