"""Answers from a recording are those that were recorded, delta for delta."""

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from canned_http import deltas_of
from data import shared
from slicetape.log.events import AssistantAttempt, AssistantMessage, CompactionSummary
from slicetape.log.log import SessionLog
from slicetape.log.messages import Message, Reasoning, Source, Text, ToolCall
from slicetape.log.payloads import AssistantData, AttemptData, SeqRange, SummaryData, Usage
from slicetape.log.seqs import pack
from slicetape.loop.deltas import (
    BlockEnd,
    BlockStart,
    Delta,
    Finish,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageSeen,
)
from slicetape.loop.stream import Stream, kept
from slicetape.models.recorded import RecordedModel, expanded, reply_of

REPLY: list[Delta] = [
    BlockStart(0, "reasoning"),
    ReasoningDelta(0, "Look "),
    ReasoningDelta(0, "there."),
    BlockStart(1, "text"),
    TextDelta(1, "So"),
    BlockStart(2, "tool-call"),
    ToolCallDelta(2, "call_1", "{", "read"),
    ToolCallDelta(2, "call_1", "}", "read"),
    BlockEnd(0, Reasoning("Look there.")),
    BlockEnd(1, Text("So")),
    BlockEnd(2, ToolCall("call_1", "read", "{}")),
    UsageSeen(Usage(5, 3)),
    Finish(FinishReason("tool-calls"), Raw(b'{"blocks":[{"signature":"a"},null,null]}')),
]


def asked(model: RecordedModel, times: int = 1, purpose: Any = "step") -> list[list[Delta]]:
    async def run() -> list[list[Delta]]:
        return [await deltas_of(model.stream(b"{}", purpose=purpose)) for _ in range(times)]

    return asyncio.run(run())


def code(deltas: list[Delta]) -> str:
    last = deltas[-1]
    assert isinstance(last, Finish)
    assert last.reason.failure is not None
    return last.reason.failure.code


def test_replies_come_in_their_order_and_then_none() -> None:
    model = RecordedModel([REPLY, REPLY[3:5]], summaries=[REPLY])
    first, second, third = asked(model, 3)
    assert first == REPLY
    assert second[:-1] == REPLY[3:5]
    assert (code(second), code(third)) == ("ABORTED", "RECORDING_ENDED")
    assert asked(model, purpose="summary") == [REPLY]
    assert model.bodies == [b"{}"] * 4
    assert model.left == 0
    asyncio.run(model.close())


def test_the_records_of_a_stream_are_its_deltas_again() -> None:
    stream = Stream()
    for delta in REPLY:
        stream.take(delta, 1)
    assert expanded(stream.records) == REPLY


@pytest.mark.parametrize("raw", [b"", b"{}", b"[3]", b'[{"type":"later"}]', b'[{"type":"chunk"}]'])
def test_records_that_cannot_be_read_are_left_out(raw: bytes) -> None:
    assert expanded(Raw(raw)) == []


def test_an_answer_without_records_is_told_from_its_message() -> None:
    blocks = (Text("So"), ToolCall("call_1", "read", "{}"))
    source = Source("model", replay_state=Raw(b'{"blocks":[null,null]}'))
    data = AssistantData(1, 1, Message("m", "assistant", blocks, source), usage=Usage(5, 3))
    stream = Stream()
    for delta in reply_of(data):
        stream.take(delta, 0)
    assert kept(stream).content == blocks
    assert kept(stream).replay_state == source.replay_state
    assert stream.usage == Usage(5, 3)
    assert stream.finish is not None
    assert stream.finish.reason.kind == "tool-calls"


def test_attempts_and_summaries_of_a_session_are_answers_too() -> None:
    found = SummaryData(
        compaction_id="c",
        summary=Raw(b'[{"type":"text","text":"short"}]'),
        shadowed_range=SeqRange(0, 0),
        shadowed_seqs=pack([0]),
        shadowed_token_count=1,
        provider="p",
        model="m",
        raw_output=Raw(b'[{"type":"reasoning","text":"Hm"},{"type":"text","text":"long"}]'),
        usage=Usage(7, 2),
    )
    bare = msgspec.structs.replace(found, raw_output=Raw(), usage=None)
    odd = msgspec.structs.replace(bare, summary=Raw(b'{"a":1}'))
    stream = Stream()
    for delta in REPLY[:3]:
        stream.take(delta, 1)
    model = RecordedModel.of_log(
        [
            AssistantAttempt(time=0, data=AttemptData(1, 1, stream.records)),
            *(CompactionSummary(time=0, data=data) for data in (found, bare, odd)),
        ]
    )
    [attempt] = asked(model)
    assert (attempt[:-1], code(attempt)) == (REPLY[:3], "ABORTED")
    whole, short, nothing = asked(model, 3, purpose="summary")
    assert [d.block for d in whole if isinstance(d, BlockEnd)] == [Reasoning("Hm"), Text("long")]
    assert whole[-2:] == [UsageSeen(Usage(7, 2)), Finish(FinishReason("stop"))]
    assert [d.block for d in short if isinstance(d, BlockEnd)] == [Text("short")]
    assert nothing == [Finish(FinishReason("stop"))]


def test_a_recorded_session_answers_with_the_blocks_of_its_messages() -> None:
    found = 0
    for path in sorted(shared("golden/sessions").rglob("*.jsonl")):
        try:
            log = SessionLog.read(path)
        except Exception:  # noqa: BLE001  # other formats have tests of their own
            continue
        said = [e for e in log.events if isinstance(e, AssistantMessage)]
        model = RecordedModel.of_log(said)
        for event, deltas in zip(said, asked(model, len(said)), strict=True):
            stream = Stream()
            for delta in deltas:
                stream.take(delta, 0)
            cut = event.data.interrupted
            blocks = kept(stream, calls=not cut).content
            if not cut and stream.finish and stream.finish.reason.kind != "max-tokens":
                assert blocks == event.data.message.content
                found += 1
    assert found > 20
