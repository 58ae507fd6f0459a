"""Rules of sealing that the golden plans do not pin, each told by hand."""

import pytest

from sealed_story import SealedStory, coming_snapshot
from slicetape.log.messages import Source, ToolResultBlock
from slicetape.policy.entry import entry_range, parts_of
from slicetape.policy.fingerprint import fingerprint
from slicetape.policy.header import turn_range
from slicetape.surface.protect import live_snapshot
from story import Story


def call_turn(story: Story, tool: str, id: str = "c1") -> int:
    """A finished turn of one call and its result; the seq of the result."""
    story.start()
    story.human()
    story.says(calls={id: (tool, {})})
    result = story.result(id, "out")
    story.end()
    return result.seq


class TestNamesOfTools:
    def test_d2_a_reused_id_keeps_the_tool_of_its_own_turn_and_step(self) -> None:
        story = SealedStory(keep_recent_turns=1)
        first = call_turn(story, "bash")
        second = call_turn(story, "grep")
        story.prestep.history = type(story.prestep.history)(seal_only_if_shorter=False)
        story.start()
        # The reference keys names by the id alone and would print grep for both.
        assert f"seq {first} · bash · " in story.tape[0]
        assert f"seq {second} · grep · " in story.tape[1]

    def test_the_newest_run_of_an_id_within_its_step_wins(self) -> None:
        story = SealedStory()
        story.start()
        story.says(calls={"c1": ("bash", {})})
        story.called("c1", "python", {})
        story.result("c1", "out")
        story.end()
        story.start()
        assert " · python · " in story.tape[0]

    def test_an_id_unknown_in_its_step_takes_the_newest_run_of_that_id(self) -> None:
        story = SealedStory(keep_recent_turns=3)
        call_turn(story, "bash")
        call_turn(story, "grep")
        story.start()
        story.says(calls={})
        orphan = story.result("c1", "out")
        assert [story.view.calls.tool_name(3, 1, "c1")] == ["grep"]
        story.end()
        (part,) = parts_of(story.view, [orphan.seq])
        assert part.results == (orphan.seq,)

    def test_a_call_that_never_started_is_a_tool_without_a_name(self) -> None:
        story = SealedStory()
        story.start()
        said = story.says(calls={})
        assert said.data.message.content == ()
        story.asks("c9", "bash")
        story.result("c9", "never started", error=True)
        story.end()
        story.start()
        assert " · tool · 13 chars · " in story.tape[0]

    def test_distinct_names_of_one_event_are_listed_in_order(self) -> None:
        story = SealedStory()
        story.start()
        calls = {"c1": ("grep", {}), "c2": ("bash", {}), "c3": ("grep", {})}
        story.says(calls=calls)
        story.results({"c1": ("aa",), "c2": ("b",), "c3": ("c", "dd")})
        story.end()
        story.start()
        assert " · grep, bash · 6 chars · " in story.tape[0]


class TestTurns:
    def test_a_turn_end_closes_only_its_own_turn(self) -> None:
        story = SealedStory()
        story.start(1)
        story.end(turn=9)
        human = story.human("still turn 1")
        assert story.view.turns.open == 1
        assert story.view.turns.owner(human) == 1
        story.end(turn=1)
        assert story.view.turns.owner(story.human("between")) == 1

    def test_after_a_foreign_turn_end_a_message_between_turns_goes_to_the_latest_end(self) -> None:
        story = Story()
        story.start(3)
        story.end(turn=3)
        story.end(turn=2)
        assert story.view.turns.owner(story.human()) == 2

    def test_the_window_counts_from_the_largest_turn_that_ended_not_the_latest(self) -> None:
        story = SealedStory(keep_recent_turns=2)
        for number in (7, 3):
            story.start(number)
            story.says(f"answer {number}")
            story.end()
        story.start(8)
        # 7 is the largest, so 6 and below are old; counted from the latest, 3, none would be.
        assert story.ranges == ["3-3"]

    def test_a_message_of_a_turn_named_0_is_never_sealed(self) -> None:
        story = SealedStory()
        said = story.says("of no turn", step=1)
        story.short_turn()
        story.start()
        assert said.seq in story.view.surface
        assert story.ranges == ["1-1"]

    def test_only_what_was_logged_before_the_last_turn_end_is_sealed(self) -> None:
        story = SealedStory()
        story.start()
        story.human()
        result = story.reads("a.txt", "long")
        story.end()
        Story.start(story)
        view = story.view_of(result, "pruned in turn 2")
        story.seal()
        # The view is newer than the last turn/end, so its call stands alone, and both stay.
        assert story.entries == []
        assert len(story.warnings) == 1
        story.human()
        story.end()
        story.start()
        assert story.ranges == ["1-1"]
        assert view.seq in story.cited


