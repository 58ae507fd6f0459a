"""The scripted provider asked by the official libraries, on both wires: answers, usage, faults."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from slicetape.testing.improvising import improvised
from slicetape.testing.replies import Asked, Reply, Script
from slicetape.testing.server import Provider
from slicetape.testing.speaker import Billing

HELLO = [{"role": "user", "content": "Hello."}]
TWO_CALLS = (Asked("read", {"file_path": "a.py"}), Asked("glob", {"pattern": "**/*.py"}))
FULL = Reply(
    text="Let me look at the two of them.", reasoning="They ask for a look.", tools=TWO_CALLS
)

BROKE = (openai.OpenAIError, anthropic.AnthropicError, httpx2.HTTPError, ValueError)
"""What the libraries raise when a stream breaks."""

OPENED: list[Any] = []
"""The libraries' clients that are to be closed."""


class Chat:
    """Asks as OpenAI's library does."""

    wire = "chat"

    def __init__(self, provider: Provider, *, base: str = "/v1") -> None:
        self.sdk = openai.AsyncOpenAI(
            base_url=provider.url + base, api_key="k", max_retries=0, timeout=5
        )
        OPENED.append(self.sdk)

    async def whole(self, messages: Any = HELLO, **more: Any) -> dict[str, Any]:
        made = await self.sdk.chat.completions.create(model="any", messages=messages, **more)
        [choice] = made.choices
        calls = [
            (call.id, call.function.name, call.function.arguments)  # type: ignore[union-attr]
            for call in choice.message.tool_calls or ()
        ]
        thought = getattr(choice.message, "reasoning_content", "")
        usage = made.usage.model_dump(exclude_none=True) if made.usage else {}
        return {
            "text": choice.message.content or "",
            "reasoning": thought,
            "calls": calls,
            "end": choice.finish_reason,
            "usage": usage,
        }

    async def streamed(self, messages: Any = HELLO, **more: Any) -> dict[str, Any]:
        got: dict[str, Any] = {"text": "", "reasoning": "", "calls": [], "end": "", "usage": {}}
        calls: dict[int, list[str]] = {}
        options = {"include_usage": True}
        stream = await self.sdk.chat.completions.create(
            model="any", messages=messages, stream=True, stream_options=options, **more
        )
        async for chunk in stream:
            if chunk.usage:
                got["usage"] = chunk.usage.model_dump(exclude_none=True)
            for choice in chunk.choices:
                got["text"] += choice.delta.content or ""
                got["reasoning"] += getattr(choice.delta, "reasoning_content", None) or ""
                for part in choice.delta.tool_calls or ():
                    call = calls.setdefault(part.index, ["", "", ""])
                    call[0] += part.id or ""
                    call[1] += part.function.name or "" if part.function else ""
                    call[2] += part.function.arguments or "" if part.function else ""
                got["end"] = choice.finish_reason or got["end"]
        got["calls"] = [tuple(call) for call in calls.values()]
        return got


class Messages:
    """Asks as Anthropic's library does."""

    wire = "messages"

    def __init__(self, provider: Provider) -> None:
        self.sdk = anthropic.AsyncAnthropic(
            base_url=provider.url, api_key="k", max_retries=0, timeout=5
        )
        OPENED.append(self.sdk)

    async def whole(self, messages: Any = HELLO, **more: Any) -> dict[str, Any]:
        return _told(
            await self.sdk.messages.create(model="any", max_tokens=99, messages=messages, **more)
        )

    async def streamed(self, messages: Any = HELLO, **more: Any) -> dict[str, Any]:
        asked = self.sdk.messages.stream(model="any", max_tokens=99, messages=messages, **more)
        async with asked as stream:
            return _told(await stream.get_final_message())


def _told(made: Any) -> dict[str, Any]:
    kinds: dict[str, list[Any]] = {}
    for block in made.content:
        kinds.setdefault(block.type, []).append(block)
    ends = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length"}
    return {
        "text": "".join(block.text for block in kinds.get("text", ())),
        "reasoning": "".join(block.thinking for block in kinds.get("thinking", ())),
        "calls": [(b.id, b.name, json.dumps(b.input)) for b in kinds.get("tool_use", ())],
        "end": ends[made.stop_reason],
        "usage": made.usage.model_dump(exclude_none=True),
    }


both = pytest.mark.parametrize("client", [Chat, Messages])
each_way = pytest.mark.parametrize("way", ["streamed", "whole"])
Client = type[Chat] | type[Messages]


