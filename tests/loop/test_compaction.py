"""The host's compaction: when it acts, what it keeps, and what it writes."""

from collections.abc import Callable

import pytest

from compacted_story import TEXT, Compacted
from slicetape.log.codec import encode_event
from slicetape.log.events import (
    CompactionEnd,
    CompactionPrune,
    CompactionStart,
    CompactionSummary,
    SystemMessage,
    ToolResult,
    UserMessage,
)
from slicetape.log.messages import Text, ToolResultBlock, text_of
from slicetape.loop.compaction import PREAMBLE, PRUNED, CompactionSettings, Compactor, Route
from slicetape.loop.estimate import estimate_event
from story import PICTURE, Story


class TestThreshold:
    @pytest.mark.parametrize(("pressure", "acts"), [(799, False), (800, True), (801, True)])
    def test_it_acts_from_four_fifths_of_the_window_on(self, pressure: int, acts: bool) -> None:
        story = Compacted()
        story.start()
        story.talk(6)
        story.compact(lambda: pressure)
        assert bool(story.regions) == acts

    def test_nothing_is_written_below_the_threshold(self) -> None:
        story = Compacted()
        story.start()
        story.talk(3)
        before = story.kinds()
        story.compact()
        assert story.kinds() == before

    def test_a_prune_that_makes_room_asks_for_no_summary(self) -> None:
        story = Compacted(CompactionSettings(window=4_000))
        story.start()
        story.human()
        story.reads("a.txt", "x" * 14_000)
        story.compact()
        assert "CompactionPrune" in story.kinds()
        assert story.regions == []
        assert story.full() < 3_200

    def test_a_window_still_too_full_gets_one_more_round(self) -> None:
        story = Compacted(head=790)
        story.start()
        story.talk(8)
        story.compact()
        assert len(story.regions) == 2
        assert story.kinds().count("CompactionStart") == 2

    def test_no_second_round_follows_a_refused_one(self) -> None:
        story = Compacted(summary="long " * 1_000)
        story.start()
        story.talk(8)
        story.compact()
        assert len(story.regions) == 1


PRUNING = CompactionSettings(window=100, rounds=0)
"""Always full, and never asks for a summary."""


class TestPruning:
    def large(self, text: str) -> Compacted:
        story = Compacted(PRUNING)
        story.start()
        story.human()
        story.reads("a.txt", text)
        story.compact()
        return story

    def test_8192_code_points_stay_and_one_more_does_not(self) -> None:
        assert "CompactionPrune" not in self.large("x" * 8_192).kinds()
        assert "CompactionPrune" in self.large("x" * 8_193).kinds()

    def test_head_and_tail_are_counted_in_code_points(self) -> None:
        text = "".join(chr(0x1F600 + n % 60) for n in range(9_000))
        shown = self.large(text).shown()[-1]
        assert shown == text[:4_096] + PRUNED + text[-1_024:]

    def test_the_marker_is_the_hosts(self) -> None:
        assert PRUNED == "\n\n[... tool result middle pruned ...]\n\n"

    def test_the_newest_result_is_pruned_too(self) -> None:
        story = self.large("x" * 9_000)
        assert story.view.surface.nodes[-1] == len(story.events) - 1
        assert isinstance(story.events[-1], ToolResult)

    def test_the_log_says_what_was_pruned_before_it_is(self) -> None:
        story = self.large("x" * 9_000)
        prune, view = story.events[-2:]
        original = next(event for event in story.events if isinstance(event, ToolResult))
        assert isinstance(prune, CompactionPrune)
        assert prune.data.shadowed_seqs == (original.seq,)
        assert prune.data.shadowed_token_count == estimate_event(original)
        assert view.sources == (original.seq,)
        assert prune.time == view.time == 7

    def test_each_text_is_pruned_by_itself_and_pictures_stay(self) -> None:
        story = Compacted(PRUNING)
        story.start()
        story.says(calls={"a": ("read", {}), "b": ("read", {})})
        story.results({"a": ("x" * 9_000, PICTURE, "kept"), "b": ("y" * 8_000,)})
        story.compact()
        view = story.events[-1]
        assert isinstance(view, ToolResult)
        first, second = view.data.message.content
        assert isinstance(first, ToolResultBlock)
        assert isinstance(second, ToolResultBlock)
        assert len(first.content[0].text) == 4_096 + len(PRUNED) + 1_024  # type: ignore[union-attr]
        assert first.content[1:] == (PICTURE, Text("kept"))
        assert second.content == (Text("y" * 8_000),)

    def test_a_pruned_result_is_not_pruned_again(self) -> None:
        story = self.large("x" * 9_000)
        story.compact()
        assert story.kinds().count("CompactionPrune") == 1

    def test_a_result_that_left_the_surface_is_left_alone(self) -> None:
        story = Compacted(PRUNING)
        story.start()
        said = story.says(calls={"a": ("read", {})})
        result = story.result("a", "x" * 9_000)
        story.replaced(said, result, "another program was here")
        story.compact()
        assert "CompactionPrune" not in story.kinds()

    def test_results_from_before_the_compactor_are_pruned_too(self) -> None:
        story = Story()
        story.start()
        story.human()
        story.reads("a.txt", "x" * 9_000)
        compactor = Compactor(story.session, CompactionSettings(window=100), Route("", ""))
        compactor.before_step(time=0, pressure=lambda: 100, summarise=lambda _: "")
        assert any(isinstance(event, CompactionPrune) for event in story.events)


