"""Runtime snapshots: the newest stays, older ones leave (edge cases 49 to 61)."""

import pytest

from sealed_story import SealedStory, coming_snapshot, common_prefix
from slicetape.errors import RecallError
from slicetape.log.events import ENTRY_PLUGIN, is_snapshot
from story import Story

NOTE = "[slice note · runtime-context snapshot superseded by a later one; not repeated here · verbatim: "


def snapshot_turn(story: SealedStory, text: str | None = None, *, tool: bool = True) -> None:
    """A finished turn; with `text`, its first step appends a runtime snapshot."""
    story.start(pending=coming_snapshot() if text is not None else ())
    story.human(f"request {story.turn}")
    if text is not None:
        story.snapshot(text)
    if tool:
        story.says(calls={f"c{story.turn}": ("bash", {})})
        story.result(f"c{story.turn}", "out")
    story.says(f"answer {story.turn}")
    story.end()


def shown_snapshots(story: Story) -> list[str]:
    return [story.text_at(seq) for seq in story.view.snapshots]


def test_case_49_only_the_newest_of_eight_snapshots_stays() -> None:
    story = SealedStory(keep_recent_turns=1)
    for turn in range(1, 9):
        snapshot_turn(story, f"context {turn}")
    story.start()
    assert shown_snapshots(story) == ["context 8"]
    assert len(story.entries) == 7
    assert not any(f"context {turn}" in story.shown() for turn in range(1, 8))


def test_case_50_a_note_stands_for_a_superseded_snapshot() -> None:
    story = SealedStory()
    for turn in range(1, 4):
        snapshot_turn(story, f"context {turn}")
    story.start()
    assert f'[turn 2]\n{NOTE}recall_turn({{"turn":"2"}})]\n' in story.tape[1]
    assert "context 2" not in story.shown()
    assert "context 2" in story.page(2)


def test_case_51_two_snapshots_of_one_part_share_one_note() -> None:
    story = SealedStory()
    story.start()
    story.human()
    story.snapshot("one")
    story.snapshot("two")
    story.says("answer")
    story.end()
    story.start(pending=coming_snapshot())
    assert story.tape[0].count("slice note") == 1
    assert "[slice note · 2 runtime-context snapshots superseded by a later one" in story.tape[0]


def test_case_52_a_pending_snapshot_supersedes_all_on_the_surface() -> None:
    story = SealedStory()
    snapshot_turn(story, "context 1")
    story.start(pending=coming_snapshot())
    assert shown_snapshots(story) == []
    assert NOTE in story.tape[0]
    other = SealedStory()
    snapshot_turn(other, "context 1")
    other.start()
    assert shown_snapshots(other) == ["context 1"]
    assert NOTE not in other.tape[0]


def test_case_52_a_pending_system_prompt_or_notice_supersedes_nothing() -> None:
    story = SealedStory()
    snapshot_turn(story, "context 1")
    message = coming_snapshot()[0]
    story.start(pending=[type(message)("n", "user", message.content, type(message.source)("user"))])
    assert shown_snapshots(story) == ["context 1"]


def test_case_53_a_snapshot_between_turns_belongs_to_the_turn_that_ended() -> None:
    story = SealedStory(keep_recent_turns=1)
    snapshot_turn(story)
    story.snapshot("between context")
    snapshot_turn(story, "newer")
    snapshot_turn(story)
    assert f'{NOTE}recall_turn({{"turn":"1"}})]' in story.tape[0]
    assert "between context" in story.page(1)
    assert "between context" in story.page(1, "dialogue")
    assert "between context" not in story.page(2)
    assert "between context" in story.recall(
        "recall_search", query="between context", kinds=["context"]
    )


def test_case_54_a_snapshot_before_any_turn_stays_though_superseded() -> None:
    story = SealedStory()
    story.snapshot("walrus context")
    snapshot_turn(story, "newer")
    snapshot_turn(story, "newest")
    story.start()
    assert shown_snapshots(story) == ["walrus context", "newest"]
    found = story.recall("recall_search", query="walrus", kinds=["context"])
    assert '"walrus" · 0 hits' in found


