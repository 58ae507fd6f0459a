"""What an event must be on its own."""

import msgspec
import pytest

from logged import answered, human, said, start
from slicetape.errors import InvalidEvent
from slicetape.log.checks import check_event
from slicetape.log.codec import foreign
from slicetape.log.events import Event, Foreign, Replace, RequestHeader, SystemMessage
from slicetape.log.messages import Message, Source
from slicetape.log.payloads import (
    HeaderConfig,
    RequestEnvelope,
    RequestHeaderData,
    SystemData,
)


def at(seq: int, event: Event, **changed: object) -> Event:
    return msgspec.structs.replace(event, seq=seq, **changed)


def header_event(reason: str = "initial", **envelope: bytes) -> RequestHeader:
    raws = {name: msgspec.Raw(value) for name, value in envelope.items()}
    data = RequestHeaderData(RequestEnvelope(HeaderConfig("p", "m"), **raws), reason)
    return RequestHeader(data=data, seq=9)


def system(role: str) -> SystemMessage:
    message = Message("s", role, (), Source(kind="plugin"))  # type: ignore[arg-type]
    return SystemMessage(data=SystemData(1, 1, message), surface_op="append")


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (at(3, start(1)), "seq 3 a second time"),
        (at(11, start(1)), "seq 11 where 9 is due: 2 missing"),
        (start(1), "without a seq"),
        (at(9, start(1), source_event_seqs=()), "must be absent"),
        (at(9, start(1), source_event_seqs=(1, 1)), "twice"),
        (at(9, start(1), source_event_seqs=(9,)), "cites 9"),
        (at(9, start(1), source_event_seqs=(-1,)), "not before"),
        (at(9, start(1), source_event_seqs=((3, 5), 5)), "must increase"),
        (at(9, start(1), source_event_seqs=((5, 3),)), "must increase"),
        (at(9, start(1), source_event_seqs=((3, 10**15),)), "must increase"),
        (at(9, said(1, 1), source_event_seqs=(1,)), "cites no sources"),
        (at(9, human("x"), surface_op=None), "needs a surfaceOp"),
        (at(9, start(1), surface_op="append"), "has no surfaceOp"),
        (at(9, human("x"), surface_op=Replace(-1, 3), source_event_seqs=(3,)), "replaces -1"),
        (at(9, human("x"), surface_op=Replace(3, 9), source_event_seqs=(3,)), "replaces 9"),
        (at(9, human("x"), surface_op=Replace(3, 3)), "cites what it replaces"),
        (at(9, system("user")), "system/message event has the role user"),
        (header_event("later"), "'later' of a request/header is none of"),
        (header_event(tools=b"[ ]"), "empty tools"),
        (header_event(adapter_defaults=b"{}"), "empty adapterDefaults"),
        (Foreign(kind="goal/change", data=msgspec.Raw(b"{}"), seq=9, surface_op="append"), "no surf"),
    ],
)  # fmt: skip
def test_what_may_not_stand_is_refused(event: Event, says: str) -> None:
    with pytest.raises(InvalidEvent, match=says):
        check_event(event, 9)


@pytest.mark.parametrize(
    "event",
    [
        at(9, start(1), source_event_seqs=((0, 5), 7)),
        at(9, start(1), source_event_seqs=(7, 3)),
        at(9, answered(1, 1, "c"), source_event_seqs=(8,)),
        at(9, human("x"), surface_op=Replace(8, 3), source_event_seqs=(3, 8)),
        at(9, system("system")),
        header_event("series", tools=b'[{"name":"read"}]'),
        at(9, foreign("x/a", {}), surface_op="append"),
    ],
)
def test_what_may_stand_is_taken(event: Event) -> None:
    check_event(event, 9)
