"""An open turn is closed by events that say what is known of its calls."""

import pytest

from data import shared
from logged import answered, asked, called, end, human, one_turn, said, start, step_end, step_start
from slicetape.log.events import EndSeed, Event, StepEnd, ToolResult, TurnEnd
from slicetape.log.log import SessionLog
from slicetape.log.messages import Text, ToolResultBlock
from slicetape.log.older import read_any
from slicetape.log.payloads import EndReason
from slicetape.log.repair import closers, resumption
from slicetape.log.rules import Rules

from logged import HEADER  # isort: skip

OPEN = [start(1), human("go"), step_start(1, 1), said(1, 1, asked("a"), asked("b"), asked("c"))]


def logged(events: list[Event]) -> list[Event]:
    log = SessionLog.in_memory(HEADER)
    return list(log.extend(events))


def test_a_closed_log_needs_nothing() -> None:
    assert closers(logged([*one_turn(1), human("later")])) == ()
    assert closers([]) == ()


def test_each_call_without_a_result_gets_one_that_says_what_is_known() -> None:
    events = logged([*OPEN, called(1, 1, "b"), called(1, 1, "a"), answered(1, 1, "a")])
    made = closers(events)
    assert [type(event) for event in made] == [ToolResult, ToolResult, StepEnd, TurnEnd]
    assert [event.seq for event in made] == [7, 8, 9, 10]
    assert {event.time for event in made} == {1}
    unknown, never = made[0], made[1]
    assert isinstance(unknown, ToolResult)
    assert isinstance(never, ToolResult)
    assert unknown.data.error is not None
    assert (unknown.data.error.name, unknown.data.error.code) == (
        "ToolOutcomeUnknownError",
        "TOOL_OUTCOME_UNKNOWN",
    )
    assert unknown.sources == (4,)
    assert unknown.data.message.id == "interrupted-tool-result-b-7"
    assert never.data.error is not None
    assert (never.data.error.name, never.data.error.code) == (
        "ToolNotStartedError",
        "TOOL_NOT_STARTED",
    )
    assert never.sources == ()
    for result, call, word in ((unknown, "b", "unknown"), (never, "c", "never started")):
        block = result.data.message.content[0]
        assert isinstance(block, ToolResultBlock)
        assert (block.tool_call_id, block.is_error) == (call, True)
        assert isinstance(block.content[0], Text)
        assert word in block.content[0].text
    ended = made[-1]
    assert isinstance(ended, TurnEnd)
    assert ended.data.reason == EndReason("interrupted")


@pytest.mark.parametrize(
    ("events", "count"),
    [
        ([start(1)], 1),
        ([start(1), human("go")], 1),
        ([*OPEN], 5),
        ([*one_turn(1)[:7]], 1),
        ([*OPEN[:3], called(1, 1, "x")], 3),
        (
            [*OPEN[:3], said(1, 1, asked("x"), asked("x")), called(1, 1, "x"), answered(1, 1, "x")],
            3,
        ),
    ],
)
def test_what_a_crash_left_is_closed_by_the_rules(events: list[Event], count: int) -> None:
    log = SessionLog.in_memory(HEADER)
    log.attach(Rules())
    log.extend(events)
    made = closers(log.events)
    assert len(made) == count
    assert log.extend(made) == made
    assert closers(log.events) == ()


def test_every_cut_of_real_sessions_can_be_closed() -> None:
    events = list(SessionLog.read(shared("dsh-logs/v3-tools.jsonl")).events)
    for cut in range(1, len(events) + 1):
        rules = Rules.over(events[:cut])
        for event in closers(events[:cut]):
            rules.check(event)
            rules.advance(event)
        assert (rules.turn, rules.step) == (0, 0)


def test_a_resumed_log_ends_its_seed_once() -> None:
    events = logged([*one_turn(1), start(2)])
    made = resumption(events, time=9)
    assert [type(event) for event in made] == [TurnEnd, EndSeed]
    assert (made[0].time, made[1].time, made[1].seq) == (1, 9, 10)
    assert resumption([*events, *made], time=9) == ()
    assert [type(event) for event in resumption([], time=9)] == [EndSeed]


def test_the_same_calls_are_closed_as_the_host_closed_them() -> None:
    """A log of a killed and resumed host, cut where it was killed."""
    log = read_any(shared("dsh-logs/v4-crash.jsonl"))
    cut = next(
        seq for seq, e in enumerate(log.events) if isinstance(e, ToolResult) and e.data.error
    )
    ours, theirs = closers(log.events[:cut]), log.events[cut : cut + 4]
    assert [type(event) for event in ours] == [type(event) for event in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.seq, mine.time, mine.sources) == (other.seq, other.time, other.sources)
        if isinstance(mine, ToolResult) and isinstance(other, ToolResult):
            assert mine.data.error == other.data.error
            assert mine.data.message.id == other.data.message.id
            assert mine.data.message.source == other.data.message.source


def test_a_step_that_ended_is_not_closed_again() -> None:
    events = logged([*OPEN[:3], step_end(1, 1)])
    assert [type(event) for event in closers(events)] == [TurnEnd]
    assert closers(logged([*OPEN[:3], step_end(1, 1), end(1)])) == ()
