"""Both models against a server on this machine: bytes out, deltas in, connections given up."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from canned_http import CHAT_END, Reply, Request, Server, deltas_of, events, hang, served
from data import shared
from slicetape.errors import ConfigError
from slicetape.log.messages import Reasoning, Text, ToolCall
from slicetape.log.payloads import Usage
from slicetape.loop.deltas import BlockEnd, Delta, Finish, FinishReason, UsageSeen
from slicetape.loop.protocols import Model
from slicetape.models.chat_answer import ChatAnswer
from slicetape.models.keys import Secret
from slicetape.models.place import Place
from slicetape.models.routes import Chosen, model_from
from slicetape.models.transport import Carrier

KEY = "sk-test-0123456789abcdef"
ENVIRON = {
    "DEEPSEEK_API_KEY": KEY,
    "OPENAI_API_KEY": KEY,
    "ANTHROPIC_API_KEY": KEY,
}
BODY = '{"model":"m",  "messages":[{"role":"user","content":"Grüße \\u2028 \\ud83d"}]}'.encode()
WIRES = ("deepseek:deepseek-chat", "anthropic:claude-opus-5")


def chat(*deltas: dict[str, Any], finish: str | None = "stop", usage: Any = None) -> bytes:
    chunks: list[Any] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        chunks.append({"choices": [], "usage": usage})
    return events(*chunks)


CHAT_HELLO = chat({"content": "Hel"}, {"content": "lo"}) + CHAT_END
MESSAGES_HELLO = events(
    {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
    names=True,
)


def hello(spec: str) -> bytes:
    return MESSAGES_HELLO if spec.startswith("anthropic") else CHAT_HELLO


def model_at(server: Server, spec: str, **chosen: Any) -> Model:
    return model_from(spec, chosen=Chosen(base_url=server.url, **chosen), environ=ENVIRON)


def ask(spec: str, *replies: Reply, times: int = 1, **chosen: Any) -> tuple[list[Delta], Server]:
    """The deltas of the last of `times` requests."""

    async def run() -> tuple[list[Delta], Server]:
        async with served(*replies) as server:
            model = model_at(server, spec, **chosen)
            for _ in range(times):
                got = await deltas_of(model.stream(BODY))
            await model.close()
            return got, server

    return asyncio.run(run())


def finish_of(deltas: list[Delta]) -> FinishReason:
    assert [type(d) for d in deltas].count(Finish) == 1
    last = deltas[-1]
    assert isinstance(last, Finish)
    return last.reason


def failure_of(deltas: list[Delta]) -> Any:
    failure = finish_of(deltas).failure
    assert failure is not None
    return failure


@pytest.mark.parametrize("spec", WIRES)
def test_the_bytes_of_the_loop_arrive_as_they_are(spec: str) -> None:
    deltas, server = ask(spec, Reply([hello(spec)]))
    [request] = server.requests
    assert request.body == BODY
    assert request.method == "POST"
    assert finish_of(deltas).kind == "stop"


@pytest.mark.parametrize("spec", WIRES)
def test_a_request_goes_to_the_path_of_its_wire_with_its_key(spec: str) -> None:
    _, server = ask(spec, Reply([hello(spec)]))
    [request] = server.requests
    headers = request.headers
    assert headers["content-type"] == "application/json"
    assert headers["accept"] == "text/event-stream"
    if spec.startswith("anthropic"):
        assert (request.path, headers["x-api-key"]) == ("/v1/messages", KEY)
        assert "authorization" not in headers
        assert headers["anthropic-version"] == "2023-06-01"
        assert "anthropic-beta" not in headers
    else:
        assert (request.path, headers["authorization"]) == ("/chat/completions", f"Bearer {KEY}")


def test_account_names_in_the_environment_stay_with_their_provider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-private")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-private")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-team: private\nauthorization: private")
    _, server = ask(WIRES[0], Reply([CHAT_HELLO]))
    headers = server.requests[0].headers
    assert "private" not in json.dumps(dict(headers))
    assert headers["authorization"] == f"Bearer {KEY}"
    _, server = ask("openai:gpt-5", Reply([CHAT_HELLO]))
    headers = server.requests[0].headers
    assert headers["openai-organization"] == "org-private"
    assert headers.get("x-team", "private") == "private"  # not every version of the SDK knows it


def test_the_recorded_chat_stream_becomes_blocks() -> None:
    stream = shared("wire/sse/chat_completions.sse").read_bytes()
    deltas, _ = ask("openai:gpt-5", Reply([stream]))
    blocks = [d.block for d in deltas if isinstance(d, BlockEnd)]
    assert blocks == [
        Text("Step 1 of turn 1."),
        ToolCall("call_c55693440", "read_file", '{"path": "README.md"}'),
        ToolCall("call_c55693441", "read_file", '{"path": "src/app.py"}'),
    ]
    assert finish_of(deltas).kind == "tool-calls"
    assert [type(d) for d in deltas[-2:]] == [UsageSeen, Finish]


def test_the_recorded_messages_stream_becomes_blocks() -> None:
    stream = shared("wire/sse/anthropic_messages.sse").read_bytes()
    deltas, _ = ask(WIRES[1], Reply([stream]))
    blocks = [d.block for d in deltas if isinstance(d, BlockEnd)]
    assert blocks == [
        Text("Step 1 of turn 1."),
        ToolCall("toolu_0e14a98c0", "read_file", '{"path": "README.md"}'),
        ToolCall("toolu_0e14a98c1", "read_file", '{"path": "src/app.py"}'),
    ]
    assert UsageSeen(Usage(42, 15, 0, 0)) in deltas
    assert finish_of(deltas).kind == "tool-calls"


@pytest.mark.parametrize("spec", WIRES)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_where_the_network_cuts_a_stream_does_not_matter(spec: str, size: int) -> None:
    whole, _ = ask(spec, Reply([hello(spec)]))
    data = hello(spec)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert ask(spec, Reply(pieces))[0] == whole


@pytest.mark.parametrize("spec", WIRES)
def test_the_next_request_uses_the_same_connection(spec: str) -> None:
    _, server = ask(spec, Reply([hello(spec)]), Reply([hello(spec)]), times=2)
    assert (len(server.requests), server.connections) == (2, 1)


@pytest.mark.parametrize("spec", WIRES)
def test_a_finished_answer_does_not_wait_for_its_connection(spec: str) -> None:
    deltas, _ = ask(spec, Reply([hello(spec), hang]))
    assert finish_of(deltas).kind == "stop"


@pytest.mark.parametrize("spec", WIRES)
@pytest.mark.parametrize("begun", [True, False], ids=["mid-stream", "before a byte"])
def test_cancelling_closes_the_connection_at_once(spec: str, begun: bool) -> None:
    async def run() -> None:
        pieces = [hello(spec)[:150], hang] if begun else [hang]
        async with served(Reply(pieces)) as server:
            model = model_at(server, spec)
            asking = asyncio.create_task(deltas_of(model.stream(BODY)))
            async with asyncio.timeout(5):
                while not server.requests:
                    await asyncio.sleep(0)
            for _ in range(50):
                await asyncio.sleep(0)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await asyncio.wait_for(server.gone.wait(), 2)
            await model.close()

    asyncio.run(run())


@pytest.mark.parametrize("spec", WIRES)
def test_leaving_the_iteration_closes_the_connection(spec: str) -> None:
    async def run() -> None:
        async with served(Reply([hello(spec)[: -len(CHAT_END) - 90], hang])) as server:
            model = model_at(server, spec)
            stream: Any = model.stream(BODY)
            async for _ in stream:
                break
            await stream.aclose()
            await asyncio.wait_for(server.gone.wait(), 2)
            await model.close()

    asyncio.run(run())


@pytest.mark.parametrize("spec", WIRES)
@pytest.mark.parametrize("begun", [True, False], ids=["mid-stream", "before the headers"])
def test_silence_is_a_timeout(spec: str, begun: bool) -> None:
    reply = Reply([hello(spec)[:150], hang]) if begun else Reply([hang], head=False)
    failure = failure_of(ask(spec, reply, silence_s=0.05)[0])
    assert failure.code == "TIMEOUT"
    assert failure.message.startswith("nothing came from http://127.0.0.1:")


@pytest.mark.parametrize("spec", WIRES)
def test_comments_keep_a_stream_alive(spec: str) -> None:
    async def comment(server: Server, writer: asyncio.StreamWriter) -> None:
        for _ in range(6):
            writer.write(b"4\r\n: k\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.02)

    deltas, _ = ask(spec, Reply([comment, hello(spec)]), silence_s=0.1)
    assert finish_of(deltas).kind == "stop"


@pytest.mark.parametrize("spec", WIRES)
def test_a_connection_that_breaks_is_a_transport_failure(spec: str) -> None:
    deltas, _ = ask(spec, Reply([hello(spec)[:150]], end=False))
    failure = failure_of(deltas)
    assert failure.code == "TRANSPORT"
    assert failure.message.startswith("a broken connection to http://127.0.0.1:")


@pytest.mark.parametrize("spec", WIRES)
def test_no_server_is_a_transport_failure(spec: str) -> None:
    async def run() -> list[Delta]:
        async with served() as server:
            pass
        return await deltas_of(model_at(server, spec).stream(BODY))

    failure = failure_of(asyncio.run(run()))
    assert failure.code == "TRANSPORT"
    assert failure.message.startswith("no connection to http://127.0.0.1:")


@pytest.mark.parametrize("spec", WIRES)
def test_an_answer_that_is_cut_is_a_closed_stream(spec: str) -> None:
    assert failure_of(ask(spec, Reply([hello(spec)[:150]]))[0]).code == "STREAM_CLOSED"


@pytest.mark.parametrize("spec", WIRES)
def test_an_error_status_tells_code_wait_and_request(spec: str) -> None:
    body = json.dumps({"error": {"message": f"slow down, {KEY}", "type": "rate_limit_error"}})
    headers = {"retry-after": "7", "x-request-id": "req-9", "content-type": "application/json"}
    failure = failure_of(ask(spec, Reply([body.encode()], 429, headers))[0])
    assert failure.code == "RATE_LIMIT"
    assert failure.status == 429
    assert failure.message == "slow down, [key]"
    assert failure.provider_retry_after_ms == 7_000
    assert failure.request_id == "req-9"


def test_a_wait_until_a_date_is_counted_from_the_clock_that_was_given() -> None:
    headers = {"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}

    async def run() -> list[Delta]:
        async with served(Reply([b"{}"], 503, headers)) as server:
            place = Place(url=server.url, key=Secret(KEY), sdk="openai", now=lambda: 57.5)
            carrier = Carrier(place)
            got = await deltas_of(carrier.answered("/x", BODY, ChatAnswer(KEY)))
            await carrier.close()
            return got

    assert failure_of(asyncio.run(run())).provider_retry_after_ms == 2_500


def test_an_sdk_that_does_not_fit_is_no_matter_of_the_network() -> None:
    async def run() -> list[Delta]:
        place = Place(url="http://127.0.0.1:1", key=Secret(KEY), sdk="json")
        return await deltas_of(Carrier(place).answered("/x", BODY, ChatAnswer(KEY)))

    failure = failure_of(asyncio.run(run()))
    assert failure.code == "ADAPTER"
    assert "the package json does not fit" in failure.message


@pytest.mark.parametrize("spec", WIRES)
def test_the_sdk_does_not_try_again(spec: str) -> None:
    _, server = ask(spec, Reply([b"{}"], 500), Reply([hello(spec)]))
    assert len(server.requests) == 1


def test_a_reader_that_fails_is_a_malformed_answer_and_not_an_exception() -> None:
    class Failing(ChatAnswer):
        def take(self, data: str) -> Iterator[Delta]:
            raise RecursionError(KEY)

    async def run() -> list[Delta]:
        async with served(Reply([CHAT_HELLO])) as server:
            carrier = Carrier(Place(url=server.url, key=Secret(KEY), sdk="openai"))
            got = await deltas_of(carrier.answered("/x", BODY, Failing(KEY)))
            await carrier.close()
            await carrier.close()
            return got

    failure = failure_of(asyncio.run(run()))
    assert failure.code == "MALFORMED_RESPONSE"
    assert failure.message == "the answer cannot be read (RecursionError)"


def test_an_sdk_that_is_not_installed_is_named() -> None:
    with pytest.raises(ConfigError, match=r"pip install 'slicetape\[no_such_sdk\]'"):
        Place(url="http://127.0.0.1:1", key=Secret(KEY), sdk="no_such_sdk")


@pytest.mark.parametrize("spec", WIRES)
def test_an_event_without_end_is_malformed(spec: str) -> None:
    deltas, _ = ask(spec, Reply([b"data: ", *[b"x" * (4 << 20)] * 17, b"\n\n"]))
    failure = failure_of(deltas)
    assert (failure.code, failure.message) == (
        "MALFORMED_RESPONSE",
        "an event of the answer is beyond 64 MB",
    )


@pytest.mark.parametrize("spec", WIRES)
def test_a_redirect_is_not_followed_with_the_key(spec: str) -> None:
    async def run() -> tuple[list[Delta], list[Request]]:
        async with served(Reply([hello(spec)])) as other:
            to = {"location": f"{other.url}/elsewhere"}
            async with served(Reply([b"moved"], 307, to)) as server:
                model = model_at(server, spec)
                got = await deltas_of(model.stream(BODY))
                await model.close()
                return got, other.requests

    deltas, elsewhere = asyncio.run(run())
    assert failure_of(deltas).code == "HTTP_307"
    assert elsewhere == []


@pytest.mark.parametrize("spec", WIRES)
def test_an_answer_that_is_no_stream_is_told_in_a_sentence(spec: str) -> None:
    page = Reply([b"<html>log in</html>"], headers={"content-type": "text/html"})
    failure = failure_of(ask(spec, page)[0])
    assert failure.code == "MALFORMED_RESPONSE"
    assert "did not stream" in failure.message
    error = Reply([b'{"error": {"message": "no such model", "type": "invalid_request_error"}}'])
    failure = failure_of(ask(spec, error)[0])
    assert (failure.code, failure.message) == ("INVALID_REQUEST", "no such model")
    assert failure_of(ask(spec, Reply())[0]).code == "STREAM_CLOSED"


def test_reasoning_and_usage_of_deepseek_arrive() -> None:
    usage = {
        "prompt_tokens": 1_000,
        "completion_tokens": 20,
        "total_tokens": 1_020,
        "prompt_cache_hit_tokens": 896,
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    stream = chat(
        {"role": "assistant", "content": None, "reasoning_content": ""},
        {"reasoning_content": "Read "},
        {"reasoning_content": "it."},
        {"content": "Yes"},
        usage=usage,
    )
    deltas, _ = ask(WIRES[0], Reply([stream, CHAT_END]))
    assert [d.block for d in deltas if isinstance(d, BlockEnd)] == [
        Reasoning("Read it."),
        Text("Yes"),
    ]
    assert deltas[-2] == UsageSeen(Usage(104, 20, 896, None, 3, 1_020))


def test_a_proxy_of_the_environment_does_not_stand_before_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert finish_of(ask(WIRES[0], Reply([CHAT_HELLO]))[0]).kind == "stop"
