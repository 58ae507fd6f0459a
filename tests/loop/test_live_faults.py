"""When the world fails: full disks, locked sessions, clocks that jump."""

import asyncio
import os
import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from live_agent import CHAT, LiveAgent, ScriptTool, calls, run, says
from slicetape.errors import LoopError, SessionLocked, StorageFailed
from slicetape.log.events import Header, TurnEnd
from slicetape.log.log import SessionLog
from slicetape.loop.resume import taken_up
from slicetape.surface import messages
from slicetape.wire.lint_wire import lint_chat

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def in_a_child(work: Any) -> int:
    """The status of `work`, run in a process of its own."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = work()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def go_on(path: Path) -> LiveAgent:
    session = taken_up(SessionLog.open(path), time=1)

    async def scenario() -> LiveAgent:
        live = LiveAgent([says("Gone on.")], session=session)
        ended = await live.turn("Go on.")
        assert ended.kind == "completed", live.watch.warnings
        session.log.close()
        return live.checked()

    found: LiveAgent = run(scenario)
    return found


def test_a_full_disk_stops_the_agent_with_one_sentence_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"

    def work() -> int:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        async def scenario() -> int:
            large = ScriptTool("look", lambda _: "x" * 100_000)
            live = LiveAgent([calls(("c1", "look", "{}")), says("Done.")], [large], path=path)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
            live.agent.followup("Look.")
            try:
                await live.agent.when_idle()
            except StorageFailed:
                pass
            else:
                return 2
            try:
                live.agent.followup("Again.")
            except LoopError as stopped:
                return 0 if "stopped" in str(stopped) and len(live.watch.warnings) == 1 else 3
            return 4

        return asyncio.run(scenario())

    assert in_a_child(work) == 0
    live = go_on(path)
    ends = [end.data.reason.kind for end in live.of(TurnEnd)]
    assert ends == ["interrupted", "completed"]
    assert "TOOL_OUTCOME_UNKNOWN" in str(live.events)


def test_a_home_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file" / "session.v3.jsonl"
    (tmp_path / "file").write_text("in the way")

    async def scenario() -> None:
        log = SessionLog.create(path, Header("session", 3, "s", 1, False, 0))
        from slicetape.surface import Session

        live = LiveAgent([says("x")], session=Session(log))
        with pytest.raises(StorageFailed):
            live.agent.followup("Hello.")

    run(scenario)


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"

    async def scenario() -> None:
        live = LiveAgent([says("One.")], path=path)
        await live.turn()
        with pytest.raises(SessionLocked):
            SessionLog.open(path)
        await live.agent.close()
        SessionLog.open(path).close()

    run(scenario)


def test_a_clock_that_jumps_back_changes_nothing() -> None:
    async def scenario() -> LiveAgent:
        live = LiveAgent([says("One."), says("Two.")])
        await live.turn()
        live.clock.time = -5_000
        await live.turn()
        return live.checked()

    live = run(scenario)
    said = [message for _, message in messages(live.session.view)]
    assert lint_chat(b'{"messages":' + CHAT.wire.messages(said) + b"}") == []
    assert [end.data.reason.kind for end in live.of(TurnEnd)] == ["completed", "completed"]


def test_closing_ends_the_turn_and_gives_everything_up(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"

    async def scenario() -> LiveAgent:
        async def forever(_: Any) -> str:
            await asyncio.Event().wait()
            return ""

        live = LiveAgent([calls(("c1", "slow", "{}"))], [ScriptTool("slow", forever)], path=path)
        live.agent.followup("Go.")
        while not live.of(type(live.events[0])) or "tool/call" not in live.kinds():
            await asyncio.sleep(0)
        live.agent.followup("Dropped.")
        await live.agent.close()
        return live

    live = run(scenario)
    assert live.model.closed
    reason = live.of(TurnEnd)[0].data.reason
    assert (reason.kind, bytes(reason.reason)) == ("aborted", b'{"kind":"disposed"}')
    go_on(path)
