"""A live agent over HTTP, on both wires with the official SDKs: every fault, and what it ends in."""

import json
from typing import Any

import pytest

from live_agent import LiveAgent, ScriptTool, run
from slicetape.log.events import AssistantAttempt, ToolResult
from slicetape.models.routes import model_from
from slicetape.testing.replies import Asked, Reply, Script
from slicetape.testing.server import Provider
from slicetape.wire.lint_wire import lint_chat, lint_messages

CHAT, MESSAGES = "deepseek:scripted", "anthropic:scripted"
SPECS = pytest.mark.parametrize("spec", [CHAT, MESSAGES, "openai:scripted"])
LOOK = (Asked("look", {"n": 1}),)


async def served(
    spec: str, replies: list[Reply], faults: dict[int, str], *said: str, **more: Any
) -> tuple[LiveAgent, Provider, list[str]]:
    """A session against the provider: the agent, the provider, and how each turn ended."""
    script = Script.of(replies)
    script.faults = faults

    async def no_wait(_: float) -> None:
        return

    async with Provider(script, sleep=no_wait) as provider:
        model = model_from(spec, environ=provider.environ)
        live = LiveAgent([], [ScriptTool("look", lambda _: "seen")], route=model.route, **more)
        live.agent.use(model)
        ends = [(await live.turn(text)).kind for text in said or ("Go.",)]
        await live.agent.close()
        lint = lint_messages if spec == MESSAGES else lint_chat
        for received in provider.received:
            assert lint(received.body) == []
        return live, provider, ends


TRIED_AGAIN = ("429", "500", "529", "cut", "cut-call", "empty")


@SPECS
@pytest.mark.parametrize("fault", TRIED_AGAIN)
def test_what_can_be_tried_again_is(fault: str, spec: str) -> None:
    live, provider, ends = run(lambda: served(spec, [Reply(text="At last.")], {1: fault}))
    assert ends == ["completed"]
    assert len(provider.received) == 2
    assert len(live.of(AssistantAttempt)) == 1
    assert provider.received[0].body == provider.received[1].body, "the same bytes again"


ENDS = {
    "400": "INVALID_REQUEST",
    "overflow": "CONTEXT_WINDOW_EXCEEDED",
    "malformed": "MALFORMED_RESPONSE",
}


@SPECS
@pytest.mark.parametrize("fault", ENDS)
def test_what_cannot_be_mended_ends_the_turn_and_the_next_one_runs(fault: str, spec: str) -> None:
    live, _, ends = run(lambda: served(spec, [Reply(text="Fine.")], {1: fault}, "One.", "Two."))
    assert ends == ["error", "completed"]
    assert live.watch.failures == [(ENDS[fault], None)]


@SPECS
@pytest.mark.parametrize("fault", ["duplicate-ids", "empty-id", "no-name"])
def test_calls_that_no_provider_takes_back_are_mended(fault: str, spec: str) -> None:
    replies = [Reply(tools=(*LOOK, *LOOK)), Reply(text="Done.")]
    live, provider, ends = run(lambda: served(spec, replies, {1: fault}))
    assert ends == ["completed"]
    assert [received.status for received in provider.received] == [200, 200]
    assert len(live.of(ToolResult)) == 2


@SPECS
def test_a_slow_first_byte_is_waited_for(spec: str) -> None:
    _, _, ends = run(lambda: served(spec, [Reply(text="Slow.")], {1: "slow-first"}))
    assert ends == ["completed"]


@SPECS
def test_the_cache_is_read_within_a_turn(spec: str) -> None:
    replies = [*[Reply(text="Look. " * 300, tools=LOOK)] * 4, Reply(text="Done.")]
    _, provider, _ = run(lambda: served(spec, replies, {}))
    last = provider.received[-1].usage
    key = "cache_read_input_tokens" if spec == MESSAGES else "prompt_cache_hit_tokens"
    total = last.get("prompt_tokens") or sum(v for k, v in last.items() if "input" in k)
    assert last[key] > 0.7 * total


def test_signed_thinking_goes_back_as_it_came() -> None:
    replies = [Reply(reasoning="Because of it.", tools=LOOK), Reply(text="Done.")]
    _, provider, _ = run(lambda: served(MESSAGES, replies, {}))
    [answer] = [
        message
        for message in json.loads(provider.received[1].body)["messages"]
        if message["role"] == "assistant"
    ]
    assert answer["content"][0] == {
        "type": "thinking",
        "thinking": "Because of it.",
        "signature": "signed:14",
    }


def test_reasoning_goes_back_to_deepseek_on_every_answer() -> None:
    replies = [
        Reply(reasoning="Hm.", tools=LOOK),
        Reply(reasoning="Ah.", text="Done."),
        Reply(text="x"),
    ]
    _, provider, _ = run(lambda: served(CHAT, replies, {}, "One.", "Two."))
    sent = json.loads(provider.received[2].body)["messages"]
    said = [message.get("reasoning_content") for message in sent if message["role"] == "assistant"]
    assert said == ["Hm.", "Ah."]
