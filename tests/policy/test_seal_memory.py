"""What sealing remembers between plans never hides what changed since."""

from sealed_story import SealedStory, coming_snapshot
from slicetape.policy.seal import plan_seal
from slicetape.policy.state import SealState
from story import Story


def fresh(story: SealedStory, **more: object) -> tuple[object, ...]:
    """What a memory without a past would seal now."""
    return plan_seal(story.view, SealState(), story.prestep.history, **more).seals  # type: ignore[arg-type]


def test_an_unpaired_group_whose_call_another_plugin_replaced_is_looked_at_again() -> None:
    story = SealedStory()
    story.start()
    story.human()
    call = story.says("on it", calls={"open": ("bash", {})})
    answer = story.says("never mind")
    story.end("aborted")
    story.start()
    story.human()
    story.end("aborted")
    story.start()
    assert story.entries == []
    story.replaced(call, call, "the call, condensed")
    story.end()
    Story.start(story)
    (seal,) = fresh(story)
    assert seal.sources == (answer.seq,)
    assert [entry.sources for entry in story.seal()] == [(answer.seq,)]


def test_a_snapshot_between_a_call_and_its_result_holds_them_until_it_is_superseded() -> None:
    story = SealedStory()
    story.start()
    story.human()
    call = story.says(calls={"c1": ("bash", {})})
    snapshot = story.snapshot("live")
    result = story.result("c1", "out")
    story.end()
    story.start()
    assert story.entries == []
    assert len(story.warnings) == 2
    story.human()
    story.end("aborted")
    story.start(pending=coming_snapshot())
    (entry,) = story.entries
    assert entry.sources == (call.seq, snapshot.seq, result.seq)


def test_a_snapshot_ahead_of_the_last_entry_is_free_again_when_that_entry_is_replaced() -> None:
    story = SealedStory()
    story.start()
    story.human()
    snapshot = story.snapshot("live")
    story.human("steering")
    story.says("answer")
    story.end()
    story.start()
    (entry,) = story.entries
    story.human()
    story.snapshot("newer")
    story.end("aborted")
    story.start()
    assert story.entries == [entry], "the old snapshot is superseded now, and frozen"
    story.replaced(entry, entry, "condensed by others")
    story.end("aborted")
    Story.start(story)
    (seal,) = fresh(story)
    assert seal.sources == (snapshot.seq,)
    assert [made.sources for made in story.seal()] == [(snapshot.seq,)]


def test_a_snapshot_that_is_live_again_is_protected_again() -> None:
    story = SealedStory()
    story.short_turn()
    Story.start(story)
    snapshot = story.snapshot("the one")
    story.end()
    Story.start(story)
    superseded = story.prestep.plan(coming_snapshot())
    assert snapshot.seq in {seq for seal in superseded.seals for seq in seal.sources}
    live = story.prestep.plan()
    assert snapshot.seq not in {seq for seal in live.seals for seq in seal.sources}
    assert story.prestep.plan(coming_snapshot()).seals == superseded.seals


def test_a_wider_and_a_narrower_window_see_every_turn_they_should() -> None:
    story = SealedStory(keep_recent_turns=3)
    for number in range(5):
        story.short_turn(answer=f"answer {number}")
    Story.start(story)
    for keep in (3, 0, 4, 1, 0):
        settings = type(story.prestep.history)(keep_recent_turns=keep, seal_only_if_shorter=False)
        plan = plan_seal(story.view, story.prestep.state, settings)
        assert plan.seals == plan_seal(story.view, SealState(), settings).seals


def test_history_chars_leave_out_what_stands_ahead_of_the_last_entry() -> None:
    story = SealedStory()
    story.start()
    story.human()
    story.says("raw for good", calls={"open": ("bash", {})})
    story.end("aborted")
    assert story.prestep.plan().history_chars > 0
    story.short_turn()
    story.start()
    assert len(story.entries) == 1
    plan = story.prestep.plan()
    assert plan.history_chars == 0
    assert plan.view_chars > 0


def test_the_last_entry_is_the_last_on_the_surface_whatever_was_written_last() -> None:
    story = SealedStory()
    story.short_turn()
    story.start()
    story.human()
    old = story.snapshot("live in turn 2")
    story.human("steering")
    story.says("answer")
    story.end()
    story.start()
    first = story.events[story.view.surface.nodes[0]]
    late = story.old_entry(first, first, "[slice checkpoint v1 · turns 1-1 · by another writer]")
    assert story.view.entries[0] == late.seq == max(story.view.entries)
    story.human()
    story.snapshot("newer")
    story.end("aborted")
    story.start()
    assert old.seq in story.view.surface
    assert fresh(story) == ()
