"""Chunks of the chat wire to deltas: what is usable is given, and nothing raises."""

import json
from typing import Any

import pytest

from slicetape.log.messages import Reasoning, Text, ToolCall
from slicetape.log.payloads import Usage
from slicetape.loop.deltas import (
    BlockEnd,
    BlockStart,
    Delta,
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageSeen,
)
from slicetape.models.chat_answer import ChatAnswer, usage_of


def answer(*chunks: Any) -> list[Delta]:
    taking = ChatAnswer("sk-secret-key-1234")
    deltas: list[Delta] = []
    for chunk in chunks:
        deltas += taking.take(chunk if isinstance(chunk, str) else json.dumps(chunk))
    return [*deltas, *taking.end()]


def delta(finish: str | None = None, **fields: Any) -> Any:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(index: Any = 0, id: Any = None, name: Any = None, args: Any = None) -> Any:
    part: dict[str, Any] = {"function": {"name": name, "arguments": args}, "id": id}
    if index is not None:
        part["index"] = index
    return delta(tool_calls=[part])


STOP, CALLED, DONE = delta("stop"), delta("tool_calls"), "[DONE]"


def blocks(deltas: list[Delta]) -> list[Any]:
    return [d.block for d in deltas if isinstance(d, BlockEnd)]


def code(deltas: list[Delta]) -> str | None:
    last = deltas[-1]
    assert isinstance(last, Finish)
    return last.reason.failure.code if last.reason.failure else None


def kind(deltas: list[Delta]) -> str:
    last = deltas[-1]
    assert isinstance(last, Finish)
    return last.reason.kind


def test_an_answer_is_reasoning_text_and_calls_in_their_order() -> None:
    deltas = answer(
        delta(role="assistant", content=None, reasoning_content=""),
        delta(reasoning_content="Look."),
        delta(content="So"),
        call(0, "call_1", "read", ""),
        call(0, args='{"a":'),
        call(0, args="1}"),
        CALLED,
        DONE,
    )
    assert deltas[:8] == [
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "Look."),
        BlockStart(1, "text"),
        TextDelta(1, "So"),
        BlockStart(2, "tool-call"),
        ToolCallDelta(2, "call_1", "", "read"),
        ToolCallDelta(2, "call_1", '{"a":', "read"),
        ToolCallDelta(2, "call_1", "1}", "read"),
    ]
    assert blocks(deltas) == [Reasoning("Look."), Text("So"), ToolCall("call_1", "read", '{"a":1}')]
    assert kind(deltas) == "tool-calls"


def test_reasoning_under_its_other_name_is_reasoning() -> None:
    assert blocks(answer(delta(reasoning="Hm."), STOP, DONE)) == [Reasoning("Hm.")]


def test_a_refusal_is_text() -> None:
    assert blocks(answer(delta(refusal="No."), STOP, DONE)) == [Text("No.")]


@pytest.mark.parametrize(
    ("parts", "calls"),
    [
        pytest.param(
            [call(0, "a", "f", "1"), call(0, "", "", "2"), call(0, None, None, "3")],
            [ToolCall("a", "f", "123")],
            id="later empty or null values clear nothing",
        ),
        pytest.param(
            [call(0, "a", "f", "1"), call(0, "b", None, "2")],
            [ToolCall("a", "f", "12")],
            id="a new id without a name is the same call",
        ),
        pytest.param(
            [call(0, "a", "f", "1"), call(0, "b", "f", "2"), call(0, None, None, "3")],
            [ToolCall("a", "f", "1"), ToolCall("b", "f", "23")],
            id="two calls in one place",
        ),
        pytest.param(
            [call(0, None, None, "1"), call(0, "a", None, "2"), call(0, None, "f", "3")],
            [ToolCall("a", "f", "123")],
            id="the name comes behind the arguments",
        ),
        pytest.param(
            [call(None, "a", "f", "1"), call(None, None, None, "2"), call(None, "b", "g", "3")],
            [ToolCall("a", "f", "12"), ToolCall("b", "g", "3")],
            id="no places",
        ),
        pytest.param(
            [call(None, None, "f", "1"), call(None, None, "g", "2")],
            [ToolCall("", "f", "1"), ToolCall("", "g", "2")],
            id="neither places nor ids",
        ),
        pytest.param(
            [call(7, "a", "f", "1"), call(3, "b", "g", "2"), call(7, None, None, "3")],
            [ToolCall("a", "f", "13"), ToolCall("b", "g", "2")],
            id="places jump",
        ),
        pytest.param(
            [call(0, "a", "f", "1"), call(1, "a", "f", "2")],
            [ToolCall("a", "f", "1"), ToolCall("a", "f", "2")],
            id="an id twice",
        ),
        pytest.param(
            [call("x", 5, ["f"], {"b": [1]}), call(-1, None, "f", None)],
            [ToolCall("", "f", '{"b":[1]}')],
            id="wrong types",
        ),
    ],
)
def test_parts_of_calls_find_their_call(parts: list[Any], calls: list[ToolCall]) -> None:
    assert blocks(answer(*parts, CALLED, DONE)) == calls


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([STOP, DONE], "EMPTY_RESPONSE", id="nothing said"),
        pytest.param([delta(content="a"), DONE], "MALFORMED_RESPONSE", id="no reason"),
        pytest.param([delta(content="a"), STOP], "STREAM_CLOSED", id="no terminator"),
        pytest.param([delta(content="a")], "STREAM_CLOSED", id="cut"),
        pytest.param([], "STREAM_CLOSED", id="nothing at all"),
        pytest.param([delta("content_filter", content="a"), DONE], "CONTENT_FILTER", id="filter"),
        pytest.param([delta("a b-c", content="a"), DONE], "A_B_C", id="any other reason"),
        pytest.param([delta("→", content="a"), DONE], "UNKNOWN", id="a reason of no letters"),
        pytest.param([delta(content="a"), "{"], "MALFORMED_RESPONSE", id="bad JSON"),
        pytest.param([delta(content="a"), "[1]"], "MALFORMED_RESPONSE", id="no object"),
        pytest.param(["[" * 100_000], "MALFORMED_RESPONSE", id="deep JSON"),
        pytest.param([{"error": "broken"}], "SERVER", id="an error as text"),
        pytest.param([{"error": {"message": "x", "code": 429}}], "RATE_LIMIT", id="error code"),
        pytest.param(
            [{"error": {"message": "x", "code": "context_length_exceeded"}}],
            "CONTEXT_WINDOW_EXCEEDED",
            id="error for length",
        ),
    ],
)
def test_an_answer_that_does_not_count_says_why(chunks: list[Any], expected: str) -> None:
    deltas = answer(*chunks)
    assert code(deltas) == expected
    assert blocks(deltas) == []


