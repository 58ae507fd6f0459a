"""What sealing never touches (edge cases 27 to 48)."""

import pytest

from sealed_story import SealedStory, common_prefix
from slicetape.errors import RecallError
from slicetape.log.events import Event, TurnEnd, UserMessage
from slicetape.log.messages import Image, Source, Text, ToolCall, ToolResultBlock, text_of
from slicetape.log.payloads import EndReason, TurnEndData
from slicetape.policy.seal import plan_seal
from slicetape.policy.settings import HistorySettings
from slicetape.policy.state import SealState
from story import PICTURE, Story

LEFT_OUT = {
    46: "cancellation between inner stages and sealing is the live loop's: no pre-step is called",
    47: "a rejected pre-step is the live loop's decision: it calls no sealing",
}


def tool_turn(story: Story, answer: str = "answer") -> tuple[Event, Event]:
    """A finished turn of one call and an answer; its first and last node after the human."""
    story.start()
    story.human(f"request {story.turn}")
    first = story.says(calls={f"c{story.turn}": ("bash", {})})
    story.result(f"c{story.turn}", f"output {story.turn}")
    last = story.says(answer)
    story.end()
    return first, last


def pairs_match(story: SealedStory) -> bool:
    blocks = [block for message in story.request() for block in message.content]
    calls = {block.id for block in blocks if isinstance(block, ToolCall)}
    return calls == {block.tool_call_id for block in blocks if isinstance(block, ToolResultBlock)}


def test_case_27_system_messages_stay_whatever_they_hold() -> None:
    story = SealedStory()
    systems = []
    for parts in (("system head",), ("an update",), ()):
        story.start()
        systems.append(story.system(*parts))
        story.human()
        story.says("answer")
        story.end()
    story.start()
    assert len(story.entries) == 3
    assert all(event.seq in story.view.surface for event in systems)
    assert not story.cited & {event.seq for event in systems}
    assert not any("system head" in text or "an update" in text for text in story.tape)


def test_case_28_a_replaced_head_leaves_the_entries_and_the_next_seal_lands_behind_them() -> None:
    story = SealedStory()
    head = story.system("old prompt")
    tool_turn(story)
    tool_turn(story)
    story.start()
    before = story.entries
    new = story.system("new prompt", replaces=head)
    story.human()
    story.says("answer")
    story.end()
    story.start()
    assert story.view.surface.nodes[0] == new.seq
    assert story.entries[:-1] == before
    places = [story.view.surface.position(entry.seq) for entry in story.entries]
    assert places == sorted(places)
    assert len(places) == 3


def test_case_29_a_prompt_update_within_history_keeps_its_role() -> None:
    story = SealedStory(keep_recent_turns=1)
    story.system("head")
    tool_turn(story)
    story.start()
    story.system("update text")
    story.human()
    story.says("answer")
    story.end()
    tool_turn(story)
    story.start()
    assert story.ranges == ["1-1", "2-2"]
    holders = [
        message.role for message in story.request() if "update text" in text_of(message.content)
    ]
    assert holders == ["system"]


def test_case_30_a_foreign_message_is_in_every_request_at_its_place_once() -> None:
    story = SealedStory()
    story.start()
    story.human()
    notice = story.notice("mind the gap")
    story.says("answer")
    story.end()
    for _ in range(3):
        tool_turn(story)
        assert story.request()[1] == notice.data
        assert story.shown().count("mind the gap") == 1


def test_case_31_an_unchanged_runtime_context_is_in_each_request_once() -> None:
    story = SealedStory()
    story.start()
    story.human()
    story.snapshot("context: blue")
    story.says("answer")
    story.end()
    for _ in range(3):
        tool_turn(story)
        assert story.shown().count("context: blue") == 1


def picture_turn(story: Story) -> UserMessage:
    story.start()
    human = story.human(Text("before"), PICTURE, Text("after"))
    story.says("I see")
    assert isinstance(human, UserMessage)
    return human


def test_case_32_a_picture_of_the_open_turn_stays_with_its_block_order() -> None:
    story = SealedStory()
    tool_turn(story)
    tool_turn(story)
    human = picture_turn(story)
    (shown,) = [message for message in story.request() if human.data.id == message.id]
    assert shown == human.data
    assert [type(block) for block in shown.content] == [Text, Image, Text]


def test_case_33_a_picture_of_a_finished_turn_stays_and_its_answer_seals() -> None:
    story = SealedStory()
    human = picture_turn(story)
    story.end()
    tool_turn(story)
    story.start()
    assert story.request()[0] == human.data
    assert story.ranges == ["1-1", "2-2"]
    assert "I see" in story.tape[0]


