"""The surface as it grows equals its definition, and nothing changes when a rule is broken."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicetape.errors import InvalidEvent
from slicetape.log.events import Event, Replace, SystemMessage, ToolResult, UserMessage
from slicetape.log.messages import Message, Source, Text
from slicetape.log.seqs import pack
from slicetape.surface import View, messages, project
from story import Story


def said(seq: int, op: Replace | str = "append", cites: tuple[int, ...] = ()) -> UserMessage:
    message = Message(f"m{seq}", "user", (Text(str(seq)),), Source(kind="plugin", plugin="p"))
    return UserMessage(
        seq=seq, data=message, surface_op=op, source_event_seqs=pack(cites) if cites else None
    )


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """Logs of appends and legal replacements, by position."""
    events: list[Event] = []
    nodes: list[int] = []
    for seq in range(draw(st.integers(1, 40))):
        if nodes and draw(st.booleans()):
            left = draw(st.integers(0, len(nodes) - 1))
            right = draw(st.integers(left, len(nodes) - 1))
            span = tuple(nodes[left : right + 1])
            events.append(said(seq, Replace(span[0], span[-1]), span))
            nodes[left : right + 1] = [seq]
        else:
            events.append(said(seq))
            nodes.append(seq)
    return events


@given(logs())
def test_the_growing_surface_equals_its_definition(events: list[Event]) -> None:
    view = View([])
    for count, event in enumerate(events, 1):
        view.events = events[:count]
        view.check(event)
        view.advance(event)
        assert tuple(view.surface.nodes) == project(events[:count])
        assert [view.surface.position(seq) for seq in view.surface.nodes] == list(
            range(len(view.surface))
        )


@given(logs())
def test_an_edit_says_exactly_what_changed(events: list[Event]) -> None:
    view = View(events)
    shown: list[int] = []
    for event in events:
        edit = view.advance(event)
        assert edit is not None
        assert shown[edit.position : edit.position + len(edit.removed)] == list(edit.removed)
        shown[edit.position : edit.position + len(edit.removed)] = [edit.added]
        assert shown == view.surface.nodes


@given(logs(), st.integers(0, 60), st.integers(0, 60), st.lists(st.integers(0, 60)))
def test_a_replacement_is_taken_or_refused_with_nothing_changed(
    events: list[Event], start: int, end: int, cites: list[int]
) -> None:
    view = View.of(events)
    before = list(view.surface.nodes), view.surface.generation
    event = said(len(events), Replace(start, end), tuple(cites))
    nodes = view.surface.nodes
    legal = (
        start in nodes
        and end in nodes
        and nodes.index(start) <= nodes.index(end)
        and set(nodes[nodes.index(start) : nodes.index(end) + 1]) <= set(cites)
    )
    if legal:
        view.check(event)
    else:
        with pytest.raises(InvalidEvent):
            view.check(event)
    assert (list(view.surface.nodes), view.surface.generation) == before


def test_the_definition_refuses_endpoints_in_the_wrong_order() -> None:
    with pytest.raises(ValueError, match="stands behind"):
        project([said(0), said(1), said(2, Replace(1, 0), (0, 1))])


class TestToolResultRewrites:
    @pytest.fixture
    def story(self) -> Story:
        story = Story()
        story.start()
        story.human()
        self.first = story.reads("a.txt", "long text", id="c1")
        self.second = story.reads("b.txt", "other text", id="c2")
        return story

    def refused(self, story: Story, event: Event, why: str) -> None:
        before = list(story.view.surface.nodes), len(story.events)
        with pytest.raises(InvalidEvent, match=why):
            story.add(event)
        assert (list(story.view.surface.nodes), len(story.events)) == before

    def rewrite(self, story: Story, **changes: object) -> ToolResult:
        data = msgspec.structs.replace(self.first.data, **changes)
        return ToolResult(
            data=data,
            surface_op=Replace(self.first.seq, self.first.seq),
            source_event_seqs=(self.first.seq,),
        )

    def test_content_may_change(self, story: Story) -> None:
        view = story.view_of(self.first, "short")
        assert view.seq in story.view.surface
        assert self.first.seq not in story.view.surface
        assert story.view.original(view.seq) == self.first.seq

    @pytest.mark.parametrize(
        "changes",
        [
            {"step": 9},
            {"turn": 9},
            {"meta": msgspec.Raw(b'{"other":1}')},
        ],
    )
    def test_nothing_else_may_change(self, story: Story, changes: dict[str, object]) -> None:
        self.refused(story, self.rewrite(story, **changes), "only the content")

    def test_flags_and_ids_stay(self, story: Story) -> None:
        block = msgspec.structs.replace(self.first.data.message.content[0], is_error=True)
        message = msgspec.structs.replace(self.first.data.message, content=(block,))
        self.refused(story, self.rewrite(story, message=message), "isError")
        message = msgspec.structs.replace(self.first.data.message, id="new")
        self.refused(story, self.rewrite(story, message=message), "message id")

    def test_exactly_one_result_is_replaced(self, story: Story) -> None:
        nodes = story.view.surface.nodes
        span = nodes[nodes.index(self.first.seq) : nodes.index(self.second.seq) + 1]
        event = msgspec.structs.replace(
            self.rewrite(story),
            surface_op=Replace(span[0], span[-1]),
            source_event_seqs=pack(span),
        )
        self.refused(story, event, "exactly one tool/result")

    def test_every_shadowed_node_is_cited(self, story: Story) -> None:
        event = msgspec.structs.replace(self.rewrite(story), source_event_seqs=(0,))
        self.refused(story, event, "not cited")

    def test_a_fold_of_a_fold_leads_to_the_original(self, story: Story) -> None:
        again = story.view_of(story.view_of(self.first, "shorter"), "short")
        assert story.view.original(again.seq) == self.first.seq


def test_the_system_head_is_replaced_only_by_a_system_message_over_exactly_it() -> None:
    story = Story()
    story.start()
    head = story.system("old prompt")
    human = story.human()
    with pytest.raises(InvalidEvent, match="node 0"):
        story.replaced(head, human, "all of it")
    with pytest.raises(InvalidEvent, match="node 0"):
        story.replaced(head, head, "the head")
    new = story.system("new prompt", replaces=head)
    assert story.view.surface.nodes == [new.seq, human.seq]


def test_an_emptied_node_keeps_its_place_and_gives_no_message() -> None:
    story = Story()
    story.start()
    head = story.system()
    human = story.human("hello")
    silent = story.says()
    assert story.view.surface.nodes == [head.seq, human.seq, silent.seq]
    assert [seq for seq, _ in messages(story.view)] == [human.seq]
    assert isinstance(head, SystemMessage)


def test_a_replacement_that_names_no_result_has_no_original() -> None:
    story = Story()
    story.start()
    human = story.human()
    other = story.replaced(human, human, "x")
    with pytest.raises(ValueError, match="names no original"):
        story.view.original(other.seq)


def test_taking_in_a_log_scans_every_event_once() -> None:
    story = Story()
    for _ in range(50):
        story.short_turn()
    view = View.of(story.events)
    assert view.scanned == len(story.events)
    assert view.catch_up() == []
    assert view.scanned == len(story.events)
