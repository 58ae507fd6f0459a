"""What the scripted provider takes and refuses, byte by byte, and what it says of conversations."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicetape.errors import PriceError, UsageError
from slicetape.testing.answers import Answer
from slicetape.testing.connection import MOST_BYTES
from slicetape.testing.improvising import improvised
from slicetape.testing.refusals import Dialect, Refusal
from slicetape.testing.replies import Reply, Script
from slicetape.testing.server import Provider, Received
from slicetape.testing.speaker import Billing, Speaker

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[Any]]

HELLO = {"model": "m", "messages": [{"role": "user", "content": "Hello."}]}


def talked(talk: Talk, *replies: Reply) -> tuple[Any, list[Received]]:
    """What one connection gave, and what the provider received."""

    async def run() -> tuple[Any, list[Received]]:
        async with Provider(Script.of(replies)) as provider:
            port = int(provider.url.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                return await asyncio.wait_for(talk(reader, writer), 10), provider.received
            finally:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()

    return asyncio.run(run())


async def whole(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], Any]:
    """Status, headers and JSON of an answer with a length."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines if line)
    body = await reader.readexactly(int(headers["content-length"]))
    return int(first.split()[1]), headers, json.loads(body)


def post(path: str, body: bytes, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "host: x", f"content-length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answer_to(data: bytes) -> tuple[int, dict[str, str], Any]:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Any:
        writer.write(data)
        return await whole(reader)

    got: tuple[int, dict[str, str], Any] = talked(talk)[0]
    return got


def test_a_connection_is_kept_from_request_to_request() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> list[str]:
        said = []
        for _ in range(3):
            writer.write(post("/v1/chat/completions", json.dumps(HELLO).encode()))
            answer = (await whole(reader))[2]
            said.append(answer["choices"][0]["message"]["content"])
        return said

    said, received = talked(talk, *(Reply(text=text) for text in "abc"))
    assert said == ["a", "b", "c"]
    assert [one.path for one in received] == ["/v1/chat/completions"] * 3


def test_requests_that_come_at_once_are_answered_in_order() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> list[int]:
        writer.write(b"GET /__stats HTTP/1.1\r\n\r\nGET /nothing HTTP/1.1\r\n\r\n")
        return [(await whole(reader))[0], (await whole(reader))[0]]

    assert talked(talk)[0] == [200, 404]


def test_a_connection_is_closed_when_the_client_wants_it() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"GET /v1/models HTTP/1.1\r\nconnection: close\r\n\r\n")
        await whole(reader)
        return await reader.read()

    assert talked(talk)[0] == b""


def test_a_chunked_request_is_read() -> None:
    body = json.dumps(HELLO).encode()
    head = b"POST /chat/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"
    parts = b"".join(b"%x;x=y\r\n%s\r\n" % (len(p), p) for p in (body[:7], body[7:]))
    status, _, answer = answer_to(head + parts + b"0\r\ntrailer: x\r\n\r\n")
    assert (status, answer["object"]) == (200, "chat.completion")


def test_a_client_that_asks_first_is_told_to_go_on() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Any:
        writer.write(
            b"POST /chat/completions HTTP/1.1\r\nexpect: 100-continue\r\n"
            b"content-length: %d\r\n\r\n" % len(json.dumps(HELLO))
        )
        told = await reader.readuntil(b"\r\n\r\n")
        writer.write(json.dumps(HELLO).encode())
        return told, (await whole(reader))[0]

    assert talked(talk)[0] == (b"HTTP/1.1 100 Continue\r\n\r\n", 200)


@pytest.mark.parametrize(
    ("data", "status", "says"),
    [
        (b"GET /x HTTP/1.1\r\nh: " + b"x" * 200_000 + b"\r\n\r\n", 431, "head of the request"),
        (b"POST /x HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400, "content-length is no number"),
        (
            b"POST /x HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % (MOST_BYTES + 1),
            413,
            "longer than 268,435,456 bytes",
        ),
        (
            b"POST /x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nfffffffff\r\n",
            413,
            "longer than 268,435,456 bytes",
        ),
        (
            b"POST /x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n-5\r\n",
            400,
            "a chunk has no size",
        ),
        (
            b"POST /x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n" + b"0" * 200_000,
            431,
            "a line between chunks is too long",
        ),
        (
            b"POST /x HTTP/1.1\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx",
            415,
            "compressed requests are not read",
        ),
        (b"GET /v2/x HTTP/1.1\r\n\r\n", 404, "there is nothing at GET /v2/x; POST one of /chat/c"),
        (b"\r\n\r\n", 404, "there is nothing at"),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, status: int, says: str) -> None:
    got, _, answer = answer_to(data)
    assert got == status
    assert says in answer["error"]["message"]


CALL = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
CALLS = {"role": "assistant", "content": "", "tool_calls": [CALL]}
THOUGHT = {**CALLS, "reasoning_content": "Hm."}
USER = {"role": "user", "content": "Go."}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "text"}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "r", "input": {}}]}
ANSWERED = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "c", "content": "text"}],
}