def serve(
    script: Script,
    work: Callable[[Provider], Awaitable[Any]],
    *,
    billing: Billing | None = None,
) -> Any:
    """What `work` gives, with the provider at its side; nothing sleeps."""

    async def no_wait(_: float) -> None:
        return

    async def run() -> Any:
        async with Provider(script, sleep=no_wait, billing=billing) as provider:
            try:
                return await asyncio.wait_for(work(provider), 20)
            finally:
                while OPENED:
                    await OPENED.pop().close()

    return asyncio.run(run())


def of(*replies: Reply, **faults: str) -> Script:
    script = Script.of(replies)
    script.faults = {int(number.removeprefix("at_")): kind for number, kind in faults.items()}
    return script


@both
@each_way
def test_an_answer_with_everything_arrives(client: Client, way: str) -> None:
    got = serve(of(FULL), lambda provider: getattr(client(provider), way)())
    assert got["text"] == FULL.text
    assert got["reasoning"] == FULL.reasoning
    assert got["calls"] == [
        ("call_1_1", "read", '{"file_path": "a.py"}'),
        ("call_1_2", "glob", '{"pattern": "**/*.py"}'),
    ]
    assert got["end"] == "tool_calls"


@both
@each_way
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_an_answer_ends_as_the_script_says(client: Client, way: str, finish: str) -> None:
    script = of(Reply(text="So far", finish=finish))
    assert serve(script, lambda provider: getattr(client(provider), way)())["end"] == finish


@both
@each_way
@pytest.mark.parametrize("fault", ["slow", "slow-first"])
def test_a_slow_answer_arrives_whole(client: Client, way: str, fault: str) -> None:
    got = serve(of(FULL, at_1=fault), lambda provider: getattr(client(provider), way)())
    assert got["text"] == FULL.text


STATUSES = {
    "400": (400, "BadRequestError"),
    "401": (401, "AuthenticationError"),
    "429": (429, "RateLimitError"),
    "500": (500, "InternalServerError"),
    "529": (529, "InternalServerError"),
    "overflow": (400, "BadRequestError"),
}


@both
@each_way
@pytest.mark.parametrize("fault", STATUSES)
def test_a_refusal_is_one_to_the_libraries(client: Client, way: str, fault: str) -> None:
    async def work(provider: Provider) -> Any:
        asks = client(provider)
        with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)) as caught:
            await getattr(asks, way)()
        return caught.value, (await getattr(asks, way)())["text"]

    error, text = serve(of(Reply(text="At last."), at_1=fault), work)
    status, _ = STATUSES[fault]
    assert error.status_code == status
    assert error.request_id == "req_1"
    assert error.response.headers.get("retry-after") == ("1" if fault == "429" else None)
    assert text == "At last.", "the same connection serves the next request"


@pytest.mark.parametrize(
    ("client", "says"),
    [
        (Chat, r"maximum context length is 6 tokens. However, your messages result"),
        (lambda p: Chat(p, base=""), r"context length is 6 tokens. However, you requested 10 tok"),
        (Messages, r"prompt is too long: 10 tokens > 6 maximum"),
    ],
)
def test_a_prompt_beyond_the_window_is_refused_in_the_words_of_each(
    client: Callable[[Provider], Chat | Messages], says: str
) -> None:
    async def work(provider: Provider) -> None:
        with pytest.raises((openai.APIStatusError, anthropic.APIStatusError), match=says):
            await client(provider).streamed()

    serve(of(), work, billing=Billing(window=6))


BROKEN = ("cut", "cut-call", "malformed")


@both
@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_stream_is_an_error_to_the_libraries(client: Client, fault: str) -> None:
    async def work(provider: Provider) -> Any:
        asks = client(provider)
        with pytest.raises(BROKE):
            await asks.streamed()
        return (await asks.streamed())["text"]

    assert serve(of(Reply(text="At last."), at_1=fault), work) == "At last."


@both
@each_way
@pytest.mark.parametrize("fault", ["hang", "stall"])
def test_a_client_that_stops_waiting_leaves_nothing_behind(
    client: Client, way: str, fault: str
) -> None:
    async def work(provider: Provider) -> Any:
        asks = client(provider)
        asks.sdk.timeout = 0.2
        with pytest.raises(BROKE):
            await getattr(asks, way)()
        return (await getattr(client(provider), way)())["text"]

    assert serve(of(Reply(text="At last."), at_1=fault), work) == "At last."


