"""Entries of older versions, and sessions that are closed and opened again (cases 62 to 73)."""

from pathlib import Path

import pytest

from sealed_story import SealedStory, common_prefix
from slicetape.log.events import Replace, is_entry, type_of
from slicetape.log.log import SessionLog
from slicetape.log.messages import Source
from slicetape.surface import project
from story import Story

LEFT_OUT = {
    71: "refusing a tampered request is the live loop's check of what it sends",
    72: "migrations renumber cited seqs and leave texts alone: tests/log/test_upgrade_*.py",
    73: "retries are the live loop's; sealing runs once, before the first attempt",
}

CHECKPOINT = "[slice checkpoint v1 · turns 1-1 · what an older build wrote]"
SESSION_TAPE = "# SESSION TAPE\nturn 1: something was said"


def turn(story: Story) -> None:
    story.reading_turn(f"{story.turn + 1}.txt", "body", f"answer {story.turn + 1}")


def with_legacy(text: str) -> tuple[SealedStory, int]:
    """A story whose first turn was sealed by an older build."""
    story = SealedStory(keep_recent_turns=1)
    story.start()
    story.human("request 1")
    answer = story.says("the old answer")
    story.end()
    legacy = story.old_entry(answer, answer, text)
    story.prestep.history = type(story.prestep.history)(seal_only_if_shorter=False)
    return story, legacy.seq


@pytest.mark.parametrize("text", [SESSION_TAPE, CHECKPOINT], ids=["case-62", "case-63"])
def test_cases_62_and_63_an_entry_of_an_older_build_stays_as_it_is(text: str) -> None:
    story, legacy = with_legacy(text)
    for _ in range(3):
        turn(story)
    story.start()
    assert story.tape[0] == text
    assert story.ranges[1:] == ["2-2", "3-3", "4-4"]
    assert story.view.entries[0] == legacy
    assert legacy not in story.cited
    assert not any("[earlier checkpoint covered" in line for line in story.tape)
    assert "the old answer" not in story.shown()


def test_case_64_the_first_difference_lies_behind_the_last_entry() -> None:
    story, _ = with_legacy(CHECKPOINT)
    for _ in range(3):
        turn(story)
    before = story.request()
    Story.start(story)
    assert len(story.seal()) == 1
    assert common_prefix(before, story.request()) == 7
    kinds = ["entry" if m.source.plugin else m.source.kind for m in story.request()[:7]]
    assert kinds == ["user", "entry", "user", "entry", "user", "entry", "user"]


def test_case_65_an_entry_under_a_cap_is_not_rendered_again_without_one(tmp_path: Path) -> None:
    story = SealedStory(entry_max_chars=256)
    story.short_turn(answer="a" * 2_000)
    story.start()
    (short,) = story.tape
    story.human()
    story.says("b" * 2_000)
    story.end()
    resumed = story.reopened(tmp_path)
    resumed.start()
    assert resumed.tape[0] == short
    assert len(short) <= 256
    assert "b" * 2_000 in resumed.tape[1]
    assert resumed.seal() == ()


def test_case_66_a_smaller_cap_holds_for_later_entries_only() -> None:
    story = SealedStory(entry_max_chars=2_000)
    story.short_turn(answer="a" * 900)
    story.start()
    story.prestep.history = type(story.prestep.history)(
        entry_max_chars=256, seal_only_if_shorter=False
    )
    story.human()
    story.says("b" * 900)
    story.end()
    before = story.tape
    story.start()
    assert story.tape[0] == before[0]
    assert "a" * 900 in story.tape[0]
    assert len(story.tape[1]) <= 256


def test_case_67_a_reloaded_session_has_the_same_messages_and_seals_only_what_is_new(
    tmp_path: Path,
) -> None:
    story = SealedStory()
    for _ in range(4):
        turn(story)
    resumed = story.reopened(tmp_path)
    assert resumed.request() == story.request()
    resumed.start()
    assert resumed.entries[:3] == story.entries
    assert resumed.ranges == ["1-1", "2-2", "3-3", "4-4"]
    replacements = [
        e for e in resumed.events[len(story.events) :] if isinstance(e.surface_op, Replace)
    ]
    assert len(replacements) == 1


def test_case_68_an_unchanged_context_stands_once_after_a_reload(tmp_path: Path) -> None:
    story = SealedStory()
    story.start()
    story.human()
    story.snapshot("the context")
    story.says("answer")
    story.end()
    resumed = story.reopened(tmp_path)
    turn(resumed)
    resumed.start()
    assert resumed.shown().count("the context") == 1
    assert resumed.ranges == ["1-1", "2-2"]


def test_cases_69_and_70_without_the_policy_a_session_goes_on_with_the_entries_it_has(
    tmp_path: Path,
) -> None:
    story = SealedStory()
    for _ in range(3):
        turn(story)
    path = tmp_path / "carried.jsonl"
    story.session.log.copy_to(path)
    for plain in (Story(SessionLog.open(path)), Story(story.session.log)):
        kinds = {type_of(event) for event in plain.events}
        turn(plain)
        turn(plain)
        assert plain.view.entries == story.view.entries
        assert sum(map(is_entry, plain.events)) == 2
        assert {type_of(event) for event in plain.events} == kinds
        assert project(plain.events) == tuple(plain.view.surface.nodes)