def test_case_55_a_snapshot_ahead_of_entries_stays_raw_for_good() -> None:
    story = SealedStory()
    snapshot_turn(story, "stable context")
    for _ in range(4):
        snapshot_turn(story)
    old = story.view.snapshots[0]
    before = story.request()
    last_entry = story.view.surface.position(story.view.entries[-1])
    snapshot_turn(story, "changed context")
    assert common_prefix(before, story.request()) > last_entry
    snapshot_turn(story)
    snapshot_turn(story)
    assert old in story.view.surface
    assert old not in story.cited
    assert shown_snapshots(story) == ["stable context", "changed context"]
    assert len(story.entries) >= 7


def test_case_56_with_a_window_of_three_the_snapshots_on_the_surface_stay_four() -> None:
    story = SealedStory(keep_recent_turns=3)
    counts = []
    for turn in range(1, 61):
        story.start(pending=coming_snapshot())
        story.human()
        story.snapshot(f"{turn:03}" * 1_000)
        story.says("answer")
        counts.append(len(story.view.snapshots))
        story.end()
    assert counts == [1, 2, 3, *[4] * 57]
    assert "060" * 1_000 in story.shown()
    assert "001" * 1_000 not in story.shown()


def test_case_57_with_no_window_exactly_the_newest_snapshot_stays() -> None:
    story = SealedStory()
    for turn in range(1, 61):
        entries = len(story.entries)
        snapshot_turn(story, f"context {turn}", tool=turn % 3 == 0)
        assert len(story.entries) == entries + (turn > 1)
        assert shown_snapshots(story) == [f"context {turn}"]
        (newest,) = story.view.snapshots
        assert is_snapshot(story.events[newest])
        assert newest not in story.cited


def test_case_58_requests_without_a_seal_between_them_only_grow() -> None:
    story = SealedStory()
    for turn in range(1, 4):
        snapshot_turn(story, f"context {turn}")
    story.start(pending=coming_snapshot())
    story.human()
    story.snapshot("context 4")
    earlier = story.request()
    for step in range(4):
        story.reads(f"{step}.txt", "body")
        assert story.request()[: len(earlier)] == earlier
        earlier = story.request()


def test_case_59_a_clear_marker_is_the_live_snapshot() -> None:
    story = SealedStory()
    snapshot_turn(story, "retired context")
    story.start(pending=coming_snapshot(""))
    story.human()
    clear = story.snapshot("")
    story.says("answer")
    story.end()
    snapshot_turn(story)
    story.start()
    assert story.view.snapshots == [clear.seq]
    assert "retired context" not in story.shown()


def test_case_60_a_snapshot_only_entry_of_an_older_build_stays_first() -> None:
    story = SealedStory()
    Story.start(story)
    old = story.snapshot("old context")
    entry = story.old_entry(old, old, "[slice tape v1 · turns 1-1 · 1 turn(s) sealed]\n[turn 1]")
    story.human()
    story.says("answer")
    story.end()
    story.start()
    added = story.entries[1:]
    assert len(added) == 1
    assert entry.seq not in story.cited
    assert story.view.entries == [entry.seq, added[0].seq]
    assert entry.data.source.plugin == ENTRY_PLUGIN


def test_case_61_a_superseded_snapshot_of_the_open_turn_waits_for_its_end() -> None:
    story = SealedStory()
    snapshot_turn(story)
    story.start()
    story.human()
    first = story.snapshot("first of turn 2")
    story.snapshot("second of turn 2")
    assert story.seal() == ()
    assert first.seq in story.view.surface
    story.says("answer")
    story.end()
    story.start()
    assert first.seq in story.cited


def test_a_page_of_a_turn_that_never_was_is_refused() -> None:
    story = SealedStory()
    snapshot_turn(story, "context 1")
    with pytest.raises(RecallError, match="no recorded turn 2"):
        story.page(2)
