"""Turns of a live agent: what is logged, in which order, and how they end."""

import asyncio
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest

from live_agent import (
    CHAT,
    HANG,
    MESSAGES,
    LiveAgent,
    ScriptTool,
    calls,
    fails,
    human,
    notice,
    run,
    says,
    text_of,
    thinks,
)
from slicetape.log.events import (
    AssistantAttempt,
    AssistantMessage,
    InboxSpliced,
    Retry,
    RetryStarted,
    ToolCalled,
    ToolResult,
    TurnEnd,
    UserMessage,
)
from slicetape.log.messages import Text, ToolCall
from slicetape.log.messages import text_of as said
from slicetape.loop.deltas import BlockStart, Finish, FinishReason, TextDelta, ToolCallDelta
from slicetape.loop.live import LoopSettings
from slicetape.loop.protocols import Output, Route

ROUTES = pytest.mark.parametrize("route", [CHAT, MESSAGES], ids=["chat", "messages"])


async def forever(_: Mapping[str, Any]) -> str:
    await asyncio.Event().wait()
    return "never"


class TestOrder:
    def test_the_first_turn_logs_what_the_host_logs(self) -> None:
        async def scenario() -> list[str]:
            live = LiveAgent([calls(("c1", "look", "{}")), says("Done.")], [ScriptTool("look")])
            await live.turn()
            return live.checked().kinds()

        assert run(scenario) == [
            "agent/inbox/spliced",
            "turn/start",
            "agent/inbox/spliced",
            "step/start",
            "system/message",
            "user/message",
            "request/header",
            "request/context",
            "assistant/message",
            "tool/call",
            "tool/result",
            "step/end",
            "step/start",
            "assistant/message",
            "step/end",
            "turn/end",
        ]

    def test_a_later_turn_logs_only_what_is_new(self) -> None:
        async def scenario() -> list[str]:
            live = LiveAgent([says("One."), says("Two.")])
            await live.turn()
            start = len(live.events)
            await live.turn()
            return live.checked().kinds(start)

        assert run(scenario) == [
            "agent/inbox/spliced",
            "turn/start",
            "agent/inbox/spliced",
            "step/start",
            "user/message",
            "assistant/message",
            "step/end",
            "turn/end",
        ]

    @ROUTES
    def test_each_request_repeats_the_one_before_it(self, route: Route) -> None:
        async def scenario() -> LiveAgent:
            made = [calls((f"c{n}", "look", "{}"), text="Look.") for n in range(5)]
            live = LiveAgent([*made, says("Done.")], [ScriptTool("look")], route=route)
            await live.turn()
            return live.checked()

        live = run(scenario)
        marked = ',"cache_control":{"type":"ephemeral"}'
        sent = [str(live.sent(n)) for n in range(6)]
        plain = [text.replace(", 'cache_control': {'type': 'ephemeral'}", "") for text in sent]
        assert marked.encode() in live.model.bodies[0] or route is CHAT
        for before, after in pairwise(plain):
            assert after.startswith(before.rstrip("]}"))


class TestEnds:
    def test_an_answer_without_calls_completes_the_turn(self) -> None:
        async def scenario() -> str:
            return (await LiveAgent([says("Done.")]).turn()).kind

        assert run(scenario) == "completed"

    def test_a_cut_answer_drops_its_calls_and_says_so(self) -> None:
        async def scenario() -> LiveAgent:
            cut = [*text_of("Partly"), ToolCallDelta(1, "c1", '{"n":', "look")]
            live = LiveAgent([[*cut, Finish(FinishReason("max-tokens"))]], [ScriptTool("look")])
            assert (await live.turn()).kind == "max-tokens"
            return live

        [answer] = run(scenario).of(AssistantMessage)
        assert answer.data.message.content == (Text("Partly"),)

    def test_the_step_limit_blocks_and_keeps_what_waits(self) -> None:
        async def scenario() -> LiveAgent:
            replies = [calls((f"c{n}", "look", "{}")) for n in range(2)]
            live = LiveAgent(
                [*replies, says("Went on.")],
                [ScriptTool("look")],
                settings=LoopSettings(max_steps=2),
            )
            live.model.replies[1].insert(0, lambda: live.agent.inject(notice("Kept.")))
            assert (await live.turn()).kind == "blocked"
            assert [m.id for m in live.agent.waiting("next-step")] == ["n-1"]
            await live.turn("Go on.")
            return live.checked()

        live = run(scenario)
        assert live.watch.warnings == ["slice maxStepsPerTurn=2 reached"]
        assert {"role": "user", "content": "Kept."} in live.sent()

    def test_a_failure_ends_the_turn_and_the_next_message_still_runs(self) -> None:
        async def scenario() -> LiveAgent:
            live = LiveAgent([fails("INVALID_REQUEST", "no"), says("Better.")])
            live.agent.followup(human("First.", "m-1"))
            live.agent.followup(human("Second.", "m-2"))
            await live.agent.when_idle()
            return live.checked()

        live = run(scenario)
        assert [end.data.reason.kind for end in live.of(TurnEnd)] == ["error", "completed"]

    def test_a_result_may_conclude_the_turn(self) -> None:
        async def scenario() -> str:
            done = ScriptTool("done", lambda _: Output.of("over", concludes_turn=True))
            return (await LiveAgent([calls(("c1", "done", "{}"))], [done]).turn()).kind

        assert run(scenario) == "completed"