def test_a_resumed_session_seals_what_the_open_one_would_have_sealed(tmp_path: Path) -> None:
    story = SealedStory()
    story.reading_turn("a.txt", "one\n")
    story.reading_turn("a.txt", "two\n")
    resumed = story.reopened(tmp_path)
    story.start()
    resumed.start()
    assert resumed.tape == story.tape
    assert "≠ turn 1 step 1" in resumed.tape[1]


def test_a_warning_is_given_once_a_live_session_and_again_after_a_resume(tmp_path: Path) -> None:
    story = SealedStory()
    story.start()
    story.human()
    story.says(calls={"open": ("bash", {})})
    story.end("aborted")
    story.start()
    assert len(story.warnings) == 1
    resumed = story.reopened(tmp_path)
    resumed.seal()
    resumed.seal()
    assert resumed.warnings == story.warnings


class TestSealOnlyIfShorter:
    """D10: a segment whose entry would not be shorter stays raw, decided once."""

    def dialogue(self, turns: int) -> SealedStory:
        story = SealedStory(seal_only_if_shorter=True)
        for number in range(turns):
            story.short_turn(f"question {number}", f"answer {number}")
        story.start()
        return story

    def test_a_plain_dialogue_is_never_sealed(self) -> None:
        story = self.dialogue(5)
        assert story.entries == []
        assert all(f"answer {number}" in story.shown() for number in range(5))

    def test_each_decision_is_recorded_once(self) -> None:
        story = self.dialogue(5)
        left = [nodes for sealed in story.sealed for nodes in sealed.left]
        assert len(left) == len(set(left)) == 5
        assert story.seal() == ()
        assert story.sealed[-1].left == ()

    def test_a_segment_that_gets_shorter_is_sealed(self) -> None:
        story = SealedStory(seal_only_if_shorter=True)
        story.reading_turn("a.txt", "long text " * 500)
        story.start()
        assert story.ranges == ["1-1"]

    @pytest.mark.parametrize("spare", [0, 1])
    def test_an_entry_as_long_as_what_it_replaces_leaves_it_raw(self, spare: int) -> None:
        first = SealedStory()
        first.start()
        first.human()
        first.says(calls={"c1": ("bash", "")}, thinks="")
        first.result("c1", "x" * 1_000)
        first.end()
        first.start()
        length = len(first.tape[0])
        story = SealedStory(seal_only_if_shorter=True)
        story.start()
        story.human()
        story.says(calls={"c1": ("bash", "")}, thinks="t" * 20)
        # Reasoning 20, name 4 and the result; the size in the entry has as many digits.
        story.result("c1", "😀" * (length - 1 - 24 + spare))
        story.end()
        story.start()
        assert len(story.entries) == spare

    def test_the_decision_survives_a_resume_whatever_is_set_then(self, tmp_path: Path) -> None:
        story = self.dialogue(3)
        resumed = story.reopened(tmp_path, seal_only_if_shorter=False)
        assert resumed.seal() == ()
        resumed.says("answer of turn 4")
        resumed.end()
        resumed.start()
        assert resumed.ranges == ["4-4"]

    def test_a_fold_of_a_node_that_was_left_is_decided_anew(self) -> None:
        story = SealedStory(seal_only_if_shorter=True)
        story.start()
        story.human()
        story.says(calls={"c": ("bash", {})})
        result = story.result("c", "small")
        story.end()
        story.start()
        assert len(story.sealed[-1].left) == 1
        story.view_of(result, "much longer " * 100)
        story.end()
        story.start()
        # Its call stays raw for good, so the new node is alone and does not pair.
        assert story.entries == []
        assert len(story.warnings) == 1

    def test_a_foreign_record_of_the_same_kind_that_says_nothing_is_ignored(self) -> None:
        story = SealedStory(seal_only_if_shorter=True)
        story.aside("x/seal", {"left": "all of it"})
        story.aside("x/seal", {"other": 1})
        story.aside("x/other", {"left": list(range(50))})
        story.reading_turn("a.txt", "long text " * 500)
        story.start()
        assert story.ranges == ["1-1"]


def test_text_hidden_by_another_plugin_is_not_brought_back() -> None:
    story = SealedStory(keep_recent_turns=1)
    story.short_turn(answer="hidden answer")
    answer = story.events[story.view.surface.nodes[-1]]
    story.replaced(answer, answer, "by others", source=Source(kind="plugin", plugin="other"))
    turn(story)
    turn(story)
    story.start()
    assert "hidden answer" not in story.shown()


def test_a_new_entry_lands_behind_one_that_another_writer_removed() -> None:
    story = SealedStory()
    turn(story)
    turn(story)
    story.start()
    first, last = story.view.entries
    nodes = story.view.surface.nodes
    story.replaced(story.events[nodes[0]], story.events[last], "all of it, condensed")
    assert story.view.entries == []
    story.human()
    story.says("answer 3")
    story.end()
    story.start()
    assert story.ranges[-1] == "3-3"
    assert first not in story.view.surface
