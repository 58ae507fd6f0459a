"""Turns and steps are dense and closed, and results answer calls."""

import msgspec
import pytest

from data import shared
from logged import answered, asked, called, end, human, one_turn, said, start, step_end, step_start
from slicetape.errors import InvalidEvent
from slicetape.log.events import (
    EndSeed,
    Event,
    Replace,
    RequestContext,
    SystemMessage,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import Message, Source, Text
from slicetape.log.payloads import EndSeedData, RequestContextData, SystemData, ToolError
from slicetape.log.rules import Rules

CONTEXT = RequestContext(data=RequestContextData("p", "m"))
SEED = EndSeed(data=EndSeedData())


def system(turn: int, step: int) -> SystemMessage:
    message = Message("s", "system", (Text("you"),), Source(kind="plugin", plugin="p"))
    return SystemMessage(data=SystemData(turn, step, message), surface_op="append")


def viewed(event: Event) -> Event:
    return msgspec.structs.replace(event, surface_op=Replace(0, 0))


def failed(event: Event, code: str) -> Event:
    data = msgspec.structs.replace(event.data, error=ToolError("E", code))  # type: ignore[union-attr]
    return msgspec.structs.replace(event, data=data)


OPEN = [start(1), human("go"), step_start(1, 1)]


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([start(2)], "of turn 2 where 1 is due"),
        ([start(1), start(2)], "within turn 1, which is still open"),
        ([*one_turn(1), start(1)], "of turn 1 where 2 is due"),
        ([end(1)], "of turn 1 outside any turn"),
        ([start(1), end(2)], "of turn 2 within turn 1"),
        ([*OPEN, end(1)], "within step 1, which is still open"),
        ([step_start(1, 1)], "outside any turn"),
        ([start(1), step_start(2, 1)], "of turn 2 within turn 1"),
        ([start(1), step_start(1, 2)], "of step 2 where 1 is due"),
        ([*OPEN, step_start(1, 2)], "within step 1, which is still open"),
        ([*OPEN, step_end(1, 1), step_start(1, 1)], "of step 1 where 2 is due"),
        ([start(1), step_end(1, 1)], "of step 1 outside any step"),
        ([*OPEN, step_end(1, 2)], "of step 2 within step 1"),
        ([start(1), said(1, 1)], "of step 1 outside any step"),
        ([*OPEN, said(2, 1)], "of turn 2 within turn 1"),
        ([start(1), system(1, 1)], "outside any step"),
        ([*OPEN, called(1, 2, "c")], "of step 2 within step 1"),
        ([*OPEN, said(1, 1, asked("c")), answered(1, 1, "c")], "'c', which is not waiting"),
        ([*one_turn(1)[:6], answered(1, 1, "c1")], "'c1', which is not waiting"),
        ([*OPEN, called(1, 1, "c"), step_end(1, 1), step_start(1, 2), answered(1, 2, "c")], "wait"),
        ([CONTEXT], "outside any turn"),
        ([viewed(answered(1, 1, "c"))], "replaces outside any turn"),
        ([*OPEN, viewed(answered(1, 1, "c"))], "replaces within step 1"),
    ],
)
def test_what_breaks_the_order_is_refused(events: list[Event], says: str) -> None:
    with pytest.raises(InvalidEvent, match=says):
        Rules.over(events)
    Rules.over(events[:-1])


@pytest.mark.parametrize(
    "events",
    [
        [*one_turn(1), *one_turn(2), human("between turns"), start(3)],
        [*OPEN, system(1, 1), CONTEXT, said(1, 1, asked("c"), asked("d")), called(1, 1, "d"),
         called(1, 1, "c"), answered(1, 1, "c"), answered(1, 1, "d"), step_end(1, 1), end(1)],
        [*OPEN, called(1, 1, "c"), called(1, 1, "c"), answered(1, 1, "c"), answered(1, 1, "c")],
        [*OPEN, failed(answered(1, 1, "c"), "TOOL_NOT_STARTED")],
        [*one_turn(1), start(2), viewed(answered(1, 1, "c1")), step_start(2, 1)],
        [*OPEN, SEED, start(2), step_start(2, 1)],
        [*one_turn(1), SEED, start(2)],
    ],
)  # fmt: skip
def test_what_keeps_the_order_is_taken(events: list[Event]) -> None:
    Rules.over(events)


def test_the_open_turn_and_step_can_be_asked_for() -> None:
    rules = Rules.over(OPEN)
    assert (rules.turn, rules.step) == (1, 1)
    twin = rules.copy()
    twin.advance(step_end(1, 1))
    assert (rules.step, twin.step) == (1, 0)


@pytest.mark.parametrize("folder", ["dsh-logs", "golden/sessions"])
def test_real_logs_keep_the_rules(folder: str) -> None:
    ran = 0
    for path in sorted(shared(folder).glob("*.jsonl")):
        if "requests" not in path.name and b'"version":3' in path.read_bytes()[:200]:
            Rules.over(SessionLog.read(path).events)
            ran += 1
    assert ran >= 6
