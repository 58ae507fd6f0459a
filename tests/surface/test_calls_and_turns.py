"""Names and places of calls, members of turns, and a session kept in step with its log."""

import pytest

from slicetape.errors import InvalidEvent
from slicetape.log.events import Event, Replace
from slicetape.surface import Edit, View, message_at, messages
from story import Story


def test_a_result_knows_its_place_among_those_of_its_step() -> None:
    story = Story()
    story.start()
    story.says(calls={"a": ("bash", {}), "b": ("grep", {})})
    first, second = story.result("b", "x"), story.result("a", "y")
    third = story.reads("f", "text")
    calls = story.view.calls
    assert calls.results == {(1, 1): [first.seq, second.seq], (1, 2): [third.seq]}
    assert [calls.ordinal[event.seq] for event in (first, second, third)] == [1, 2, 1]
    assert [calls.names[event.seq] for event in (first, second)] == [("grep",), ("bash",)]


def test_a_view_of_a_result_has_no_place_of_its_own() -> None:
    story = Story()
    story.start()
    view = story.view_of(story.reads("f", "text"), "t")
    assert view.seq not in story.view.calls.ordinal
    assert view.seq not in story.view.calls.answered


def test_a_call_is_known_by_turn_step_and_id_and_the_newest_holder_by_id() -> None:
    story = Story()
    story.start()
    story.says(calls={"a": ("bash", {})})
    one = story.result("a", "x")
    story.says(calls={"a": ("grep", {})})
    other = story.result("a", "y")
    orphan = story.result("b", "z")
    calls = story.view.calls
    assert [calls.answered[event.seq][0].key for event in (one, other)] == [
        (1, 1, "a"),
        (1, 2, "a"),
    ]
    assert calls.answered[orphan.seq] == (None,)
    assert calls.newest("a").name == "grep"
    assert calls.newest("b") is None


def test_members_of_a_turn_are_its_originals_in_log_order() -> None:
    story = Story()
    story.start()
    human = story.human()
    said = story.says(calls={"a": ("bash", {})})
    called = said.seq + 1
    nested = story.nested("a", "s", "read", {"path": "f"}, "body")
    result = story.result("a", "x")
    story.view_of(result, "view")
    story.end()
    assert story.view.turns.members[1] == [
        *(human.seq, said.seq, called, nested.seq - 1, nested.seq, result.seq)
    ]
    assert story.view.turns.status == {1: "completed"}
    assert story.view.turns.ended_turns() == [1]
    assert story.view.turns.is_recorded(1)
    assert not story.view.turns.is_recorded(0)
    assert not story.view.turns.is_recorded(2)


def test_events_that_stand_in_no_turn_have_no_owner() -> None:
    story = Story()
    system = story.system("prompt")
    assert story.view.turns.owner(system) == 0
    assert story.view.turns.owner(story.human()) == 0


def test_a_listener_hears_each_event_and_its_change() -> None:
    story = Story()
    heard: list[tuple[Event, Edit | None]] = []
    story.session.listen(lambda event, edit: heard.append((event, edit)))
    start = story.start()
    human = story.human()
    other = story.replaced(human, human, "x")
    assert heard == [
        (start, None),
        (human, Edit(0, (), human.seq)),
        (other, Edit(0, (human.seq,), other.seq)),
    ]


def test_an_event_that_may_not_stand_leaves_log_and_view_alone() -> None:
    story = Story()
    story.start()
    human = story.human()
    other = story.replaced(human, human, "x")
    before = story.events, list(story.view.surface.nodes)
    with pytest.raises(InvalidEvent, match="not on the surface"):
        story.add(other)
    assert (story.events, story.view.surface.nodes) == before


def test_a_view_catches_up_with_what_was_appended() -> None:
    story = Story()
    view = View(story.session.log.events)
    story.start()
    human = story.human()
    assert view.catch_up() == [Edit(0, (), human.seq)]
    assert view.catch_up() == []
    assert view.surface.nodes == story.view.surface.nodes


def test_only_nodes_become_messages() -> None:
    story = Story()
    start = story.start()
    human, said, result = story.human(), story.says("hm"), story.reads("f", "text")
    assert message_at(start) is None
    assert [message.id for _, message in messages(story.view)][:2] == ["m-1", "m-2"]
    assert message_at(human) == human.data
    assert message_at(said) == said.data.message
    assert message_at(result) == result.data.message


def test_a_surface_knows_its_length_and_refuses_what_it_does_not_hold() -> None:
    story = Story()
    story.start()
    human = story.human()
    surface = story.view.surface
    assert len(surface) == 1
    assert surface.position(human.seq) == 0
    assert surface.label_at(0) < surface.label_at(1)
    with pytest.raises(KeyError):
        surface.position(99)
    with pytest.raises(KeyError):
        surface.label(99)


def test_entries_and_snapshots_that_leave_the_surface_are_forgotten() -> None:
    story = Story()
    story.start()
    human = story.human()
    snapshot = story.snapshot("context")
    said = story.says("answer")
    entry = story.old_entry(said, said, "[slice tape v1 · turns 1-1")
    assert (story.view.entries, story.view.snapshots) == ([entry.seq], [snapshot.seq])
    story.replaced(human, entry, "condensed")
    assert (story.view.entries, story.view.snapshots) == ([], [])


def test_the_ends_of_a_replacement_are_named_in_surface_order() -> None:
    story = Story()
    story.start()
    first, second = story.human(), story.notice("second")
    other = story.replaced(first, first, "x")
    assert story.view.surface.span(Replace(other.seq, second.seq)) == (0, 1)
    with pytest.raises(InvalidEvent, match="stands behind"):
        story.view.surface.span(Replace(second.seq, other.seq))
