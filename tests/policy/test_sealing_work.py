"""Work is proportional to what is new: events scanned, nodes walked, payloads hashed."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from sealed_story import SealedStory

TURNS = 5_000


@dataclass(frozen=True)
class Work:
    """What one turn added to the log, and what its sealing looked at."""

    events: int
    scanned: int
    walked: int
    hashed: int


def told(story: SealedStory, tell: Callable[[SealedStory, int], object]) -> list[Work]:
    """The work of each of many turns."""
    works, state, log = [], story.prestep.state, story.session.log
    for number in range(TURNS):
        before = len(log.events), state.evidence.scanned, state.walked, state.evidence.hashed
        tell(story, number)
        after = len(log.events), state.evidence.scanned, state.walked, state.evidence.hashed
        works.append(Work(*(b - a for a, b in zip(before, after, strict=True))))
    return works


def agent_turn(story: SealedStory, number: int) -> None:
    story.start()
    story.human()
    for at in range(2):
        story.reads(f"file-{number % 9}-{at}.txt", "body")
    story.says("answer")
    story.end()


def plain_turn(story: SealedStory, number: int) -> None:
    story.short_turn(f"question {number}", f"answer {number}")


def interrupted_turn(story: SealedStory, number: int) -> None:
    """A turn that can never be sealed: a call without a result."""
    story.start()
    story.human()
    story.says("on it", calls={f"c{number}": ("bash", {})})
    story.end("aborted")


def test_a_turn_of_a_long_session_costs_what_its_own_events_cost() -> None:
    story = SealedStory()
    works = told(story, agent_turn)
    assert len(story.entries) == TURNS - 1
    # Of each turn: the human message that stays, and the five nodes that are sealed.
    assert {work.walked for work in works[2:]} == {6}
    assert {work.hashed for work in works[1:]} == {2}
    assert {work.scanned for work in works[2:]} == {works[2].events}
    assert story.view.scanned == len(story.events)


def test_a_dialogue_that_is_never_sealed_is_not_walked_again() -> None:
    story = SealedStory(seal_only_if_shorter=True)
    works = told(story, plain_turn)
    assert story.entries == []
    # Two nodes of the last turn, and once more the one that was left raw the turn before.
    assert max(work.walked for work in works) <= 4
    assert story.prestep.state.walked <= 4 * TURNS


def test_turns_that_never_pair_are_not_walked_again() -> None:
    story = SealedStory()
    works = told(story, interrupted_turn)
    assert len(story.warnings) == TURNS - 1
    assert max(work.walked for work in works) <= 3


@pytest.mark.parametrize("keep", [1, 10])
def test_a_window_of_recent_turns_is_walked_and_nothing_behind_it(keep: int) -> None:
    story = SealedStory(keep_recent_turns=keep)
    works = told(story, agent_turn)
    assert len(story.entries) == TURNS - 1 - keep
    # The window and the turn that leaves it; the first human message of it was walked before.
    assert max(work.walked for work in works) <= 6 * (keep + 1)
    assert {work.hashed for work in works[1:]} == {2}


def test_changing_snapshots_cost_their_own_turn_only() -> None:
    from sealed_story import coming_snapshot

    def snapshot_turn(story: SealedStory, number: int) -> None:
        story.start(pending=coming_snapshot())
        story.human()
        story.snapshot(f"context {number}")
        story.says(f"answer {number}")
        story.end()

    story = SealedStory(seal_only_if_shorter=True)
    works = told(story, snapshot_turn)
    assert max(work.walked for work in works) <= 6


def test_a_repeated_plan_looks_at_what_is_undecided_and_hashes_nothing() -> None:
    story = SealedStory()
    for number in range(50):
        agent_turn(story, number)
    story.start()
    state = story.prestep.state
    before = state.walked, state.evidence.hashed
    for _ in range(10):
        story.seal()
    assert (state.walked, state.evidence.hashed) == before