class TestRegion:
    @pytest.mark.parametrize(("size", "kept"), [(45, 4), (46, 3), (72, 2), (73, 2), (152, 1)])
    def test_the_tail_that_reaches_16_hundredths_of_the_window_stays(
        self, size: int, kept: int
    ) -> None:
        """Each message has `size` tokens, and eight for itself and its block: 160 are reached."""
        story = Compacted()
        story.start()
        story.talk(20, "four" * size)
        nodes = list(story.view.surface.nodes)
        story.compact(lambda: 900)
        assert story.regions[0] == tuple(nodes[:-kept])

    def test_the_newest_node_stays_however_large(self) -> None:
        story = Compacted()
        story.start()
        first = story.human("one")
        newest = story.human(TEXT * 9)
        story.compact()
        assert story.regions == [(first.seq,)]
        assert newest.seq in story.view.surface

    def test_leading_prompts_stay(self) -> None:
        story = Compacted()
        story.start()
        prompt = story.system("the rules")
        story.talk(9)
        story.compact()
        assert story.regions[0][0] == prompt.seq + 1
        assert isinstance(story.events[story.view.surface.nodes[0]], SystemMessage)

    @pytest.mark.parametrize("tell", [lambda _: None, lambda s: s.start(), lambda s: s.system("p")])
    def test_nothing_to_summarise_is_no_compaction(self, tell: Callable[[Story], object]) -> None:
        story = Compacted()
        tell(story)
        before = story.kinds()
        story.compact(lambda: 1_000)
        assert story.kinds() == before

    def test_a_call_goes_with_its_result(self) -> None:
        story = Compacted()
        story.start()
        story.talk(6)
        said = story.says(TEXT, calls={"a": ("read", {}), "b": ("read", {})})
        story.result("a", TEXT)
        story.result("b", "ok")
        story.compact()
        assert story.regions[0][-1] == said.seq - 1

    def test_a_chain_of_crossing_results_is_kept_whole(self) -> None:
        story = Compacted()
        story.start()
        story.talk(6)
        first = story.says(TEXT, calls={"a": ("read", {})})
        story.says(TEXT, calls={"b": ("read", {})})
        story.result("a", TEXT)
        story.result("b", "ok")
        story.compact()
        assert story.regions[0][-1] == first.seq - 1

    def test_a_result_without_a_call_keeps_nothing(self) -> None:
        story = Compacted()
        story.start()
        story.talk(7)
        story.says(calls={"a": ("read", {})})
        paired = story.result("a", "ok")
        story.talk(2)
        orphan = story.result("nobody", "lost")
        nodes = list(story.view.surface.nodes)
        story.compact()
        assert paired.seq in story.regions[0]
        assert story.regions[0] == tuple(nodes[: nodes.index(orphan.seq) - 2])


def test_an_emptied_node_has_no_tokens_by_the_hosts_estimate() -> None:
    story = Story()
    story.start()
    assert estimate_event(story.system()) == 0
    assert estimate_event(story.human(PICTURE)) == 8
    assert estimate_event(story.human("é😀")) == 4 + 4 + 1


class TestCommit:
    def test_a_summary_stands_where_the_region_stood(self) -> None:
        story = Compacted(summary="what was said")
        story.start()
        story.talk(9)
        nodes = list(story.view.surface.nodes)
        story.compact()
        region = story.regions[0]
        start, summary, shown, end = story.events[-4:]
        assert isinstance(start, CompactionStart)
        assert isinstance(summary, CompactionSummary)
        assert isinstance(shown, UserMessage)
        assert isinstance(end, CompactionEnd)
        assert start.data == end.data
        assert summary.data.shadowed_token_count == sum(
            estimate_event(story.events[seq]) for seq in region
        )
        assert shown.sources == (start.seq, summary.seq, *region)
        assert text_of(shown.data.content) == f"{PREAMBLE}what was said</compacted-summary>"
        assert len(shown.data.content) == 3
        assert shown.data.source.compaction_id == start.data.compaction_id
        assert story.view.surface.nodes == [shown.seq, *nodes[len(region) :]]
        assert story.compactor.count == 1
        assert b'"plugin":"compact"' in encode_event(shown)

    def test_a_summary_that_is_not_smaller_is_refused_and_the_log_says_so(self) -> None:
        story = Compacted(summary="long " * 1_000)
        story.start()
        story.talk(9)
        nodes = list(story.view.surface.nodes)
        story.compact()
        end = story.events[-1]
        assert isinstance(end, CompactionEnd)
        assert b"not smaller" in bytes(end.data.error)
        assert story.view.surface.nodes == nodes
        assert story.compactor.count == 0

    def test_an_earlier_summary_is_summarised_again(self) -> None:
        story = Compacted()
        story.start()
        story.talk(9)
        story.compact()
        first = story.view.surface.nodes[0]
        story.talk(9)
        story.compact()
        assert story.regions[1][0] == first

    def test_the_estimate_follows_the_surface(self) -> None:
        story = Compacted(summary="what was said")
        story.start()
        story.system("the rules")
        story.talk(9)
        story.reads("a", "x" * 9_000)
        story.compact()
        assert story.compactor.estimated == sum(
            estimate_event(story.events[seq]) for seq in story.view.surface.nodes
        )