REFUSED: list[tuple[Dialect, Any, str]] = [
    ("openai", b"{", "the body is not JSON"),
    ("openai", b"\xff\xfe", "the body is not JSON"),
    ("openai", b"[]", "the body is not a JSON object"),
    ("openai", b"[" * 100_000, "the body is not JSON"),
    ("openai", {"messages": [USER]}, "model: a name is required"),
    ("openai", {"model": "m", "messages": []}, "at least one message is required"),
    ("openai", {"model": "m", "messages": [7]}, "messages[0]"),
    ("openai", [{"role": "king", "content": "x"}], "is not a role"),
    ("openai", [USER, CALLS], "has no result directly behind its message (unanswered-call)"),
    ("openai", [USER, CALLS, USER, RESULT], "unanswered-call"),
    ("openai", [USER, RESULT], "orphan-result"),
    ("openai", [USER, CALLS, RESULT, RESULT], "repeated-result"),
    ("openai", [USER, {**CALLS, "tool_calls": [{**CALL, "id": ""}]}], "empty-call-id"),
    ("deepseek", [USER, THOUGHT, RESULT, CALLS, RESULT], "missing-reasoning"),
    ("anthropic", [USER, USE], "unanswered-call"),
    ("anthropic", [USER, ANSWERED], "orphan-result"),
    ("anthropic", [USE, ANSWERED], "first-role"),
    ("anthropic", [USER, USER], "consecutive-roles"),
    ("anthropic", [{"role": "system", "content": "x"}, USER], 'role "system" is not taken'),
    ("anthropic", {"model": "m", "messages": [USER]}, "max_tokens: a number of at least 1"),
    (
        "anthropic",
        [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {}}] * 5}],
        "5 blocks have cache_control; at most 4 are taken",
    ),
]


def asked(dialect: Dialect, body: Any, script: Script | None = None) -> Answer | Refusal:
    if isinstance(body, list):
        body = {"model": "m", "max_tokens": 9, "messages": body}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Speaker(script or Script.of([])).answer(dialect, data)


@pytest.mark.parametrize(("dialect", "body", "says"), REFUSED)
def test_what_no_provider_takes_is_refused_with_its_reason(
    dialect: Dialect, body: Any, says: str
) -> None:
    refused = asked(dialect, body)
    assert isinstance(refused, Refusal)
    assert (refused.status, refused.invalid) == (400, True)
    assert says in refused.text


@pytest.mark.parametrize(
    ("dialect", "messages"),
    [
        ("openai", [USER, USER, CALLS, RESULT, CALLS, RESULT]),
        ("deepseek", [USER, THOUGHT, RESULT, THOUGHT, RESULT]),
        ("anthropic", [USER, USE, ANSWERED]),
    ],
)
def test_what_a_provider_takes_is_answered(dialect: Dialect, messages: Any) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": messages, "an_unknown": {"member": 1}}
    assert isinstance(asked(dialect, body), Answer)


def test_a_refusal_is_written_as_each_provider_writes_it() -> None:
    refusal = Refusal(429, "later")
    error = {"type": "rate_limit_error", "message": "later"}
    assert refusal.body("anthropic", 3) == {"type": "error", "error": error, "request_id": "req_3"}
    assert refusal.body("openai", 3) == {
        "error": {**error, "param": None, "code": "rate_limit_error"}
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "id", "tool_calls", "function", "name", "input"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
odd_messages = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "system"]), "content": json_values},
        optional={"tool_calls": json_values, "tool_call_id": json_values},
    ),
    max_size=4,
)


@given(
    dialect=st.sampled_from(["deepseek", "openai", "anthropic"]),
    messages=odd_messages,
    more=st.fixed_dictionaries({}, optional={"tools": json_values, "system": json_values}),
)
def test_no_body_makes_it_fail(dialect: Dialect, messages: Any, more: dict[str, Any]) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": messages, **more}
    answer = asked(dialect, body, Script.of([], otherwise=improvised))
    assert isinstance(answer, Answer | Refusal)


def test_a_body_that_is_nested_too_deeply_is_refused() -> None:
    deep: Any = "x"
    for _ in range(600):
        deep = {"properties": deep}
    refused = asked("openai", {"model": "m", "messages": [USER], "tools": [deep]})
    assert isinstance(refused, Answer) or refused.text == "the body is nested too deeply"


def test_keys_are_not_kept() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Any:
        body = json.dumps(HELLO).encode()
        keys = ("Authorization: Bearer sk-1", "X-Api-Key: sk-2", "X-Session: s")
        writer.write(post("/chat/completions?beta=true", body, *keys))
        return await whole(reader)

    [received] = talked(talk)[1]
    assert received.headers["x-session"] == "s"
    assert "sk-" not in str(received.headers)
    assert received.body == json.dumps(HELLO)
    assert received.path == "/chat/completions"


def test_a_port_that_is_taken_is_told() -> None:
    async def run() -> None:
        async with Provider(Script.of([])) as first:
            port = int(first.url.rpartition(":")[2])
            with pytest.raises(UsageError, match=rf"port {port} of 127.0.0.1: .*; choose another"):
                await Provider(Script.of([]), port=port).start()

    asyncio.run(run())


def test_unknown_rules_and_counters_are_refused_at_once() -> None:
    with pytest.raises(PriceError, match="no cache rules 'odd'"):
        Provider(Script.of([]), billing=Billing(caches={"openai": "odd"}))
    with pytest.raises(PriceError, match="no token counter 'odd'"):
        Provider(Script.of([]), billing=Billing(tokens="odd"))


def test_stopping_ends_what_is_open() -> None:
    async def run() -> bytes:
        provider = Provider(Script.of([Reply(text="x", fault="hang")]))
        await provider.start()
        port = int(provider.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(post("/chat/completions", json.dumps(HELLO).encode()))
        while not provider.received:
            await asyncio.sleep(0)
        await asyncio.wait_for(provider.stop(), 5)
        await provider.stop()
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        return b""

    assert asyncio.run(run()) == b""