class TestAborts:
    """The phase in which a turn is aborted, and what the log then says of its step."""

    PHASES: Mapping[str, tuple[Callable[[LiveAgent], list[Any]], list[str]]] = {
        "before the first delta": (lambda live: [live.cancel, HANG], ["assistant/attempt"]),
        "after a block began": (
            lambda live: [BlockStart(0, "text"), live.cancel, HANG],
            ["assistant/attempt"],
        ),
        "within text": (
            lambda live: [TextDelta(0, "Some text"), live.cancel, HANG],
            ["assistant/message"],
        ),
        "within blank text": (
            lambda live: [TextDelta(0, " \n"), live.cancel, HANG],
            ["assistant/attempt"],
        ),
        "within reasoning": (
            lambda live: [*thinks("Because"), live.cancel, HANG],
            ["assistant/message"],
        ),
        "within a call": (
            lambda live: [ToolCallDelta(0, "c1", '{"n', "look"), live.cancel, HANG],
            ["assistant/attempt"],
        ),
        "within a call behind text": (
            lambda live: [*text_of("So"), ToolCallDelta(1, "c1", '{"n', "look"), live.cancel, HANG],
            ["assistant/message"],
        ),
        "with the last delta": (
            lambda live: [*says("All.")[:-1], live.cancel, HANG],
            ["assistant/message"],
        ),
    }

    @ROUTES
    @pytest.mark.parametrize("phase", PHASES)
    def test_while_the_model_streams(self, phase: str, route: Route) -> None:
        reply, logged = self.PHASES[phase]

        async def scenario() -> LiveAgent:
            live = LiveAgent([[], says("Next.")], [ScriptTool("look")], route=route)
            live.model.replies[0] = reply(live)
            assert (await live.turn()).kind == "aborted"
            assert (await live.turn("Go on.")).kind == "completed"
            return live.checked()

        live = run(scenario)
        kinds = live.kinds()
        first = kinds[kinds.index("request/context") + 1 : kinds.index("turn/end") + 1]
        assert first == [*logged, "step/end", "turn/end"]
        for answer in live.of(AssistantMessage)[:-1]:
            assert answer.data.interrupted
            assert not any(isinstance(b, ToolCall) for b in answer.data.message.content)

    @ROUTES
    def test_a_running_tool_is_cancelled_and_answered_as_aborted(self, route: Route) -> None:
        async def scenario() -> LiveAgent:
            live = LiveAgent([calls(("c1", "slow", "{}")), says("Next.")], route=route)
            tool = ScriptTool("slow", lambda _: (live.cancel(), forever(_))[1])
            live = LiveAgent(list(live.model.replies), [tool], route=route)
            assert (await live.turn()).kind == "aborted"
            await live.turn("Go on.")
            return live.checked()

        [result] = run(scenario).of(ToolResult)
        assert (result.data.error.name, result.data.error.code) == ("AbortError", "ABORTED")

    @ROUTES
    def test_calls_that_did_not_start_are_answered_too(self, route: Route) -> None:
        async def scenario() -> LiveAgent:
            replies = [
                calls(("c1", "fast", "{}"), ("c2", "slow", "{}"), ("c3", "fast", "{}")),
                says("Next."),
            ]
            holder: list[LiveAgent] = []
            slow = ScriptTool("slow", lambda _: (holder[0].cancel(), forever(_))[1])
            live = LiveAgent(replies, [ScriptTool("fast"), slow], route=route)
            holder.append(live)
            assert (await live.turn()).kind == "aborted"
            await live.turn("Go on.")
            return live.checked()

        live = run(scenario)
        codes = [r.data.error and r.data.error.code for r in live.of(ToolResult)]
        assert codes == [None, "ABORTED", "ABORTED_BEFORE_DISPATCH"]
        assert [c.data.call_id for c in live.of(ToolCalled)] == ["c1", "c2", "c3"]

    def test_parallel_calls_that_run_are_all_cancelled_in_order(self) -> None:
        async def scenario() -> LiveAgent:
            holder: list[LiveAgent] = []

            async def act(arguments: Mapping[str, Any]) -> str:
                if arguments["n"] == 3:
                    holder[0].cancel()
                await asyncio.Event().wait()
                return ""

            made = [(f"c{n}", "wait", f'{{"n": {n}}}') for n in range(1, 5)]
            live = LiveAgent([calls(*made)], [ScriptTool("wait", act, side_by_side=True)])
            holder.append(live)
            assert (await live.turn()).kind == "aborted"
            return live

        live = run(scenario)
        results = live.of(ToolResult)
        assert [r.data.message.source.call_id for r in results] == ["c1", "c2", "c3", "c4"]
        assert {r.data.error.code for r in results} <= {"ABORTED", "ABORTED_BEFORE_DISPATCH"}

    def test_while_waiting_to_try_again(self) -> None:
        async def scenario() -> LiveAgent:
            live = LiveAgent([fails("SERVER"), says("Next.")])
            live.clock.hang = True
            live.session.listen(
                lambda event, _: (
                    asyncio.get_running_loop().call_soon(live.cancel)
                    if isinstance(event, Retry)
                    else None
                )
            )
            assert (await live.turn()).kind == "aborted"
            live.clock.hang = False
            await live.turn("Go on.")
            return live.checked()

        live = run(scenario)
        assert len(live.of(Retry)) == 1
        assert live.of(RetryStarted) == []

    def test_an_abort_while_idle_drops_what_waits_and_nothing_else(self) -> None:
        async def scenario() -> LiveAgent:
            live = LiveAgent([says("Done.")])
            live.agent.inject(notice("Dropped."))
            live.agent.cancel()
            await live.turn()
            return live

        live = run(scenario)
        dropped = [e for e in live.of(InboxSpliced) if e.data.outcome == "canceled"]
        assert len(dropped) == 1
        assert "Dropped." not in str(live.sent())

    def test_what_waits_is_kept_when_asked_for(self) -> None:
        async def scenario() -> list[str]:
            live = LiveAgent([[HANG], says("Second.")])
            live.agent.followup(human("First.", "m-1"))
            live.agent.followup(human("Second.", "m-2"))
            live.model.replies[0] = [lambda: live.agent.cancel(keep_inbox=True), HANG]
            await live.agent.when_idle()
            return [end.data.reason.kind for end in live.of(TurnEnd)]

        assert run(scenario) == ["aborted", "completed"]

    def test_a_message_sent_while_an_abort_winds_down_gets_the_next_turn(self) -> None:
        async def scenario() -> LiveAgent:
            live = LiveAgent([[HANG], says("Heard.")])

            def stop() -> None:
                live.cancel()
                live.agent.steer(human("Wait, rather this."))

            live.model.replies[0] = [stop, HANG]
            await live.turn()
            return live.checked()

        live = run(scenario)
        assert [end.data.reason.kind for end in live.of(TurnEnd)] == ["aborted", "completed"]
        assert live.sent()[-1] == {"role": "user", "content": "Wait, rather this."}