@both
@each_way
@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        ("empty-id", [("", "read"), ("", "glob")]),
        ("duplicate-ids", [("call_1", "read"), ("call_1", "glob")]),
        ("no-name", [("call_1_1", ""), ("call_1_2", "")]),
    ],
)
def test_odd_calls_arrive_as_odd_as_they_are(
    client: Client, way: str, fault: str, calls: list[tuple[str, str]]
) -> None:
    got = serve(of(FULL, at_1=fault), lambda provider: getattr(client(provider), way)())
    assert [call[:2] for call in got["calls"]] == calls


@both
@each_way
def test_an_empty_answer_says_nothing(client: Client, way: str) -> None:
    got = serve(of(FULL, at_1="empty"), lambda provider: getattr(client(provider), way)())
    assert (got["text"], got["calls"], got["end"]) == ("", [], "stop")


def test_chat_usage_obeys_the_law_of_whole_blocks() -> None:
    """A request reads what the one before sent and was answered, in blocks of 128 tokens."""
    question = {"role": "user", "content": "What is in it? " * 60}

    async def work(provider: Provider) -> list[dict[str, Any]]:
        asks, messages, usages = Chat(provider, base=""), [question], []
        for _ in range(4):
            got = await asks.streamed(messages)
            usages.append(got["usage"])
            answer = {"role": "assistant", "content": got["text"]}
            messages += [answer, {"role": "user", "content": "And then?"}]
        assert provider.stats["prefix_breaks"] == 0
        return usages

    usages = serve(of(*[Reply(text="It is a long story. " * 40)] * 4), work)
    before = 0
    for usage in usages:
        assert usage["prompt_cache_hit_tokens"] == before // 128 * 128
        hit, miss = usage["prompt_cache_hit_tokens"], usage["prompt_cache_miss_tokens"]
        assert usage["prompt_tokens_details"]["cached_tokens"] == hit
        assert hit + miss == usage["prompt_tokens"]
        before = usage["total_tokens"]
    assert before > 1_000


def test_messages_usage_honours_the_breakpoints() -> None:
    def marked(text: str, *, mark: bool) -> dict[str, Any]:
        control = {"cache_control": {"type": "ephemeral"}} if mark else {}
        return {"role": "user", "content": [{"type": "text", "text": text, **control}]}

    first, answer = "It begins. " * 500, {"role": "assistant", "content": "Yes."}

    async def work(provider: Provider) -> list[dict[str, Any]]:
        asks = Messages(provider)
        requests = (
            [marked(first, mark=False)],
            [marked(first, mark=True)],
            [marked(first, mark=False), answer, marked("More.", mark=True)],
        )
        return [(await asks.whole(messages))["usage"] for messages in requests]

    plain, wrote, read = serve(of(), work)
    counts = [
        (u["input_tokens"], u["cache_creation_input_tokens"], u["cache_read_input_tokens"])
        for u in (plain, wrote, read)
    ]
    whole = sum(counts[0])
    assert counts[0] == (0, whole, 0), "without marks the whole prompt is an entry"
    assert counts[1] == (0, 0, whole), "marks are no part of what is cached"
    assert counts[2][2] == whole
    assert counts[2][1] > 0


def test_tokens_are_counted_by_the_named_counter() -> None:
    said: Any = [{"role": "user", "content": "hello " * 100}]

    async def work(provider: Provider) -> int:
        asks = Messages(provider)
        counted = await asks.sdk.messages.count_tokens(model="any", messages=said)
        usage = (await asks.whole(said))["usage"]
        assert counted.input_tokens == sum(usage[key] for key in usage if "input" in key)
        return counted.input_tokens

    assert serve(of(), work, billing=Billing(tokens="bytes")) == 190
    assert serve(of(), work, billing=Billing(tokens="o200k")) == 108


def test_the_models_are_listed() -> None:
    async def work(provider: Provider) -> list[str]:
        return [model.id async for model in Chat(provider).sdk.models.list()]

    assert serve(of(), work) == ["scripted"]


@both
def test_it_improvises_a_whole_turn(client: Client) -> None:
    tool: dict[str, Any] = {"name": "glob", "description": "Find.", "input_schema": {}}
    if client is Chat:
        tool = {"type": "function", "function": {"name": "glob", "parameters": {}}}
    said = [{"role": "user", "content": "One."}, {"role": "user", "content": "Two."}]
    if client is Messages:
        said.insert(1, {"role": "assistant", "content": "ok"})

    async def work(provider: Provider) -> Any:
        return await client(provider).streamed(said, tools=[tool])

    got = serve(Script.of([], otherwise=improvised), work)
    assert [call[1:] for call in got["calls"]] == [("glob", '{"pattern": "*"}')]
