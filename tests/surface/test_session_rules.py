"""A live session holds turns and steps to their rules, with nothing changed when one is broken."""

import pytest

from slicetape.errors import InvalidEvent
from slicetape.log.events import Event, StepStart, TurnStart, UserMessage
from slicetape.log.log import SessionLog
from slicetape.log.messages import Message, Source, Text
from slicetape.log.payloads import StepData, TurnData
from slicetape.surface import Session
from story import header


def human(text: str) -> UserMessage:
    message = Message("m", "user", (Text(text),), Source(kind="user"))
    return UserMessage(data=message, surface_op="append")


@pytest.mark.parametrize(
    "event",
    [
        TurnStart(data=TurnData(1)),
        TurnStart(data=TurnData(3)),
        StepStart(data=StepData(1, 2)),
        StepStart(data=StepData(2, 1)),
    ],
)
def test_turns_and_steps_are_dense_and_do_not_nest(event: Event) -> None:
    session = Session(SessionLog.in_memory(header()))
    session.append(TurnStart(data=TurnData(1)))
    session.append(human("hello"))
    with pytest.raises(InvalidEvent):
        session.append(event)
    assert len(session.log.events) == session.view.scanned == 2
    assert session.view.surface.nodes == [1]
    session.append(StepStart(data=StepData(1, 1)))
    assert len(session.log.events) == 3


def test_a_recording_is_taken_as_its_host_wrote_it() -> None:
    session = Session(SessionLog.in_memory(header()), strict=False)
    session.append(TurnStart(data=TurnData(7)))
    assert session.view.turns.open == 7