class TestSteering:
    PLACES = ("while the model streams", "while a tool runs", "with the last answer")

    @ROUTES
    @pytest.mark.parametrize("place", PLACES)
    def test_a_steer_joins_the_next_step(self, place: str, route: Route) -> None:
        async def scenario() -> LiveAgent:
            holder: list[LiveAgent] = []

            def steer() -> None:
                holder[0].agent.steer(human("Mind the gap.", "s-1"))

            look = ScriptTool("look", lambda _: steer() if place == "while a tool runs" else "ok")
            replies: list[Any] = [calls(("c1", "look", "{}")), says("Minded."), says("Minded.")]
            if place == "while the model streams":
                replies[0].insert(0, steer)
            if place == "with the last answer":
                replies = [[*says("Done.")[:-1], steer, Finish(FinishReason("stop"))], replies[1]]
            live = LiveAgent(replies, [look], route=route)
            holder.append(live)
            assert (await live.turn()).kind == "completed"
            return live.checked()

        live = run(scenario)
        assert len(live.of(TurnEnd)) == 1
        assert "Mind the gap." in str(live.sent(1))
        assert "Mind the gap." not in str(live.sent(0))

    def test_a_steer_while_idle_begins_a_turn(self) -> None:
        async def scenario() -> str:
            live = LiveAgent([says("Hello.")])
            live.agent.steer("Hello?")
            reason = await live.agent.when_idle()
            assert reason is not None
            return reason.kind

        assert run(scenario) == "completed"

    def test_injected_context_wakes_nobody(self) -> None:
        async def scenario() -> LiveAgent:
            live = LiveAgent([says("Seen.")])
            live.agent.inject(notice("The branch is main."))
            await asyncio.sleep(0)
            assert not live.agent.running
            await live.turn()
            return live.checked()

        live = run(scenario)
        assert [m["content"] for m in live.sent()[1:]] == ["The branch is main.", "Do it."]

    def test_followups_get_a_turn_each_in_their_order(self) -> None:
        async def scenario() -> list[str]:
            live = LiveAgent([says("1"), says("2"), says("3")])
            for n in (1, 2, 3):
                live.agent.followup(human(f"Number {n}.", f"m-{n}"))
            await live.agent.when_idle()
            return [said(e.data.content) for e in live.of(UserMessage)]

        assert run(scenario) == ["Number 1.", "Number 2.", "Number 3."]

    def test_a_message_that_waits_can_be_taken_back(self) -> None:
        async def scenario() -> int:
            live = LiveAgent([[HANG]])
            live.agent.followup(human("First.", "m-1"))
            live.agent.followup(human("Second.", "m-2"))
            await asyncio.sleep(0.01)
            assert live.agent.withdraw("m-2")
            assert not live.agent.withdraw("m-2")
            live.cancel()
            await live.agent.when_idle()
            return len(live.of(TurnEnd))

        assert run(scenario) == 1

    def test_a_message_that_says_nothing_is_refused(self) -> None:
        async def scenario() -> None:
            live = LiveAgent()
            for nothing in ("", human("")):
                with pytest.raises(ValueError, match="says something"):
                    live.agent.followup(nothing)
            assert not live.agent.running

        run(scenario)

    def test_half_a_surrogate_pair_never_stops_a_session(self) -> None:
        async def scenario() -> LiveAgent:
            odd = "odd \ud83d text"
            replies = [calls(("c1", "look", '{"n": 1}'), text=odd), says(odd), says("Fine.")]
            live = LiveAgent(replies, [ScriptTool("look", lambda _: odd)])
            assert (await live.turn(odd)).kind == "completed"
            assert (await live.turn("Next.")).kind == "completed"
            return live.checked()

        assert run(scenario).sent()[1]["content"] == "odd \ufffd text"

    def test_a_pair_that_deltas_part_is_joined(self) -> None:
        async def scenario() -> LiveAgent:
            parted = [BlockStart(0, "text"), TextDelta(0, "a \ud83d"), TextDelta(0, "\ude00 b")]
            live = LiveAgent([[*parted, Finish(FinishReason("stop"))], says("Next.")])
            await live.turn()
            await live.turn("Next.")
            return live.checked()

        assert run(scenario).sent()[2]["content"] == "a 😀 b"

    def test_an_id_that_waits_already_is_refused(self) -> None:
        async def scenario() -> None:
            live = LiveAgent([says("One.")])
            live.agent.inject(notice("Once."))
            with pytest.raises(ValueError, match="waits already"):
                live.agent.inject(notice("Twice."))

        run(scenario)