def test_case_34_another_plugins_replacement_stays_and_brings_nothing_back() -> None:
    story = SealedStory(keep_recent_turns=1)
    first, last = tool_turn(story, "the first answer")
    condensed = story.replaced(first, last, "condensed by others")
    tool_turn(story)
    tool_turn(story)
    story.start()
    assert story.ranges == ["2-2"]
    assert condensed.seq in story.view.surface
    assert condensed.seq not in story.cited
    assert "the first answer" not in story.shown()


def test_case_35_a_replacement_by_a_person_stays_and_recall_shows_the_originals() -> None:
    story = SealedStory(keep_recent_turns=1)
    first, last = tool_turn(story, "the first answer")
    edited = story.replaced(first, last, "as edited", source=Source(kind="user"))
    tool_turn(story)
    tool_turn(story)
    story.start()
    assert edited.seq in story.view.surface
    assert "as edited" in story.shown()
    assert "the first answer" in story.page(1)
    assert "as edited" not in story.page(1)


def test_case_36_a_turn_that_another_plugin_replaced_gets_no_entry() -> None:
    story = SealedStory(keep_recent_turns=2)
    spans = [tool_turn(story), tool_turn(story)]
    story.replaced(*spans[1], "condensed by others")
    for _ in range(4):
        tool_turn(story)
    story.prestep.history = HistorySettings(keep_recent_turns=1, seal_only_if_shorter=False)
    story.start()
    assert story.ranges == ["1-1", "3-3", "4-4", "5-5"]


def test_case_37_snapshot_replacement_and_picture_keep_their_order_uncited() -> None:
    story = SealedStory()
    story.start()
    story.human()
    snapshot = story.snapshot("live context")
    first = story.says(calls={"c": ("bash", {})})
    last = story.result("c", "out")
    foreign = story.replaced(first, last, "condensed")
    story.says("answer")
    story.end()
    human = picture_turn(story)
    story.end()
    tool_turn(story)
    tool_turn(story)
    story.start()
    kept = [snapshot.seq, foreign.seq, human.seq]
    assert [seq for seq in story.view.surface.nodes if seq in kept] == kept
    assert not story.cited & set(kept)
    assert pairs_match(story)


def split_turn(story: Story, call: str = "c1") -> None:
    """A finished turn whose call and result stand on two sides of a notice."""
    story.start()
    story.human()
    story.says(calls={call: ("bash", {})})
    story.notice("between")
    story.result(call, "out")
    story.end()


def test_case_38_a_notice_between_a_call_and_its_result_keeps_both_raw() -> None:
    story = SealedStory()
    split_turn(story)
    before = list(story.view.surface.nodes)
    Story.start(story)
    assert story.seal() == ()
    assert story.view.surface.nodes == before
    call, result = before[1], before[3]
    assert story.warnings == [
        f"slice tape: turn 1 (seq {seq}..{seq}) kept raw and cut the sealed span, "
        "unpaired tool call/result c1"
        for seq in (call, result)
    ]


def test_case_39_a_notice_behind_a_pair_splits_the_turn_and_never_the_pair() -> None:
    story = SealedStory()
    story.start()
    story.human()
    story.says(calls={"c1": ("bash", {})})
    story.result("c1", "out")
    notice = story.notice("behind the pair")
    story.says("answer")
    story.end()
    story.start()
    assert story.ranges == ["1-1", "1-1"]
    assert "[tool turn 1 " in story.tape[0]
    assert "[tool turn 1 " not in story.tape[1]
    one, two = story.entries
    nodes = story.view.surface.nodes
    assert nodes[-3:] == [one.seq, notice.seq, two.seq]
    assert story.warnings == []


def test_case_40_an_unanswered_call_keeps_its_turn_raw_and_warns_once() -> None:
    story = SealedStory()
    for turn in range(1, 9):
        if turn == 5:
            story.start()
            story.human()
            story.says("on it", calls={"open-call": ("bash", {})})
            story.end("aborted")
        else:
            tool_turn(story)
    story.start()
    assert story.ranges == ["1-1", "2-2", "3-3", "4-4", "6-6", "7-7", "8-8"]
    assert len(story.warnings) == 1
    assert all(text in story.warnings[0] for text in ("turn 5", "open-call", "cut the sealed span"))
    assert "on it" in story.shown()


