"""What holds for every history: prefixes, immutability, pairs, recall, and equal memories."""

import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from random_story import Act, RandomStory, histories, settings_of
from sealed_story import SealedStory
from slicetape.log.events import AssistantMessage, ToolResult, is_entry, is_snapshot, message_of
from slicetape.log.messages import Message, ToolCall, ToolResultBlock, text_of
from slicetape.loop.prestep import Prestep
from slicetape.policy.entry import original_of
from slicetape.policy.policy import SealPlan
from slicetape.policy.seal import plan_seal
from slicetape.policy.settings import HistorySettings
from slicetape.policy.state import SealState
from slicetape.surface import View, project

some_settings = st.lists(settings_of, min_size=1, max_size=3)


def told(acts: list[Act], story: RandomStory) -> RandomStory:
    for act, number in acts:
        story.tell(act, number)
    story.act_turn(1)
    return story


def ids(messages: Iterable[Message]) -> tuple[set[str], set[str]]:
    """The ids called and the ids answered in these messages."""
    blocks = [block for message in messages for block in message.content]
    calls = {block.id for block in blocks if isinstance(block, ToolCall)}
    return calls, {block.tool_call_id for block in blocks if isinstance(block, ToolResultBlock)}


class Watched(RandomStory):
    """Looks at the surface right before and right after each seal."""

    def at_seal(self, number: int) -> None:
        events, nodes = self.events, list(self.view.surface.nodes)
        last = self.view.surface.position(self.view.entries[-1]) if self.view.entries else -1
        entries = self.seal(self.pending(number))
        after = self.view.surface.nodes
        assert after[: last + 1] == nodes[: last + 1], "nothing moves up to the last entry"
        assert self.events[: len(events)] == events, "what was logged stays as it was"
        gone = [self.events[seq] for seq in set(nodes) - set(after)]
        assert all(isinstance(e, AssistantMessage | ToolResult) or is_snapshot(e) for e in gone)
        assert {event.seq for event in gone} == {seq for e in entries for seq in e.sources}
        for entry in entries:
            hidden = [self.events[seq] for seq in entry.sources]
            assert not any(map(is_entry, hidden))
            calls, answers = ids(map(message_of, hidden))  # type: ignore[arg-type]
            assert calls == answers, "a call and its result leave together"
            assert self.view.surface.position(entry.seq) > last
            cap = self.prestep.history.entry_max_chars
            assert cap is None or len(text_of(entry.data.content)) <= cap
        assert tuple(after) == project(self.events)


@given(histories, some_settings)
def test_sealing_changes_nothing_up_to_the_last_entry_and_loses_no_pair(
    acts: list[Act], settings: list[HistorySettings]
) -> None:
    told(acts, Watched(settings))


def decided(plan: SealPlan) -> tuple[object, ...]:
    return plan.seals, [leave.nodes for leave in plan.left if leave.why == "not shorter"]


class PlannedThrice(RandomStory):
    """Plans with the memory of the session, again, and with a fresh one, before each seal."""

    def at_seal(self, number: int) -> None:
        pending = self.pending(number)
        fresh = plan_seal(self.view, SealState(), self.prestep.history, pending=pending)
        if number % 2:
            for other in self.settings:
                plan_seal(self.view, self.prestep.state, other, pending=pending, warn=False)
        first, second = self.prestep.plan(pending), self.prestep.plan(pending)
        assert decided(first) == decided(second) == decided(fresh)
        if number % 5 == 0:
            self.prestep = Prestep(self.session, self.prestep.history)
        entries = self.seal(pending)
        assert [(e.sources, text_of(e.data.content)) for e in entries] == [
            (seal.sources, seal.text) for seal in fresh.seals
        ]
        assert decided(self.prestep.plan(pending)) == ((), [])


@given(histories, some_settings)
def test_memory_of_a_session_decides_what_a_fresh_look_at_the_log_decides(
    acts: list[Act], settings: list[HistorySettings]
) -> None:
    told(acts, PlannedThrice(settings))


@given(histories, some_settings)
def test_appending_changes_no_entry_and_every_cut_of_the_log_gives_its_surface_again(
    acts: list[Act], settings: list[HistorySettings]
) -> None:
    story = told(acts, RandomStory(settings))
    view = View([])
    seen: dict[int, str] = {}
    for count, event in enumerate(story.events, 1):
        view.events = story.events[:count]
        view.advance(event)
        if is_entry(event):
            seen[event.seq] = text_of(event.data.content)  # type: ignore[union-attr]
    assert seen == {entry.seq: text_of(entry.data.content) for entry in story.entries}
    assert view.surface.nodes == story.view.surface.nodes


@given(histories, settings_of)
def test_a_written_and_reopened_log_goes_on_as_the_open_one(
    acts: list[Act], settings: HistorySettings
) -> None:
    story = told(acts, RandomStory([settings]))
    with TemporaryDirectory() as folder:
        resumed = story.reopened(Path(folder))
        resumed.prestep.history = settings
        for one in (story, resumed):
            one.says("the same")
            one.end()
            SealedStory.start(one)
        assert resumed.tape == story.tape
        assert resumed.view.surface.nodes == story.view.surface.nodes
        assert resumed.prestep.state.left == story.prestep.state.left
        resumed.session.log.close()


@given(histories)
def test_whatever_an_entry_hides_has_a_locator_that_brings_it_back(acts: list[Act]) -> None:
    story = told(acts, RandomStory([HistorySettings(seal_only_if_shorter=False)]))
    pages: dict[int, str] = {}
    for entry in story.entries:
        text = text_of(entry.data.content)
        printed = {int(seq) for seq in re.findall(r'"seq":(\d+),', text)}
        for named in re.findall(r"· seqs ([\d, ]+)", text):
            printed |= {int(seq) for seq in named.rstrip(", ").split(", ")}
        for seq in entry.sources:
            event = story.events[seq]
            turn = story.view.turns.owner(event)
            pages.setdefault(turn, story.page(turn, "dialogue"))
            if isinstance(event, AssistantMessage):
                said = text_of(event.data.message.content)
                assert said in text
                assert said in pages[turn]
            elif isinstance(event, ToolResult):
                original = original_of(story.view, seq)
                assert original in printed
                result = story.recall("expand_result", seq=original, formatVersion=3)
                assert all(
                    text_of(block.content) in result  # type: ignore[arg-type]
                    for block in story.events[original].data.message.content
                )
