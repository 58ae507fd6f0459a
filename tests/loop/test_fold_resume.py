"""A session that is opened again: nothing shown is changed, and the counts are the same."""

from pathlib import Path

import pytest

from folded_story import FoldedStory, document, noisy_log, text_at
from slicetape.errors import StorageFailed
from slicetape.log.events import AssistantAttempt, Event
from slicetape.log.payloads import AttemptData
from slicetape.policy.settings import DigestSettings, HistorySettings


def started(**settings: object) -> FoldedStory:
    story = FoldedStory(**settings)  # type: ignore[arg-type]
    story.start()
    story.human("look into it")
    return story


def attempt(story: FoldedStory) -> Event:
    data = AttemptData(story.turn, story.step + 1)
    return story.add(AssistantAttempt(data=data))


class TestWhatWasShown:
    def test_case_212_raw_under_a_policy_that_pinned_it(self, tmp_path: Path) -> None:
        story = started(pin_steps=2, pin_max_chars=1_000_000)
        shown = story.uses("read", {"file_path": "a.md"}, document())
        story.says("seen")
        story.end()
        again = story.reopened(tmp_path, pin_steps=0)
        again.start()
        again.human("go on")
        new = again.uses("read", {"file_path": "b.md"}, document())
        again.says("done")
        assert not again.is_folded(shown)
        assert again.is_folded(new)

    @pytest.mark.parametrize("kind", ["error", "aborted", "interrupted"])
    def test_case_213_perhaps_in_a_continuation_that_failed(
        self, tmp_path: Path, kind: str
    ) -> None:
        story = started()
        sent = story.uses("read", {"file_path": "a.md"}, document())
        story.end(kind)
        again = story.reopened(tmp_path)
        again.start()
        again.says("done")
        assert not again.is_folded(sent)

    def test_case_213_in_an_attempt_that_gave_no_message(self, tmp_path: Path) -> None:
        story = started()
        sent = story.uses("read", {"file_path": "a.md"}, document())
        attempt(story)
        again = story.reopened(tmp_path)
        again.says("done")
        assert not again.is_folded(sent)

    def test_case_214_a_result_of_a_blocked_turn_was_not(self, tmp_path: Path) -> None:
        story = started()
        unsent = story.uses("read", {"file_path": "a.md"}, document())
        story.end("blocked")
        again = story.reopened(tmp_path, history=HistorySettings(keep_recent_turns=1))
        again.start()
        (made,) = [again.enter()]
        assert [view.sources for view in made.views] == [(unsent.seq,)]

    def test_case_215_with_a_window_of_nothing_it_is_sealed_instead(self, tmp_path: Path) -> None:
        story = started()
        text = document()
        unsent = story.uses("read", {"file_path": "a.md"}, text)
        story.end("blocked")
        again = story.reopened(tmp_path, history=HistorySettings())
        again.start()
        made = again.enter()
        assert made.views == ()
        (entry,) = made.entries
        assert f'expand_result({{"seq":{unsent.seq},"formatVersion":3}})' in again.text_at(
            entry.seq
        )
        assert "some prose" not in repr(again.request())


class TestCounts:
    def test_case_216_are_the_same_and_a_backed_off_resource_stays_whole(
        self, tmp_path: Path
    ) -> None:
        story = started()
        first, second = (story.uses("read", {"file_path": "a"}, document()) for _ in range(2))
        story.expands(seq=first.seq, formatVersion=3)
        story.expands(turn=1, step=2)
        story.uses("bash", {"command": "make"}, noisy_log())
        story.says("done")
        assert story.stats.backed_off
        story.end()
        again = story.reopened(tmp_path)
        again.start()
        again.human("go on")
        third = again.uses("read", {"file_path": "a"}, document())
        again.says("done")
        assert again.stats == story.stats
        assert again.stats.folded == 3
        assert not again.is_folded(third)
        assert again.view.original(second.seq) == second.seq

    def test_case_217_nested_copies_count_once(self, tmp_path: Path) -> None:
        story = started()
        seq = story.uses("read", {"file_path": "a"}, document()).seq
        story.says(calls={"r": ("run_code", {})})
        address = {"seq": seq, "formatVersion": 3}
        story.nested("r", "s", "expand_result", address, "copy")
        story.nested("r", "s", "expand_result", address, "the same execution, logged again")
        story.result("r", "ok")
        story.says("done")
        assert story.stats.expanded == 1
        again = story.reopened(tmp_path)
        again.enter()
        assert again.stats == story.stats

    def test_case_218_a_view_of_another_digest_policy_stays_and_is_not_counted(
        self, tmp_path: Path
    ) -> None:
        story = started()
        result = story.uses("read", {"file_path": "a"}, document())
        story.says("done")
        shown = story.shown(result)
        again = story.reopened(tmp_path, digest=DigestSettings(head_lines=3))
        again.expands(turn=1, step=1)
        again.says("done")
        assert again.shown(result) == shown
        assert (again.stats.folded, again.stats.expanded) == (0, 0)

    def test_an_expansion_counts_where_it_was_answered_even_beside_its_result(
        self, tmp_path: Path
    ) -> None:
        story = started()
        story.says(
            calls={
                "a": ("read", {"file_path": "a"}),
                "b": ("expand_result", {"turn": 1, "step": 1, "call": 1}),
                "c": ("expand_result", {"turn": 1, "step": 1, "call": 4}),
            }
        )
        story.result("a", document())
        story.result("b", "guessed before it was told")
        story.result("c", "a result that is still to come")
        story.result("a", document(name="later"))
        story.says("done")
        assert (story.stats.folded, story.stats.expanded) == (2, 1)
        again = story.reopened(tmp_path)
        again.enter()
        assert again.stats == story.stats

    def test_a_view_that_another_plugin_cut_later_is_still_ours(self, tmp_path: Path) -> None:
        story = started()
        result = story.uses("read", {"file_path": "a"}, document())
        story.says("done")
        view = story.views[0]
        story.view_of(view, "pruned")
        again = story.reopened(tmp_path)
        again.enter()
        assert again.shown(result) == "pruned"
        assert again.stats == story.stats


class TestFailures:
    def test_a_view_that_cannot_be_written_is_not_counted(self) -> None:
        story = started()
        result = story.uses("read", {"file_path": "a"}, document())
        log = story.session.log
        log.close()
        with pytest.raises(StorageFailed):
            story.enter()
        assert story.stats.folded == 0
        log._writable = True
        story.says("done")
        assert story.stats.folded == 1
        assert story.shown(result) != text_at(result)
