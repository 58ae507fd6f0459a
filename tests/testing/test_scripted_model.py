"""The scripted model in the loop: what it says, what it finds wrong, and sessions built with it."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from live_agent import LiveAgent, ScriptTool, run
from slicetape.errors import LoopError
from slicetape.log.events import AssistantMessage, Header, ToolResult, UserMessage, is_entry
from slicetape.log.log import SessionLog
from slicetape.log.messages import text_of
from slicetape.loop.deltas import Delta, Finish, TextDelta, UsageSeen
from slicetape.loop.protocols import Route
from slicetape.policy.settings import HistorySettings
from slicetape.testing.build import CountedClock, FixedTool, talked
from slicetape.testing.model import ScriptedModel
from slicetape.testing.replies import Asked, Reply
from slicetape.testing.speaker import Billing
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.openai_chat import OPENAI, ChatWire

ROUTES = {
    "deepseek": Route(provider="t", model="m", wire=ChatWire()),
    "openai": Route(provider="t", model="m", wire=ChatWire(OPENAI)),
    "anthropic": Route(provider="t", model="m", wire=MessagesWire(), max_tokens=99),
}
each_route = pytest.mark.parametrize("name", ROUTES)


def body(*messages: dict[str, Any]) -> bytes:
    said = messages or ({"role": "user", "content": "Hello."},)
    options = {"stream": True, "stream_options": {"include_usage": True}}
    return json.dumps({"model": "m", "max_tokens": 9, "messages": said, **options}).encode()


def deltas(model: ScriptedModel, asked: bytes | None = None, **more: Any) -> list[Delta]:
    async def all_of() -> list[Delta]:
        return [delta async for delta in model.stream(asked or body(), **more)]

    return asyncio.run(all_of())


def ending(got: Sequence[Delta]) -> tuple[str, str]:
    [finish] = [delta for delta in got if isinstance(delta, Finish)]
    assert got[-1] is finish
    failure = finish.reason.failure
    return finish.reason.kind, failure.code if failure else ""


@each_route
def test_an_answer_comes_in_small_deltas_with_usage(name: str) -> None:
    text = "word " * 40
    got = deltas(ScriptedModel([Reply(text=text)], route=ROUTES[name]))
    parts = [delta.text for delta in got if isinstance(delta, TextDelta)]
    assert len(parts) > 5
    assert "".join(parts) == text
    [usage] = [delta.usage for delta in got if isinstance(delta, UsageSeen)]
    assert usage.output_tokens == 61
    assert ending(got) == ("stop", "")


ENDINGS = {
    "429": ("error", "RATE_LIMIT"),
    "401": ("error", "AUTH"),
    "402": ("error", "QUOTA"),
    "500": ("error", "SERVER"),
    "529": ("error", "SERVER"),
    "400": ("error", "INVALID_REQUEST"),
    "overflow": ("error", "CONTEXT_WINDOW_EXCEEDED"),
    "empty": ("error", "EMPTY_RESPONSE"),
    "cut": ("error", "STREAM_CLOSED"),
    "cut-call": ("error", "STREAM_CLOSED"),
    "malformed": ("error", "MALFORMED_RESPONSE"),
    "slow": ("stop", ""),
    "slow-first": ("stop", ""),
}


@each_route
@pytest.mark.parametrize("fault", ENDINGS)
def test_a_fault_ends_as_it_does_over_http(name: str, fault: str) -> None:
    model = ScriptedModel([Reply(text="Hello there.")], faults={1: fault}, route=ROUTES[name])
    assert ending(deltas(model)) == ENDINGS[fault]
    assert model.problems == [], "a fault that was asked for is no problem of the request"


@each_route
def test_an_answer_without_text_breaks_as_well(name: str) -> None:
    reply = Reply(reasoning="Hm.", tools=(Asked("look"),), fault="cut")
    assert ending(deltas(ScriptedModel([reply], route=ROUTES[name]))) == ("error", "STREAM_CLOSED")


@each_route
@pytest.mark.parametrize("fault", ["hang", "stall"])
def test_a_hanging_answer_can_be_given_up(name: str, fault: str) -> None:
    async def work() -> int:
        model = ScriptedModel([Reply(text="Hello.", fault=fault)], route=ROUTES[name])
        got: list[Delta] = []

        async def read() -> None:
            async for delta in model.stream(body()):
                got.append(delta)  # noqa: PERF401 - what came before the cancellation counts

        task = asyncio.ensure_future(read())
        for _ in range(50):
            await asyncio.sleep(0)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(got)

    assert (run(work) > 0) == (fault == "stall")


def test_a_function_may_answer() -> None:
    model = ScriptedModel(lambda asked: Reply(text=asked["messages"][0]["content"]))
    got = deltas(model)
    assert [delta.text for delta in got if isinstance(delta, TextDelta)] == ["Hello."]


def test_summaries_have_replies_of_their_own() -> None:
    model = ScriptedModel([Reply(text="a")], summaries=[Reply(text="s")])
    said = [
        [delta.text for delta in deltas(model, purpose=purpose) if isinstance(delta, TextDelta)]
        for purpose in ("summary", "step", "summary")
    ]
    assert said == [["s"], ["a"], ["A summary of what was sa", "id."]]
    assert model.left == 0


def test_a_request_that_no_provider_takes_is_a_problem() -> None:
    model = ScriptedModel([Reply(text="a")])
    result = {"role": "tool", "tool_call_id": "c", "content": "x"}
    assert ending(deltas(model, body(result))) == ("error", "INVALID_REQUEST")
    assert model.problems == ["request 1: messages.0: no call with id c (orphan-result)"]


def test_a_request_that_changes_what_was_sent_inside_a_turn_is_a_problem() -> None:
    model = ScriptedModel([Reply(text="a"), Reply(text="b")])
    user = {"role": "user", "content": "Hello."}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c", "content": "x"}
    for messages in ([user, said, result], [user, said, {**result, "content": "y"}]):
        assert ending(deltas(model, body(*messages))) == ("stop", "")
    assert model.problems == ["request 2: what was sent before changed inside a turn"]
    assert model.stats["prefix_breaks"] == 1
    assert [len(one["messages"]) for one in model.requests] == [3, 3]


@each_route
def test_a_window_is_kept(name: str) -> None:
    model = ScriptedModel([], route=ROUTES[name], billing=Billing(window=3))
    assert ending(deltas(model)) == ("error", "CONTEXT_WINDOW_EXCEEDED")


@each_route
def test_an_agent_runs_turns_with_it(name: str) -> None:
    async def work() -> tuple[list[str], ScriptedModel, LiveAgent]:
        calls = Reply(reasoning="Hm.", text="Look.", tools=(Asked("look"), Asked("look")))
        model = ScriptedModel([calls, calls, Reply(text="Done.")] * 2, route=ROUTES[name])
        live = LiveAgent([], [ScriptTool("look", lambda _: "seen")], route=model.route)
        live.agent.use(model)
        ends = [(await live.turn(text)).kind for text in ("One.", "Two.")]
        await live.agent.close()
        return ends, model, live

    ends, model, live = run(work)
    assert ends == ["completed", "completed"]
    assert model.problems == []
    assert len(live.of(ToolResult)) == 8
    stats = model.stats
    assert (stats["requests"], stats["extended"], stats["prefix_breaks"]) == (6, 5, 0)


TOOL = FixedTool("read", "a long line of text\n" * 400)
REPLIES = [Reply(tools=(Asked("read", {"n": 1}),)), Reply(text="Read it."), Reply(text="Yes.")]


def test_a_session_is_built_in_one_call_and_is_the_same_each_time() -> None:
    one, two = (talked(["Read it.", "Sure?"], REPLIES, tools=[TOOL]) for _ in range(2))
    assert list(one.log.events) == list(two.log.events)
    answers = [e for e in one.log.events if isinstance(e, AssistantMessage)]
    assert text_of(answers[-1].data.message.content) == "Yes."


def test_a_session_may_be_sealed_and_kept_on_disk(tmp_path: Path) -> None:
    header = Header("session", 3, "built", 1, False, 0)
    log = SessionLog.create(tmp_path / "session.v3.jsonl", header)
    history = HistorySettings(keep_recent_turns=1, seal_only_if_shorter=False)
    recalls = [FixedTool(name) for name in ("expand_result", "recall_search", "recall_step")]
    tools = [TOOL, *recalls, FixedTool("recall_turn")]
    session = talked(["Read it.", "Sure?", "Good."], REPLIES, tools=tools, history=history, log=log)
    log.close()
    events = SessionLog.read(tmp_path / "session.v3.jsonl").events
    assert list(events) == list(session.log.events)
    assert [e for e in events if isinstance(e, UserMessage) and is_entry(e)]


def test_a_turn_that_does_not_complete_is_an_error() -> None:
    with pytest.raises(LoopError, match=r"the scripted session: error at 'Go\.' refused"):
        talked(["Go."], ScriptedModel([Reply(text="x", fault="400")]))


def test_time_goes_on_by_itself() -> None:
    clock = CountedClock(5)
    asyncio.run(clock.sleep(2))
    assert (clock.now(), clock.now()) == (2005, 2006)


def test_a_fixed_tool_may_read_its_arguments() -> None:
    tool = FixedTool("echo", lambda arguments: f"got {arguments['n']}")
    replies = [Reply(tools=(Asked("echo", {"n": 7}),)), Reply(text="Done.")]
    session = talked(["Go."], replies, tools=[tool])
    [result] = [e for e in session.log.events if isinstance(e, ToolResult)]
    assert "got 7" in str(result.data.message.content)