class TestSnapshots:
    def test_a_superseded_snapshot_behind_the_last_turn_end_is_sealed(self) -> None:
        story = SealedStory()
        story.short_turn()
        between = story.snapshot("logged between the turns")
        story.start(pending=coming_snapshot())
        assert between.seq in story.cited
        assert 'recall_turn({"turn":"1"})' in story.tape[0]

    def test_the_live_snapshot_is_the_last_in_surface_order_not_the_newest_seq(self) -> None:
        story = Story()
        story.start()
        early = story.snapshot("early")
        late = story.snapshot("late")
        again = story.replaced(early, early, "early, written again", source=late.data.source)
        assert again.seq > late.seq
        assert live_snapshot(story.view) == late.seq

    def test_a_note_for_snapshots_of_no_turn_points_to_the_search(self) -> None:
        story = SealedStory()
        old = story.snapshot("before any turn")
        (part,) = parts_of(story.view, [old.seq])
        from slicetape.policy.entry import note

        assert note(part) == (
            "[slice note · runtime-context snapshot superseded by a later one; not repeated here · "
            'verbatim: recall_search({"query":"...","kinds":["context"]})]'
        )


class TestRangesOfOldEntries:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("[slice tape v1 · turns 3-5 · 3 turn(s) sealed · …]\n[turn 3]", (3, 5)),
            ("[slice checkpoint v1 · turns 12-40 · anything", (12, 40)),
            (" [slice tape v1 · turns 3-5", None),
            ("[slice tape v2 · turns 3-5", None),
            ("[slice tape v1 · turns 3-", None),
            ("[slice tape v1 · turns ٣-٥", None),
            ("# SESSION TAPE turns 3-5", None),
        ],
    )
    def test_a_header_of_either_form_gives_the_range(
        self, text: str, expected: tuple[int, int] | None
    ) -> None:
        assert turn_range(text) == expected

    def legacy(self, text: str) -> tuple[Story, int]:
        """An entry over two turns that an older build wrote, and one over that one."""
        story = Story()
        story.short_turn()
        story.short_turn()
        nodes = story.view.surface.nodes
        inner = story.old_entry(story.events[nodes[1]], story.events[nodes[3]], text)
        return story, inner.seq

    def test_without_a_header_the_turns_of_the_cited_originals_count(self) -> None:
        story, entry = self.legacy("# SESSION TAPE")
        assert entry_range(story.view, entry) == (1, 2)

    def test_a_header_wins_over_what_is_cited(self) -> None:
        story, entry = self.legacy("[slice checkpoint v1 · turns 4-6 · …]")
        assert entry_range(story.view, entry) == (4, 6)

    def test_cited_entries_are_followed_and_other_replacements_are_not(self) -> None:
        story, entry = self.legacy("# SESSION TAPE")
        outer = story.old_entry(story.events[entry], story.events[entry], "# SESSION TAPE, again")
        assert entry_range(story.view, outer.seq) == (1, 2)
        other = story.replaced(
            story.events[outer.seq], story.events[outer.seq], "x", source=Source(kind="plugin")
        )
        last = story.old_entry(other, other, "# SESSION TAPE over a foreign one")
        assert entry_range(story.view, last.seq) == (0, 0)

    def test_an_entry_among_rendered_nodes_is_one_line(self) -> None:
        story, entry = self.legacy("# SESSION TAPE")
        from slicetape.policy.entry import Run, render
        from slicetape.policy.observe import Evidence

        said = story.says("after")
        parts = parts_of(story.view, [entry, said.seq])
        lines = render(Run(story.view, Evidence(), parts)).split("\n")
        assert lines[1] == "[earlier checkpoint covered turns 1-2; recall_turn for details]"
        assert lines[2] == "[turn 2]"


def test_d3_a_lone_surrogate_is_hashed_as_one_replacement_character() -> None:
    story = SealedStory()
    story.short_turn(answer="a\ud800b")
    story.start()
    mark = fingerprint("a�b", 12)
    assert f"@sha256:{mark}]\na\ud800b\n[end reply @sha256:{mark}]" in story.tape[0]
    assert fingerprint("a\ud800\udc00b", 12) == fingerprint("a\U00010000b", 12)
    assert fingerprint("\udc00\ud800", 12) == fingerprint("��", 12)


def test_a_step_may_answer_in_any_order_and_still_pairs() -> None:
    story = SealedStory()
    story.start()
    story.says(calls={"a": ("bash", {}), "b": ("bash", {})})
    story.result("b", "second first")
    result = story.result("a", "then the first")
    assert isinstance(result.data.message.content[0], ToolResultBlock)
    story.end()
    story.start()
    assert story.ranges == ["1-1"]
