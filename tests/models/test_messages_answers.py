"""Events of the Messages wire to deltas, and what goes back to the provider."""

import json
from typing import Any

import msgspec
import pytest

from slicetape.log.messages import Message, OtherBlock, Reasoning, Source, Text, ToolCall
from slicetape.log.payloads import Usage
from slicetape.loop.deltas import BlockEnd, Delta, Finish, UsageSeen
from slicetape.loop.stream import Stream, kept
from slicetape.models.messages_answer import MessagesAnswer
from slicetape.wire.anthropic import MessagesWire


def answer(*events: Any) -> list[Delta]:
    taking = MessagesAnswer("sk-secret-key-1234")
    deltas: list[Delta] = []
    for event in events:
        deltas += taking.take(event if isinstance(event, str) else json.dumps(event))
    return [*deltas, *taking.end()]


def start(index: Any, **block: Any) -> Any:
    return {"type": "content_block_start", "index": index, "content_block": block}


def part(index: Any, **delta: Any) -> Any:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def stop(index: Any) -> Any:
    return {"type": "content_block_stop", "index": index}


def ended(reason: Any, **usage: Any) -> Any:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


STOP = {"type": "message_stop"}
TEXT = (start(0, type="text", text=""), part(0, type="text_delta", text="Hi"), stop(0))


def blocks(deltas: list[Delta]) -> list[Any]:
    return [d.block for d in deltas if isinstance(d, BlockEnd)]


def finish(deltas: list[Delta]) -> Finish:
    assert isinstance(deltas[-1], Finish)
    return deltas[-1]


def code(deltas: list[Delta]) -> str | None:
    failure = finish(deltas).reason.failure
    return failure.code if failure else None


SIGNED = (
    start(0, type="thinking", thinking="", signature=""),
    part(0, type="thinking_delta", thinking="Look "),
    part(0, type="thinking_delta", thinking="there."),
    part(0, type="signature_delta", signature="EqQB+/a="),
    part(0, type="signature_delta", signature="=tail\u2028"),
    stop(0),
    start(1, type="text", text=""),
    stop(1),
    start(2, type="redacted_thinking", data="Zm9v/+=="),
    stop(2),
    start(3, type="tool_use", id="toolu_1", name="read", input={}),
    part(3, type="input_json_delta", partial_json=""),
    part(3, type="input_json_delta", partial_json='{"a": '),
    part(3, type="input_json_delta", partial_json="1}"),
    stop(3),
    ended("tool_use", output_tokens=9),
    STOP,
)


def test_signed_reasoning_goes_back_as_it_came() -> None:
    stream = Stream()
    for delta in answer(*SIGNED):
        stream.take(delta, 0)
    found = kept(stream)
    assert found.content == (
        Reasoning("Look there."),
        OtherBlock('{"type":"redacted_thinking","data":"Zm9v/+=="}'),
        ToolCall("toolu_1", "read", '{"a": 1}'),
    )
    source = Source("model", provider="anthropic", model="m", replay_state=found.replay_state)
    sent = MessagesWire().encode(Message("m-1", "assistant", found.content, source))
    assert list(map(msgspec.json.decode, sent)) == [
        {"type": "thinking", "thinking": "Look there.", "signature": "EqQB+/a==tail\u2028"},
        {"type": "redacted_thinking", "data": "Zm9v/+=="},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"a": 1}},
    ]


def test_reasoning_that_is_only_a_signature_is_kept() -> None:
    deltas = answer(
        start(0, type="thinking", thinking="", signature=""),
        part(0, type="signature_delta", signature="abc"),
        stop(0),
        *TEXT[:0],
        start(1, type="text", text="Hi"),
        ended("end_turn"),
        STOP,
    )
    stream = Stream()
    for delta in deltas:
        stream.take(delta, 0)
    assert kept(stream).content == (Reasoning(""), Text("Hi"))
    assert b'"signature":"abc"' in bytes(kept(stream).replay_state)


def test_an_answer_without_signatures_has_no_state() -> None:
    assert not finish(answer(*TEXT, ended("end_turn"), STOP)).replay_state