def test_case_41_closed_turns_give_no_warning() -> None:
    story = SealedStory()
    for _ in range(4):
        tool_turn(story)
    story.start()
    assert story.warnings == []


def test_case_42_planning_without_a_sink_does_not_use_the_warning_up() -> None:
    story = SealedStory()
    split_turn(story)
    super(SealedStory, story).start()
    for _ in range(2):
        assert story.prestep.plan().warnings == ()
    state = SealState()
    assert plan_seal(story.view, state, story.prestep.history, warn=False).warnings == ()
    for _ in range(4):
        assert story.seal() == ()
    assert len(story.warnings) == 2, "one for each half"
    assert len(set(story.warnings)) == 2


def test_case_42_the_warning_comes_when_turns_were_planned_without_a_sink_in_between() -> None:
    story = SealedStory()
    story.start()
    story.human()
    story.says(calls={"c1": ("bash", {})})
    story.end("aborted")
    for _ in range(3):
        Story.start(story)
        story.prestep.plan()
        story.human()
        story.end("aborted")
    assert story.warnings == []
    Story.start(story)
    story.seal()
    story.seal()
    assert len(story.warnings) == 1


def test_a_result_without_its_call_is_unpaired_and_ids_are_listed_calls_first() -> None:
    story = SealedStory()
    story.start()
    story.human()
    story.says(calls={"z": ("bash", {}), "a": ("bash", {})})
    story.result("orphan", "out")
    story.end()
    story.start()
    assert story.warnings[0].endswith("unpaired tool call/result z, a, orphan")


def test_an_unpaired_group_ends_the_segment_of_earlier_turns() -> None:
    story = SealedStory(keep_recent_turns=3)
    for kind in ("whole", "open", "whole"):
        story.start()
        story.says("text", calls={f"c{story.turn}": ("bash", {})})
        if kind == "whole":
            story.result(f"c{story.turn}", "out")
        story.end()
    story.prestep.history = HistorySettings(seal_only_if_shorter=False)
    story.start()
    assert story.ranges == ["1-1", "3-3"]


def test_turns_without_a_raw_node_between_them_share_one_entry() -> None:
    story = SealedStory(keep_recent_turns=3)
    for _ in range(3):
        story.start()
        story.says(f"answer {story.turn}")
        story.end()
    story.prestep.history = HistorySettings(seal_only_if_shorter=False)
    story.start()
    assert story.ranges == ["1-3"]
    assert "· 3 turn(s) sealed ·" in story.tape[0]
    assert [line for line in story.tape[0].splitlines() if line.startswith("[turn ")] == [
        "[turn 1]",
        "[turn 2]",
        "[turn 3]",
    ]


def test_case_43_a_foreign_message_before_turn_1_moves_no_divergence() -> None:
    story = SealedStory()
    story.notice("n" * 700)
    earlier = story.request()
    for turn in range(1, 9):
        tool_turn(story)
        entries = len(story.entries)
        assert entries == turn - 1
        now = story.request()
        last = max(
            (at for at, m in enumerate(earlier) if m.source.plugin == "slice:history"), default=0
        )
        assert common_prefix(earlier, now) > last
        earlier = now


def test_case_44_a_human_message_before_any_turn_is_never_sealed_nor_found() -> None:
    story = SealedStory()
    human = story.human("zebra before all turns")
    tool_turn(story)
    tool_turn(story)
    story.start()
    assert human.seq in story.view.surface
    assert "zebra" not in story.page(1)
    assert '"zebra" · 0 hits' in story.recall("recall_search", query="zebra")
    with pytest.raises(RecallError, match="recall_turn needs"):
        story.page(0)


def test_case_45_a_human_message_between_turns_stays_raw_and_belongs_to_the_ended_one() -> None:
    story = SealedStory()
    tool_turn(story)
    between = story.human("between the turns")
    tool_turn(story)
    story.start()
    assert between.seq in story.view.surface
    assert "between the turns" in story.page(1)
    assert "between the turns" not in story.page(2)


def test_case_48_a_turn_that_failed_is_raw_until_the_next_turn_seals_it() -> None:
    story = SealedStory()
    story.start()
    story.human("too much")
    nodes = [story.reads("a.txt", "body").seq, story.says("half an answer").seq]
    story.add(TurnEnd(data=TurnEndData(1, EndReason("error"))))
    page = story.page(1)
    assert story.entries == []
    assert all(seq in story.view.surface for seq in nodes)
    story.start()
    assert story.ranges == ["1-1"]
    assert set(nodes) <= story.cited
    assert story.page(1) == page
