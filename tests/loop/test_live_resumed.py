"""Real logs of another host, taken up by the live loop: the next request extends what was sent."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from data import shared
from live_recording import HOST_PREAMBLE, Ticks, ids
from slicetape.log.events import EndSeed, RequestHeader, SystemMessage, UserMessage, is_snapshot
from slicetape.log.log import SessionLog
from slicetape.log.messages import Text, text_of
from slicetape.loop.agent import Agent, Around
from slicetape.loop.deltas import BlockEnd, Delta, Finish, FinishReason
from slicetape.loop.prestep import Prestep
from slicetape.loop.prompt import Fact, Prompt, Section
from slicetape.loop.protocols import Route, Tools
from slicetape.loop.resume import taken_up
from slicetape.surface import Session, messages
from slicetape.wire.lint_wire import lint_chat
from slicetape.wire.openai_chat import ChatWire

LOGS = ("v3-tools", "v3-codemode")


class Says:
    """A model that says one thing."""

    def __init__(self) -> None:
        self.route = Route(provider="deepseek-official", model="m", wire=ChatWire())
        self.bodies: list[bytes] = []

    async def stream(self, body: bytes, *, purpose: str = "step") -> AsyncIterator[Delta]:
        self.bodies.append(body)
        yield BlockEnd(0, Text("Gone on."))
        yield Finish(FinishReason("stop"))

    async def close(self) -> None:
        return


def taken(name: str) -> tuple[Session, list[Any]]:
    """The log as a writer takes it up, and the messages that its host would have sent next."""
    log = SessionLog.read(shared(f"dsh-logs/{name}.jsonl"))
    due = [message for _, message in messages(Session(log, strict=False).view)]
    lines = shared(f"dsh-logs/{name}.jsonl").read_bytes().splitlines()
    session = taken_up(SessionLog.of_lines(lines), time=1)
    return session, json.loads(ChatWire().messages(due))


def prompt_of(session: Session) -> Prompt:
    """The prompt and the facts that the log ends with."""
    events = session.log.events
    prompts = [e for e in events if isinstance(e, SystemMessage)]
    shown = [e for e in events if isinstance(e, UserMessage) and is_snapshot(e)]
    rows = msgspec.json.decode(shown[-1].data.source.sections) if shown else []
    facts = [Fact(row["name"], row["text"]) for row in rows]
    text = text_of(prompts[-1].data.message.content)
    return Prompt([Section("host", 0, text)], lambda: facts, preamble=HOST_PREAMBLE)


def go_on(session: Session) -> list[bytes]:
    async def run() -> list[bytes]:
        model = Says()
        around = Around(prompt=prompt_of(session), clock=Ticks(), ids=ids())
        agent = Agent(session, model, Tools(), Prestep(session, None), around)
        agent.followup("Go on.")
        reason = await agent.when_idle()
        assert reason is not None
        assert reason.kind == "completed"
        return model.bodies

    return asyncio.run(run())


@pytest.mark.parametrize("name", LOGS)
def test_the_next_request_extends_what_the_host_would_have_sent(name: str) -> None:
    session, due = taken(name)
    [body] = go_on(session)
    sent = json.loads(body)["messages"]
    assert sent[: len(due)] == due
    assert sent[len(due)] == {"role": "user", "content": "Go on."}
    assert lint_chat(body) == []


@pytest.mark.parametrize("name", LOGS)
def test_a_session_that_is_taken_up_says_so_and_logs_its_envelope_again(name: str) -> None:
    session, _ = taken(name)
    start = len(session.log.events)
    assert isinstance(session.log.events[start - 1], EndSeed)
    go_on(session)
    headers = [e for e in session.log.events[start:] if isinstance(e, RequestHeader)]
    assert [header.data.reason for header in headers] == ["resume"]