def test_the_counts_of_start_and_end_are_one_usage() -> None:
    begun = {
        "type": "message_start",
        "message": {
            "usage": {
                "input_tokens": 40,
                "cache_creation_input_tokens": 20,
                "cache_read_input_tokens": 100,
                "output_tokens": 1,
                "cache_creation": {"ephemeral_5m_input_tokens": 20},
                "service_tier": "standard",
            }
        },
    }
    end = ended("end_turn", output_tokens=7, output_tokens_details={"thinking_tokens": 3})
    deltas = answer(begun, *TEXT, end, STOP)
    assert deltas[-2] == UsageSeen(Usage(40, 7, 100, 20, 3))


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool-calls"),
        ("max_tokens", "max-tokens"),
    ],
)
def test_reasons_that_end_an_answer_well(reason: str, kind: str) -> None:
    assert finish(answer(*TEXT, ended(reason), STOP)).reason.kind == kind


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([*TEXT, ended("refusal"), STOP], "REFUSAL", id="refusal"),
        pytest.param([*TEXT, ended("pause_turn"), STOP], "PAUSE_TURN", id="pause"),
        pytest.param(
            [*TEXT, ended("model_context_window_exceeded"), STOP],
            "CONTEXT_WINDOW_EXCEEDED",
            id="window",
        ),
        pytest.param([*TEXT, ended("later-kind"), STOP], "LATER_KIND", id="any other reason"),
        pytest.param([ended("end_turn"), STOP], "EMPTY_RESPONSE", id="nothing said"),
        pytest.param([*TEXT], "STREAM_CLOSED", id="cut"),
        pytest.param([*TEXT, STOP], "MALFORMED_RESPONSE", id="no reason"),
        pytest.param([*TEXT, "{"], "MALFORMED_RESPONSE", id="bad JSON"),
        pytest.param(
            [
                *TEXT,
                {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            ],
            "SERVER",
            id="overloaded",
        ),
        pytest.param(
            [{"type": "error", "error": {"type": "rate_limit_error"}}], "RATE_LIMIT", id="rate"
        ),
        pytest.param(
            [{"type": "error", "error": {"type": "billing_error"}}], "QUOTA", id="billing"
        ),
        pytest.param(
            [
                {
                    "type": "error",
                    "error": {
                        "type": "invalid_request_error",
                        "message": "prompt is too long: 210000 tokens > 200000 maximum",
                    },
                }
            ],
            "CONTEXT_WINDOW_EXCEEDED",
            id="too long",
        ),
        pytest.param([{"type": "error"}], "SERVER", id="an error that says nothing"),
    ],
)
def test_an_answer_that_does_not_count_says_why(events: list[Any], expected: str) -> None:
    assert code(answer(*events)) == expected


def test_an_error_names_its_request() -> None:
    error = {"type": "error", "error": {"type": "api_error"}, "request_id": "req_5"}
    failure = finish(answer(error)).reason.failure
    assert failure is not None
    assert (failure.request_id, failure.message) == ("req_5", "api_error")


def test_an_answer_without_its_last_event_counts_when_its_reason_came() -> None:
    assert code(answer(*TEXT, ended("end_turn"))) is None


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            [start(None, type="text", text="a"), part(None, text="b"), stop(None)],
            [Text("ab")],
            id="no numbers",
        ),
        pytest.param([start(5, type="text", text="a"), part(9, text="b")], [Text("a")], id="jumps"),
        pytest.param(
            [start(0, type="text", text="a"), stop(0), part(0, text="late")], [Text("a")], id="late"
        ),
        pytest.param(
            [start(0, type="text", text="a"), start(0, type="thinking")], [Text("a")], id="twice"
        ),
        pytest.param(
            [start(0, type="tool_use", id=None, name=7, input={"a": 1})],
            [ToolCall("", "", '{"a":1}')],
            id="a call without id and name, its input at once",
        ),
        pytest.param([start(0)], [OtherBlock("{}")], id="a block of no kind"),
        pytest.param(
            [{"type": "content_block_start", "index": 0, "content_block": 3}],
            [OtherBlock("{}")],
            id="a block that is a number",
        ),
        pytest.param(
            [start(0, type="text", text="a"), {"type": "ping"}, {"type": ["x"]}, {}],
            [Text("a")],
            id="events of other kinds",
        ),
        pytest.param(
            [start(0, type="text", text="a"), part(0, text=None), part(0, text=4)],
            [Text("a")],
            id="parts that are no text",
        ),
    ],
)
def test_what_is_usable_of_odd_events_is_given(events: list[Any], expected: list[Any]) -> None:
    assert blocks(answer(*events, ended("end_turn"), STOP)) == expected
