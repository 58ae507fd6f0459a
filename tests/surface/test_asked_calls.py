"""The call that a result answers by its id alone, as known when the result came."""

from slicetape.log.events import Event
from story import Story


def asked(story: Story, result: Event) -> list[tuple[str, int] | None]:
    return [(call.name, call.seq) if call else None for call in story.view.calls.asked[result.seq]]


def test_the_newest_call_of_an_id_is_asked_with_the_event_that_started_it() -> None:
    story = Story()
    story.start()
    story.says(calls={"a": ("read", {}), "b": ("bash", {})})
    started = {event.data.call_id: event.seq for event in story.events[-2:]}  # type: ignore[union-attr]
    both = story.results({"a": ("x",), "b": ("y",), "c": ("z",)})
    assert asked(story, both) == [("read", started["a"]), ("bash", started["b"]), None]
    story.says(calls={"a": ("grep", {})})
    later = story.result("a", "x")
    assert asked(story, later) == [("grep", story.events[-2].seq)]
    assert asked(story, both)[0] == ("read", started["a"])


def test_a_call_that_never_started_is_known_by_the_message_that_asks_for_it() -> None:
    story = Story()
    story.start()
    message = story.asks("a", "read")
    assert asked(story, story.result("a", "x")) == [("read", message.seq)]


def test_a_nested_call_belongs_to_the_event_that_started_its_outer_call() -> None:
    story = Story()
    story.start()
    story.says(calls={"r": ("run_code", {})})
    outer = story.events[-1].seq
    settled = story.nested("r", "s", "read", {}, "x")
    assert story.view.calls.roots[settled.seq].seq == outer
