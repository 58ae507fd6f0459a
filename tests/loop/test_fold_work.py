"""The work of a step is that of its own events, however long the session is."""

from collections.abc import Iterator
from typing import Any

from folded_story import FoldedStory, document
from slicetape.log.events import Event


class Counted:
    """The events of a log, and how many were looked at."""

    def __init__(self, events: Any) -> None:
        self.events = events
        self.seen = 0

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __getitem__(self, at: Any) -> Any:
        self.seen += 1
        return self.events[at]


def test_a_step_looks_at_its_own_events_only() -> None:
    story = FoldedStory()
    counted = Counted(story.view.events)
    story.view.events = counted  # type: ignore[assignment]
    story.start()
    story.human("go")
    looks = []
    for at in range(60):
        before = counted.seen
        story.enter()
        looks.append(counted.seen - before)
        story.says(calls={"c": ("read", {"file_path": f"{at}.md"})}, enter=False)
        story.result("c", document(220))
    assert story.stats.folded == 59
    assert max(looks[2:]) == min(looks[2:]) < 40


def test_nothing_of_a_session_is_remembered_but_views_and_counts() -> None:
    story = FoldedStory()
    story.start()
    for at in range(40):
        story.uses("bash", {"command": f"echo {at}"}, "small")
        story.says(calls={"r": ("run_code", {})})
        story.nested("r", "s", "recall_turn", {"turn": "1"}, "page " * 1_000)
        story.result("r", "printed")
    story.enter()
    state = story.prestep.fold_state
    assert state._views == {}
    assert state.forwarded._texts == {}
