"""The calls of one answer: order, refusals, and what comes of large and odd results."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from live_agent import CHAT, MESSAGES, LiveAgent, ScriptTool, calls, notice, run, says
from slicetape.log.events import Foreign, ToolCalled, ToolResult
from slicetape.log.log import SessionLog
from slicetape.log.messages import Text, ToolResultBlock
from slicetape.loop.live import LoopSettings
from slicetape.loop.protocols import Call, Output
from slicetape.recall.tools import Recall, dispatch
from slicetape.surface import Session

ROUTES = pytest.mark.parametrize("route", [CHAT, MESSAGES], ids=["chat", "messages"])


def text(event: ToolResult) -> str:
    return "".join(
        part.text
        for block in event.data.message.content
        if isinstance(block, ToolResultBlock)
        for part in block.content
        if isinstance(part, Text)
    )


def made(name: str, count: int) -> list[Any]:
    return calls(*[(f"c{n}", name, f'{{"n": {n}}}') for n in range(1, count + 1)])


def turn(replies: list[Any], tools: list[Any], **more: Any) -> LiveAgent:
    async def scenario() -> LiveAgent:
        live = LiveAgent([*replies, says("Done.")], tools, **more)
        await live.turn()
        return live.checked()

    found: LiveAgent = run(scenario)
    return found


class TestOrder:
    def test_exclusive_calls_run_one_by_one(self) -> None:
        active, most = 0, 0

        async def act(_: Mapping[str, Any]) -> str:
            nonlocal active, most
            active += 1
            most = max(most, active)
            await asyncio.sleep(0)
            active -= 1
            return "ok"

        live = turn([made("alone", 4)], [ScriptTool("alone", act)])
        kinds = [k for k in live.kinds() if k.startswith("tool/")]
        assert kinds == ["tool/call", "tool/result"] * 4
        assert most == 1

    def test_parallel_calls_share_a_pool_of_ten_and_answer_in_order(self) -> None:
        active, most = 0, 0

        async def act(arguments: Mapping[str, Any]) -> str:
            nonlocal active, most
            active += 1
            most = max(most, active)
            for _ in range(30 - arguments["n"]):  # later calls are done sooner
                await asyncio.sleep(0)
            active -= 1
            return f"result {arguments['n']}"

        live = turn([made("beside", 25)], [ScriptTool("beside", act, side_by_side=True)])
        assert most == 10
        assert [text(r) for r in live.of(ToolResult)] == [f"result {n}" for n in range(1, 26)]

    def test_two_parallel_calls_are_both_started_before_either_is_answered(self) -> None:
        live = turn([made("beside", 2)], [ScriptTool("beside", side_by_side=True)])
        kinds = [k for k in live.kinds() if k.startswith("tool/")]
        assert kinds == ["tool/call", "tool/call", "tool/result", "tool/result"]

    def test_an_exclusive_call_is_a_barrier(self) -> None:
        order: list[str] = []

        def act(name: str) -> Any:
            async def run_it(_: Mapping[str, Any]) -> str:
                order.append(f"{name} begins")
                await asyncio.sleep(0)
                order.append(f"{name} ends")
                return name

            return run_it

        beside = ScriptTool("beside", act("beside"), side_by_side=True)
        alone = ScriptTool("alone", act("alone"))
        three = calls(("c1", "beside", "{}"), ("c2", "alone", "{}"), ("c3", "beside", "{}"))
        turn([three], [beside, alone])
        assert order == [
            f"{n} {e}" for n in ("beside", "alone", "beside") for e in ("begins", "ends")
        ]

    def test_a_classifier_that_fails_makes_a_call_exclusive(self) -> None:
        class Odd(ScriptTool):
            def parallel(self, arguments: Mapping[str, Any]) -> bool:
                raise RuntimeError

        live = turn([made("odd", 2)], [Odd("odd")])
        kinds = [k for k in live.kinds() if k.startswith("tool/")]
        assert kinds == ["tool/call", "tool/result"] * 2


class TestRefusals:
    CASES: ClassVar = {
        "an unknown tool": (
            ("c1", "absent", "{}"),
            'Error: unknown tool "absent"',
            "UNKNOWN_TOOL",
        ),
        "arguments that are no JSON": (
            ("c1", "look", '{"n": '),
            'Error: invalid arguments: "arguments" must be an object',
            "INVALID_ARGS",
        ),
        "arguments of a wrong type": (
            ("c1", "look", '{"n": "x"}'),
            'Error: invalid arguments: "n" must be a number',
            "INVALID_ARGS",
        ),
    }

    @ROUTES
    @pytest.mark.parametrize("case", CASES)
    def test_a_call_that_cannot_run_is_answered(self, case: str, route: Any) -> None:
        call, said, code = self.CASES[case]
        look = ScriptTool("look")
        live = turn([calls(call)], [look], route=route)
        [result] = live.of(ToolResult)
        assert (text(result), result.data.error.code) == (said, code)
        assert look.ran == []

    def test_a_tool_that_breaks_is_told_to_the_model(self) -> None:
        def act(_: Mapping[str, Any]) -> str:
            raise ValueError("it broke")

        [result] = turn([made("bad", 1)], [ScriptTool("bad", act)]).of(ToolResult)
        assert text(result) == "Error: bad failed: ValueError: it broke"
        assert result.data.error.code == "TOOL_FAILED"

    def test_a_refused_permission_is_told_and_the_tool_does_not_run(self) -> None:
        class No:
            async def ask(self, call: Call, arguments: Mapping[str, Any]) -> str | None:
                return "not allowed" if call.name == "look" else None

        look, other = ScriptTool("look"), ScriptTool("other")
        two = calls(("c1", "look", "{}"), ("c2", "other", "{}"))
        live = turn([two], [look, other], permission=No())
        assert [text(r) for r in live.of(ToolResult)] == ["Error: not allowed", "ok"]
        assert (look.ran, other.ran) == ([], ["c2"])

    def test_aborting_while_somebody_is_asked_answers_the_call(self) -> None:
        async def scenario() -> LiveAgent:
            class Never:
                async def ask(self, call: Call, arguments: Mapping[str, Any]) -> str | None:
                    live.cancel()
                    await asyncio.Event().wait()
                    return None

            live = LiveAgent([made("look", 2)], [ScriptTool("look")], permission=Never())
            assert (await live.turn()).kind == "aborted"
            return live.checked()

        codes = [r.data.error.code for r in run(scenario).of(ToolResult)]
        assert codes == ["ABORTED", "ABORTED_BEFORE_DISPATCH"]


class TestNames:
    ODD: ClassVar = {
        "empty ids": [("", "look", "{}"), ("", "look", "{}")],
        "equal ids": [("same", "look", "{}"), ("same", "look", "{}")],
        "ids that no wire takes": [("a:b/c d", "look", "{}"), ("é" * 200, "look", "{}")],
        "no name": [("c1", "", "{}"), ("c2", "   ", "{}")],
        "names that no wire takes": [("c1", "look at; rm", "{}"), ("c2", "x" * 500, "{}")],
    }

    @ROUTES
    @pytest.mark.parametrize("case", ODD)
    def test_odd_calls_are_answered_one_by_one_and_taken_back(self, case: str, route: Any) -> None:
        live = turn([calls(*self.ODD[case])], [ScriptTool("look")], route=route)
        ids = [call.data.call_id for call in live.of(ToolCalled)]
        assert len(set(ids)) == 2
        assert [r.data.message.source.call_id for r in live.of(ToolResult)] == ids

    def test_an_id_that_a_model_uses_again_gets_a_number(self) -> None:
        live = turn([made("look", 1), made("look", 1)], [ScriptTool("look")])
        assert [call.data.call_id for call in live.of(ToolCalled)] == ["c1", "c1_2"]


class TestResults:
    def test_contexts_of_a_tool_join_the_next_step(self) -> None:
        output = Output.of("seen", contexts=(notice("The file changed."),))
        live = turn([made("look", 1)], [ScriptTool("look", lambda _: output)])
        assert live.sent(1)[-1] == {"role": "user", "content": "The file changed."}

    @pytest.mark.parametrize("notes", [True, False])
    def test_notes_of_a_tool_are_logged_ahead_of_its_result(self, notes: bool) -> None:
        from slicetape.log.codec import foreign

        output = Output.of("seen", notes=(foreign("x/seen", {"n": 1}),))
        live = turn(
            [made("look", 1)],
            [ScriptTool("look", lambda _: output)],
            settings=LoopSettings(notes=notes),
        )
        found = [e for e in live.events if isinstance(e, Foreign) and e.kind == "x/seen"]
        assert len(found) == notes
        assert all(isinstance(live.events[e.seq + 1], ToolResult) for e in found)

    def test_fifty_megabytes_leave_the_log_and_come_back(self, tmp_path: Path) -> None:
        line = "2026-11-30T10:00:00Z INFO something happened here, number {}\n"
        large = "".join(line.format(n) for n in range(800_000))
        assert len(large) > 47_000_000
        path = tmp_path / "session.v3.jsonl"
        live = turn(
            [made("look", 1)], [ScriptTool("look", lambda _: large)], path=path, sealing=True
        )
        assert path.stat().st_size < 200_000
        assert len(live.model.bodies[1]) < 60_000
        live.session.log.close()
        session = Session(SessionLog.read(path), strict=False)
        [result] = [e for e in session.log.events if isinstance(e, ToolResult) and e.is_original]
        found = dispatch(
            "expand_result",
            {"seq": result.seq, "formatVersion": 3, "lines": "777777-777777"},
            Recall.of_session(session),
        )
        assert "number 777776" in found

    def test_odd_texts_are_logged_and_sent(self) -> None:
        odd = "a\0b\x1b[31mred\x1b[0m \ud800 \u2028 é 😀\r\n"
        live = turn([made("look", 1)], [ScriptTool("look", lambda _: odd)])
        [result] = live.of(ToolResult)
        assert text(result) == odd.replace("\ud800", "\ufffd"), "half a pair is no text"
        assert len(live.model.bodies) == 2
