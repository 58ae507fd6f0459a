"""Whatever a server sends: one finish, at the end, and a log that can hold all of it."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicetape.loop.deltas import BlockEnd, BlockStart, Delta, Finish, UsageSeen
from slicetape.loop.stream import Stream, kept
from slicetape.models.chat_answer import ChatAnswer
from slicetape.models.messages_answer import MessagesAnswer
from slicetape.models.sse import Lines, NoEvents, Oversized, events
from slicetape.models.transport import Answer

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 4),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["", "stop", "end_turn", "a", "\ud83d", "\ude00", "tool_use", "thinking"]),
)
KEYS = st.sampled_from(
    [
        "choices",
        "delta",
        "content",
        "reasoning_content",
        "tool_calls",
        "index",
        "id",
        "function",
        "name",
        "arguments",
        "usage",
        "finish_reason",
        "error",
        "message",
        "type",
        "content_block",
        "text",
        "thinking",
        "signature",
        "partial_json",
        "input",
        "stop_reason",
        "prompt_tokens",
        "completion_tokens",
        "input_tokens",
        "output_tokens",
        "code",
        "status",
    ]
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=12,
)
WEIRD = st.one_of(SCALARS, JSON)
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "index": WEIRD,
        "id": WEIRD,
        "function": st.one_of(
            WEIRD, st.fixed_dictionaries({}, optional={"name": WEIRD, "arguments": WEIRD})
        ),
    },
)
CHUNKS = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "delta": st.fixed_dictionaries(
                        {},
                        optional={
                            "content": WEIRD,
                            "reasoning_content": WEIRD,
                            "tool_calls": st.one_of(WEIRD, st.lists(CALLS, max_size=3)),
                        },
                    ),
                    "finish_reason": WEIRD,
                },
            ),
            max_size=2,
        ),
        "usage": WEIRD,
        "error": st.one_of(st.none(), WEIRD),
    },
)
EVENTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop",
                "error",
                "ping",
            ]
        )
    },
    optional={
        "index": WEIRD,
        "content_block": st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "thinking", "tool_use", "other", 3])},
            optional={"text": WEIRD, "thinking": WEIRD, "id": WEIRD, "name": WEIRD, "input": WEIRD},
        ),
        "delta": st.fixed_dictionaries(
            {},
            optional={
                "text": WEIRD,
                "thinking": WEIRD,
                "signature": WEIRD,
                "partial_json": WEIRD,
                "stop_reason": WEIRD,
            },
        ),
        "usage": WEIRD,
        "message": WEIRD,
        "error": WEIRD,
    },
)


def told(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def hold(answer: Answer, sent: list[str]) -> None:
    """The contract of a stream, for whatever was sent."""
    deltas: list[Delta] = []
    for data in sent:
        deltas += answer.take(data)
    deltas += answer.end()
    kinds = [type(delta) for delta in deltas]
    assert kinds.count(Finish) == 1
    assert kinds[-1] is Finish
    assert kinds.count(UsageSeen) <= 1
    begun = [delta.index for delta in deltas if isinstance(delta, BlockStart)]
    ended = [delta.index for delta in deltas if isinstance(delta, BlockEnd)]
    assert len(set(begun)) == len(begun)
    assert set(ended) <= set(begun)
    last = deltas[-1]
    assert isinstance(last, Finish)
    assert (last.reason.failure is None) == (last.reason.kind not in ("error", "aborted"))
    stream = Stream()
    for delta in deltas:
        stream.take(delta, 0)
        msgspec.json.encode(delta)
    msgspec.json.decode(stream.records)
    kept(stream)
    if last.reason.failure is None:
        assert sorted(ended) == sorted(begun)


@given(st.lists(st.one_of(CHUNKS, CHUNKS, JSON, st.just("[DONE]"), st.text()), max_size=8))
def test_any_chat_chunks_keep_the_contract(chunks: list[Any]) -> None:
    hold(ChatAnswer("secret"), list(map(told, chunks)))


@given(st.lists(st.one_of(EVENTS, EVENTS, EVENTS, JSON, st.text()), max_size=10))
def test_any_messages_events_keep_the_contract(sent: list[Any]) -> None:
    hold(MessagesAnswer("secret"), list(map(told, sent)))


async def _read(data: bytes, cuts: list[int]) -> list[tuple[str, str]]:
    async def chunks() -> AsyncIterator[bytes]:
        at = 0
        for cut in sorted(cuts):
            yield data[at:cut]
            at = cut
        yield data[at:]

    return [event async for event in events(chunks(), silence=5)]


LINES = st.lists(
    st.sampled_from(
        [
            b"data: a",
            b"data:b",
            b"data",
            b"data: \xe2\x80\xa8\xc2\x85 c",
            b"data: \xff",
            b"event: e",
            b": comment",
            b"id: 3",
            b"",
            b"",
        ]
    ),
    min_size=1,
    max_size=8,
)


@given(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.lists(st.integers(0, 80), max_size=6))
def test_events_do_not_depend_on_how_bytes_come(
    lines: list[bytes], end: bytes, cuts: list[int]
) -> None:
    data = b"data: first\n\n".replace(b"\n", end) + end.join(lines) + end
    assert asyncio.run(_read(data, cuts)) == asyncio.run(_read(data, []))


def test_lines_end_at_cr_and_lf_only() -> None:
    text = "data: a\u2028b\u0085c\x0bd\x1ce\n\n".encode()
    assert asyncio.run(_read(text, [])) == [("", "a\u2028b\u0085c\x0bd\x1ce")]


def test_an_event_is_its_name_and_its_lines() -> None:
    sent = b"\xef\xbb\xbfevent: e\ndata: one\ndata:two\nid: 4\nretry: 9\n: c\n\n\ndata: three\n"
    assert asyncio.run(_read(sent, [])) == [("e", "one\ntwo"), ("", "three")]


def test_a_line_that_breaks_off_is_no_event() -> None:
    assert asyncio.run(_read(b'data: 1\n\ndata: {"a"', [])) == [("", "1")]


def test_a_body_without_events_is_told() -> None:
    with pytest.raises(NoEvents, match="not found"):
        asyncio.run(_read(b"<html>\nnot found", []))


def test_an_endless_line_is_given_up() -> None:
    lines = Lines()
    for _ in range(64):
        lines.feed(b"a" * (1 << 20))
    with pytest.raises(Oversized):
        lines.feed(b"a")


def test_a_long_line_in_small_pieces_is_joined_once() -> None:
    lines = Lines()
    for _ in range(20_000):
        assert lines.feed(b"abcdefghij") == []
    assert lines.feed(b"\n") == [b"abcdefghij" * 20_000]
