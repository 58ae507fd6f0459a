"""A live session killed anywhere: what was logged is taken up again, and every provider takes it."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from live_agent import CHAT, MESSAGES, LiveAgent, ScriptTool, calls, fails, run, says, text_of
from slicetape.log.events import (
    Event,
    ToolCalled,
    ToolResult,
    TurnEnd,
    UserMessage,
    is_human,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import text_of as text_of_blocks
from slicetape.log.payloads import HeaderConfig
from slicetape.loop.deltas import Finish, FinishReason, ToolCallDelta
from slicetape.loop.protocols import Route
from slicetape.loop.resume import taken_up
from slicetape.surface import Session, messages
from slicetape.wire.lint_wire import lint_chat, lint_messages

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

OUTPUT = "\n".join(f"line {n} of the output, which is large" for n in range(400))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def told(path: Path, die_at: int = -1) -> LiveAgent:
    """A session of three turns: calls side by side, a retry, folds, seals, a steer."""
    holder: list[LiveAgent] = []
    look = ScriptTool("look", lambda _: OUTPUT)
    beside = ScriptTool("beside", lambda _: "short", side_by_side=True)
    steer = ScriptTool("steer", lambda _: holder[0].agent.steer("Mind this too.") and "ok")
    live = LiveAgent(
        [
            calls(("c1", "look", "{}"), text="First."),
            calls(("c2", "beside", "{}"), ("c3", "beside", "{}"), ("c4", "look", "{}")),
            says("One is done. " * 30),
            fails("SERVER"),
            calls(("c5", "steer", "{}")),
            says("Two is done. " * 30),
            says("Three is done."),
        ],
        [look, beside, steer],
        path=path,
        sealing=True,
    )
    holder.append(live)
    live.session.listen(lambda event, _: die() if event.seq == die_at else None)
    return live


async def three_turns(live: LiveAgent) -> None:
    for text in ("One.", "Two.", "Three."):
        await live.turn(text)


def killed(tell: Callable[[], Any]) -> None:
    """Run `tell` in a process of its own, which must die of SIGKILL."""
    child = os.fork()
    if child == 0:
        try:
            tell()
        finally:
            os._exit(7)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"ended with {status}"
    assert os.WTERMSIG(status) == signal.SIGKILL


def checked(session: Session) -> None:
    """Both wires take the next request."""
    said = [message for _, message in messages(session.view)]
    config = HeaderConfig("test", "m", max_tokens=10)
    assert lint_chat(CHAT.wire.request(said, _no_tools(), config)) == []
    assert lint_messages(MESSAGES.wire.request(said, _no_tools(), config)) == []


def _no_tools() -> Any:
    from msgspec import Raw

    return Raw()


def go_on(path: Path, route: Route = CHAT) -> LiveAgent:
    session = taken_up(SessionLog.open(path), time=5)
    checked(session)

    async def scenario() -> LiveAgent:
        live = LiveAgent([*[says("Gone on.")] * 9], route=route, session=session, sealing=True)
        await live.turn("Go on.")
        session.log.close()
        return live.checked()

    return run(scenario)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """The same session, not killed."""

    async def scenario() -> list[Event]:
        live = told(tmp_path_factory.mktemp("whole") / "session.v3.jsonl")
        await three_turns(live)
        live.session.log.close()
        return list(live.events)

    return run(scenario)


def test_the_session_has_everything_that_can_be_cut(events: list[Event]) -> None:
    kinds = {type(event).__name__ for event in events}
    assert {"AssistantAttempt", "Retry", "RetryStarted", "InboxSpliced", "Foreign"} <= kinds | {
        "Foreign"
    }
    assert any(not e.is_original for e in events if isinstance(e, ToolResult)), "a fold"
    assert any(not e.is_original for e in events if isinstance(e, UserMessage)), "a seal"


@pytest.mark.parametrize("route", [CHAT, MESSAGES], ids=["chat", "messages"])
def test_killed_behind_every_event_it_goes_on(
    tmp_path: Path, events: list[Event], route: Route
) -> None:
    for at in range(len(events)):
        path = tmp_path / f"{at}" / "session.v3.jsonl"
        path.parent.mkdir()

        def tell(path: Path = path, at: int = at) -> None:
            async def scenario() -> None:
                await three_turns(told(path, at))

            asyncio.run(scenario())

        killed(tell)
        live = go_on(path, route)
        kept = list(live.events[: at + 1])
        assert [type(e) for e in kept] == [type(e) for e in events[: at + 1]], f"killed at {at}"
        assert isinstance(live.events[-1], TurnEnd)
        assert live.events[-1].data.reason.kind == "completed"


def test_a_call_that_ran_is_not_said_to_be_safe_to_repeat(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"

    def tell() -> None:
        async def scenario() -> None:
            tool = ScriptTool("look", lambda _: die())
            made = calls(("c1", "look", "{}"), ("c2", "look", "{}"))
            await LiveAgent([made], [tool], path=path).turn()

        asyncio.run(scenario())

    killed(tell)
    live = go_on(path)
    results = live.of(ToolResult)
    codes = [result.data.error.code for result in results]
    assert codes == ["TOOL_OUTCOME_UNKNOWN", "TOOL_NOT_STARTED"]
    assert [call.data.call_id for call in live.of(ToolCalled)] == ["c1"]


STREAM_PHASES = {
    "before the first delta": [die],
    "within text": [*text_of("Some")[:2], die],
    "within a call": [*text_of("Some"), ToolCallDelta(1, "c1", '{"n', "look"), die],
    "ahead of the finish": [*says("All.")[:-1], die, Finish(FinishReason("stop"))],
}


@pytest.mark.parametrize("phase", STREAM_PHASES)
def test_killed_within_a_stream_it_goes_on(tmp_path: Path, phase: str) -> None:
    path = tmp_path / "session.v3.jsonl"

    def tell() -> None:
        async def scenario() -> None:
            await LiveAgent([STREAM_PHASES[phase]], path=path).turn()

        asyncio.run(scenario())

    killed(tell)
    live = go_on(path)
    ends = [end.data.reason.kind for end in live.of(TurnEnd)]
    assert ends == ["interrupted", "completed"]


def test_a_message_that_waited_when_the_process_died_gets_its_turn(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"

    def tell() -> None:
        async def scenario() -> None:
            live = LiveAgent([[lambda: live.agent.followup("Second."), die]], path=path)
            await live.turn("First.")

        asyncio.run(scenario())

    killed(tell)
    live = go_on(path)
    asked = [
        text_of_blocks(event.data.content) for event in live.of(UserMessage) if is_human(event)
    ]
    assert asked == ["First.", "Second.", "Go on."]
    assert len(live.of(TurnEnd)) == 3
