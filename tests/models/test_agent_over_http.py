"""An agent on a real SDK: what it was sent stays a prefix, pictures and signatures included."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from canned_http import CHAT_END, Reply, Server, events, served
from live_agent import LiveAgent, ScriptTool
from pictures import png
from slicetape.log.attachments import Attachments
from slicetape.log.events import AssistantAttempt, AssistantMessage
from slicetape.log.log import SessionLog
from slicetape.log.messages import Image
from slicetape.loop.agent import Agent, Around
from slicetape.loop.prestep import Prestep
from slicetape.loop.prompt import Prompt, Section
from slicetape.loop.protocols import Model, Tools
from slicetape.loop.resume import taken_up
from slicetape.models.recorded import RecordedModel
from slicetape.models.routes import Chosen, model_from
from slicetape.surface import Session
from slicetape.wire.attached import StoredPictures
from slicetape.wire.lint_wire import lint_chat, lint_messages


def chat(*deltas: Any, finish: str) -> bytes:
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas]
    last = {"choices": [{"delta": {}, "finish_reason": finish}]}
    return events(*chunks, last) + CHAT_END


def messages(*blocks: Any, stop: str) -> bytes:
    sent: list[Any] = [{"type": "message_start", "message": {"usage": {"input_tokens": 1}}}]
    for index, (block, *deltas) in enumerate(blocks):
        sent.append({"type": "content_block_start", "index": index, "content_block": block})
        sent += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
        sent.append({"type": "content_block_stop", "index": index})
    sent.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {}})
    return events(*sent, {"type": "message_stop"}, names=True)


CALL = {"index": 0, "id": "call_1", "function": {"name": "look", "arguments": '{"n": 1}'}}
ANSWERS = {
    "deepseek:deepseek-v4-flash": [
        chat({"reasoning_content": "Look."}, {"tool_calls": [CALL]}, finish="tool_calls"),
        chat({"content": "A dot."}, finish="stop"),
        chat({"content": "Still."}, finish="stop"),
    ],
    "anthropic:claude-opus-5": [
        messages(
            (
                {"type": "thinking", "thinking": ""},
                {"type": "thinking_delta", "thinking": "Look."},
                {"type": "signature_delta", "signature": "c2ln+/=="},
            ),
            ({"type": "redacted_thinking", "data": "aGlk"},),
            (
                {"type": "tool_use", "id": "call_1", "name": "look", "input": {}},
                {"type": "input_json_delta", "partial_json": '{"n": 1}'},
            ),
            stop="tool_use",
        ),
        messages(({"type": "text", "text": "A dot."},), stop="end_turn"),
        messages(({"type": "text", "text": "Still."},), stop="end_turn"),
    ],
}


def agent_on(session: Session, model: Model) -> Agent:
    numbers = iter(range(len(session.log.events), 10_000))
    around = Around(
        prompt=Prompt([Section("test", 0, "You are tested.")]),
        ids=lambda: f"id-{next(numbers)}",
        jitter=lambda: 0.5,
    )
    return Agent(session, model, Tools([ScriptTool("look")]), Prestep(session, None), around)


def stem(body: bytes) -> list[Any]:
    """The messages of a request; cache marks move and are no part of what is cached."""

    def unmarked(fields: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in fields.items() if key != "cache_control"}

    found: list[Any] = json.loads(body, object_hook=unmarked)["messages"]
    return found


@pytest.mark.parametrize("spec", ANSWERS)
def test_a_picture_and_a_signature_stay_where_they_are_through_a_resume(
    spec: str, tmp_path: Path
) -> None:
    path = tmp_path / "s" / "session.v3.jsonl"

    def model_at(server: Server, log: SessionLog) -> Model:
        pictures = StoredPictures(log.attachments)
        chosen = Chosen(base_url=server.url)
        return model_from(spec, chosen=chosen, environ={}, pictures=pictures)

    async def work() -> list[bytes]:
        async with served(*(Reply([answer]) for answer in ANSWERS[spec])) as server:
            first = LiveAgent(path=path)
            picture = first.session.log.attachments.put(png(), "dot.png")
            model = model_at(server, first.session.log)
            agent = agent_on(first.session, model)
            agent.followup("What is this?", images=[Image(picture)])
            await agent.when_idle()
            assert agent.ended is not None
            assert agent.ended.kind == "completed"
            first.session.log.close()
            await model.close()
            log = SessionLog.open(path)
            model = model_at(server, log)
            agent = agent_on(taken_up(log, time=9), model)
            agent.followup("And now?")
            await agent.when_idle()
            log.close()
            await model.close()
            return [request.body for request in server.requests]

    bodies = asyncio.run(asyncio.wait_for(work(), 20))
    assert len(bodies) == 3
    lint = lint_messages if spec.startswith("anthropic") else lint_chat
    for body in bodies:
        assert lint(body) == []
    for before, after in pairwise(bodies):
        kept = stem(before)
        assert stem(after)[: len(kept)] == kept
    assert b"iVBORw0KGgo" in bodies[2]
    if spec.startswith("anthropic"):
        said = stem(bodies[2])[1]["content"]
        assert said[0] == {"type": "thinking", "thinking": "Look.", "signature": "c2ln+/=="}
        assert said[1] == {"type": "redacted_thinking", "data": "aGlk"}
    else:
        assert stem(bodies[2])[2]["reasoning_content"] == "Look."


def test_a_session_is_answered_again_from_its_own_log(tmp_path: Path) -> None:
    async def work() -> tuple[LiveAgent, list[bytes]]:
        async with served(*(Reply([a]) for a in ANSWERS["deepseek:deepseek-v4-flash"])) as server:
            first = LiveAgent(path=tmp_path / "s" / "session.v3.jsonl")
            model = model_from(
                "deepseek:deepseek-v4-flash", chosen=Chosen(base_url=server.url), environ={}
            )
            agent = agent_on(first.session, model)
            agent.followup("What is this?")
            await agent.when_idle()
            await model.close()
            return first, [request.body for request in server.requests]

    first, bodies = asyncio.run(work())

    async def again() -> RecordedModel:
        replies = [e for e in first.events if isinstance(e, AssistantMessage | AssistantAttempt)]
        second = LiveAgent()
        route = model_from(
            "deepseek:deepseek-v4-flash", environ={"DEEPSEEK_API_KEY": "k" * 9}
        ).route
        model = RecordedModel.of_log(replies, route=route)
        agent = agent_on(second.session, model)
        agent.followup("What is this?")
        await agent.when_idle()
        return model

    assert asyncio.run(again()).bodies == bodies


def test_pictures_of_an_import_are_found_behind_those_of_the_session(tmp_path: Path) -> None:
    home, own = Attachments(tmp_path / "home"), Attachments(None)
    kept = home.put(png())
    found = StoredPictures(own, home)(kept)
    assert found is not None
    assert found.data == png()