def test_a_server_without_a_terminator_is_believed_when_reason_and_usage_came() -> None:
    usage = {"usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    deltas = answer(delta(content="a"), STOP, usage)
    assert kind(deltas) == "stop"
    assert deltas[-2] == UsageSeen(Usage(5, 1))


def test_an_answer_cut_by_its_limit_is_no_failure() -> None:
    assert kind(answer(delta("length", content="a"), DONE)) == "max-tokens"


def test_what_was_counted_before_a_failure_is_told() -> None:
    usage = {"usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    deltas = answer(delta(content="a"), usage, {"error": {"message": "x"}})
    assert UsageSeen(Usage(5, 1)) in deltas
    assert code(deltas) == "SERVER"


def test_the_reason_for_a_failure_never_holds_the_key() -> None:
    last = answer({"error": {"message": "bad key sk-secret-key-1234 given"}})[-1]
    assert isinstance(last, Finish)
    assert last.reason.failure is not None
    assert last.reason.failure.message == "bad key [key] given"


def test_nothing_is_read_behind_the_terminator() -> None:
    assert blocks(answer(delta("stop", content="a"), DONE, delta(content="b"))) == [Text("a")]


def test_a_character_cut_in_two_is_put_together() -> None:
    first, second = (
        '{"choices":[{"delta":{"content":"a\\ud83d"}}]}',
        '{"choices":[{"delta":{"content":"\\ude00b"}}]}',
    )
    deltas = answer(first, second, STOP, DONE)
    assert blocks(deltas) == [Text("a😀b")]


def test_half_a_character_alone_becomes_a_replacement() -> None:
    half = '{"choices":[{"delta":{"content":"a\\ud83d"}}]}'
    assert blocks(answer(half, STOP, DONE)) == [Text("a\ufffd")]
    assert blocks(answer(half.replace(':"a', ':"\\udc00a'), STOP, DONE)) == [Text("\ufffda\ufffd")]


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        pytest.param(
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "total_tokens": 105,
                "prompt_tokens_details": {"cached_tokens": 64},
                "prompt_cache_hit_tokens": 32,
            },
            Usage(36, 5, 64, None, None, 105),
            id="cached tokens win over hits",
        ),
        pytest.param(
            {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 32},
            Usage(68, 5, 32),
            id="hits alone",
        ),
        pytest.param(
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "total_tokens": 200,
                "prompt_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 50},
                "completion_tokens_details": {"reasoning_tokens": 4},
            },
            Usage(40, 5, 10, 50, 4),
            id="writes and reasoning, a total that does not add up",
        ),
        pytest.param(
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 99},
            Usage(0, 5, 10),
            id="more hits than tokens",
        ),
        pytest.param({"prompt_tokens": -1, "completion_tokens": 5}, None, id="negative"),
        pytest.param({"prompt_tokens": True, "completion_tokens": 5}, None, id="a flag"),
        pytest.param({"prompt_tokens": 2**60, "completion_tokens": 5}, None, id="too many"),
        pytest.param(None, None, id="null"),
        pytest.param([1], None, id="a list"),
    ],
)
def test_usage_is_split_into_disjoint_counts(counts: Any, usage: Usage | None) -> None:
    assert usage_of(counts) == usage


def test_arguments_that_no_fast_coder_takes_are_text_too() -> None:
    odd = '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":%s}}]}}]}'
    for given, args in [('{"a":1e999}', '{"a":null}'), ('{"a":"\\ud83d"}', '{"a": "\\ud83d"}')]:
        assert blocks(answer(odd % given, CALLED, DONE)) == [ToolCall("a", "f", args)]