class TestRetries:
    def test_five_failures_are_waited_out_twice_as_long_each_time(self) -> None:
        async def scenario() -> LiveAgent:
            live = LiveAgent([*[fails("TRANSPORT")] * 5, says("At last.")])
            assert (await live.turn()).kind == "completed"
            return live.checked()

        live = run(scenario)
        assert live.clock.slept == [0.5, 1.0, 2.0, 4.0, 8.0]
        assert [r.data.retry for r in live.of(Retry)] == [1, 2, 3, 4, 5]
        assert len(live.of(AssistantAttempt)) == 5
        assert len(live.of(UserMessage)) == 1, "messages are logged with the first attempt only"

    def test_the_sixth_failure_ends_the_turn(self) -> None:
        async def scenario() -> LiveAgent:
            live = LiveAgent([fails("SERVER", "broken")] * 6)
            reason = await live.turn()
            assert (reason.kind, reason.error.code if reason.error else "") == ("error", "SERVER")
            return live

        assert run(scenario).watch.failures[-1] == ("SERVER", None)

    def test_waits_vary_by_a_tenth(self) -> None:
        async def scenario(jitter: float) -> list[float]:
            live = LiveAgent([fails("SERVER"), says("Done.")], jitter=lambda: jitter)
            await live.turn()
            return live.clock.slept

        assert run(lambda: scenario(0.0)) == [0.45]
        assert run(lambda: scenario(1.0)) == [0.55]

    @pytest.mark.parametrize(
        ("asked", "slept", "kind"), [(7_000, [7.0], "completed"), (10_001, [], "error")]
    )
    def test_a_wait_that_the_provider_asks_for_is_kept_up_to_ten_seconds(
        self, asked: float, slept: list[float], kind: str
    ) -> None:
        async def scenario() -> LiveAgent:
            limited = fails("RATE_LIMIT", provider_retry_after_ms=asked)
            live = LiveAgent([limited, says("Done.")])
            assert (await live.turn()).kind == kind
            return live

        assert run(scenario).clock.slept == slept

    def test_each_step_counts_anew(self) -> None:
        async def scenario() -> LiveAgent:
            live = LiveAgent(
                [fails("SERVER"), calls(("c1", "look", "{}")), fails("SERVER"), says("Done.")],
                [ScriptTool("look")],
            )
            await live.turn()
            return live.checked()

        assert run(scenario).clock.slept == [0.5, 0.5]

    @pytest.mark.parametrize("code", ["AUTH", "QUOTA", "INVALID_REQUEST", "HTTP_404", "ADAPTER"])
    def test_what_waiting_cannot_mend_is_not_tried_again(self, code: str) -> None:
        async def scenario() -> LiveAgent:
            live = LiveAgent([fails(code)])
            assert (await live.turn()).kind == "error"
            return live

        assert run(scenario).of(Retry) == []

    EMPTY: Mapping[str, list[Any]] = {
        "nothing": [Finish(FinishReason("stop"))],
        "an empty block": [BlockStart(0, "text"), Finish(FinishReason("stop"))],
        "only usage": says("x")[4:],
    }

    @pytest.mark.parametrize("reply", EMPTY)
    def test_an_empty_answer_is_tried_again(self, reply: str) -> None:
        async def scenario() -> LiveAgent:
            live = LiveAgent([self.EMPTY[reply], says("Done.")])
            assert (await live.turn()).kind == "completed"
            return live.checked()

        assert run(scenario).watch.failures == [("EMPTY_RESPONSE", 500.0)]

    def test_a_stream_without_an_end_is_a_failure(self) -> None:
        async def scenario() -> str:
            reason = await LiveAgent([text_of("Half")]).turn()
            assert reason.error is not None
            return reason.error.code

        assert run(scenario) == "STREAM_CLOSED"

    def test_an_adapter_that_raises_ends_the_turn_and_not_the_session(self) -> None:
        async def scenario() -> LiveAgent:
            def burst() -> None:
                raise RuntimeError("a bug")

            live = LiveAgent([[burst], says("Fine.")])
            reason = await live.turn()
            assert reason.error is not None
            assert reason.error.code == "ADAPTER"
            await live.turn("Again.")
            return live.checked()

        run(scenario)

    def test_an_overflow_without_compaction_says_what_can_be_done(self) -> None:
        async def scenario() -> LiveAgent:
            live = LiveAgent([fails("CONTEXT_WINDOW_EXCEEDED", "too long")])
            assert (await live.turn()).kind == "error"
            return live

        assert "window.compaction" in run(scenario).watch.warnings[0]
