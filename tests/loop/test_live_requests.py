"""What goes out: rebuilt from the log, checked against it, and never rewriting what was sent."""

import json
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from live_agent import CHAT, MESSAGES, LiveAgent, ScriptModel, ScriptTool, calls, run, says, thinks
from slicetape.errors import LoopError
from slicetape.log.events import Replace, RequestHeader, SystemMessage, ToolResult, UserMessage
from slicetape.log.messages import Message, Source, Text
from slicetape.log.payloads import HeaderConfig
from slicetape.loop.deltas import Finish, FinishReason
from slicetape.loop.prompt import Fact, Prompt, Section
from slicetape.loop.request import Requests
from slicetape.surface import Session


def two_steps(**more: Any) -> LiveAgent:
    async def scenario() -> LiveAgent:
        replies = [calls(("c1", "look", "{}")), says("Done.")]
        live = LiveAgent(replies, [ScriptTool("look")], **more)
        await live.turn()
        return live.checked()

    found: LiveAgent = run(scenario)
    return found


def next_request(session: Session, *, first: bool = False) -> None:
    requests = Requests(session, CHAT)
    config = HeaderConfig("test", "chat")
    requests.sent(requests.build(config, Raw(), first_in_turn=True))
    requests.build(config, Raw(), first_in_turn=first)


class TestChecks:
    def test_each_node_is_encoded_once_and_looked_at_once_more(self) -> None:
        async def scenario() -> LiveAgent:
            replies = [*[calls((f"c{n}", "look", "{}")) for n in range(30)], says("Done.")]
            live = LiveAgent(replies, [ScriptTool("look")])
            await live.turn()
            return live

        live = run(scenario)
        assert live.agent._live.requests.encoded <= 2 * len(live.session.view.surface) + 1

    def test_a_change_inside_a_turn_stops_the_request_and_names_the_event(self) -> None:
        async def scenario() -> LiveAgent:
            live = LiveAgent([], [ScriptTool("look")])

            def rewrite() -> None:
                result = live.of(ToolResult)[0]
                block = result.data.message.content[0]
                other = msgspec.structs.replace(block, content=(Text("another text"),))
                message = msgspec.structs.replace(result.data.message, content=(other,))
                live.session.append(
                    ToolResult(
                        time=1,
                        data=msgspec.structs.replace(result.data, message=message),
                        surface_op=Replace(result.seq, result.seq),
                        source_event_seqs=(result.seq,),
                    )
                )

            class Rewrites:
                def before_step(self, turn: int, step: int, claimed: Any) -> Any:
                    if step == 3:
                        rewrite()
                    return ()

                def after_call(self, call: Any, arguments: Any, output: Any) -> None:
                    return

            live.model.replies.extend([calls((f"c{n}", "look", "{}")) for n in range(1, 3)][:1])
            live.model.replies.append(calls(("c9", "no-tool", "{}")))
            live.agent._live.contexts = (Rewrites(),)
            assert (await live.turn()).kind == "error"
            return live

        live = run(scenario)
        [warning] = live.watch.warnings
        assert warning.startswith("this request rewrites what was sent: byte ")
        [view] = [e for e in live.of(ToolResult) if not e.is_original]
        assert f"changed by event {view.seq}" in warning
        assert len(live.model.bodies) == 2, "the third request was not sent"

    def test_a_request_that_a_provider_would_refuse_is_not_sent(self) -> None:
        live = two_steps()
        session = Session(live.session.log, strict=False)
        [result] = live.of(ToolResult)
        said = Message("m", "user", (Text("In place of the result."),), Source("plugin", "other"))
        session.append(
            UserMessage(
                time=1,
                data=said,
                surface_op=Replace(result.seq, result.seq),
                source_event_seqs=(result.seq,),
            )
        )
        with pytest.raises(LoopError, match="would be refused"):
            next_request(session)

    def test_another_list_of_tools_inside_a_turn_is_refused(self) -> None:
        live = two_steps()
        requests = Requests(live.session, CHAT)
        config = HeaderConfig("test", "chat")
        requests.sent(requests.build(config, Raw(b"[]"), first_in_turn=True))
        tools = Raw(b'[{"name":"a","description":"","parameters":{}}]')
        with pytest.raises(LoopError, match="tools or settings"):
            requests.build(config, tools, first_in_turn=False)
        assert requests.build(config, tools, first_in_turn=True).broke is not None


class TestPrompt:
    def turns(self, route: Any, change: int) -> LiveAgent:
        async def scenario() -> LiveAgent:
            prompt = Prompt([Section("a", 0, "First prompt.")])
            live = LiveAgent([says("x")] * 3, route=route, prompt=prompt)
            for number in range(3):
                if number == change:
                    prompt.sections = (Section("a", 0, "Second prompt."),)
                await live.turn()
            return live.checked()

        found: LiveAgent = run(scenario)
        return found

    def test_a_changed_prompt_takes_the_place_of_the_old_one(self) -> None:
        live = self.turns(CHAT, 1)
        assert live.sent()[0] == {"role": "system", "content": "Second prompt."}
        assert [m["role"] for m in live.sent()].count("system") == 1
        assert [h.data.reason for h in live.of(RequestHeader)] == ["initial", "series"]

    def test_where_the_route_allows_it_stands_behind_what_was_sent(self) -> None:
        from dataclasses import replace

        route = replace(CHAT, system_prompt_update="in-history")
        live = self.turns(route, 1)
        assert [m["content"] for m in live.sent() if m["role"] == "system"] == [
            "First prompt.",
            "Second prompt.",
        ]
        assert all(e.surface_op == "append" for e in live.of(SystemMessage))

    def test_a_snapshot_is_shown_again_only_when_it_differs(self) -> None:
        async def scenario() -> LiveAgent:
            facts = [Fact("branch", "On main.")]
            live = LiveAgent([says("x")] * 4, prompt=Prompt([], lambda: facts))
            await live.turn()
            await live.turn()
            facts[0] = Fact("branch", "On dev.")
            await live.turn()
            facts.clear()
            await live.turn()
            return live.checked()

        shown = [
            block.text
            for event in run(scenario).of(UserMessage)
            if event.data.source.form == "snapshot"
            for block in event.data.content
        ]
        assert [("main" in s, "dev" in s) for s in shown] == [
            (True, False),
            (False, True),
            (False, False),
        ]


class TestSignedReasoning:
    STATE = Raw(json.dumps({"blocks": [{"type": "thinking", "signature": "sig=="}, None]}).encode())

    def signed(self, call: str) -> list[Any]:
        return [
            *thinks("Because."),
            *calls((call, "look", "{}"), text="")[:-2],
            Finish(FinishReason("tool-calls"), self.STATE),
        ]

    def reply(self, call: str) -> list[Any]:
        """Reasoning, then a call, in blocks 0 and 1."""
        from slicetape.log.messages import ToolCall
        from slicetape.loop.deltas import BlockEnd

        return [
            *thinks("Because."),
            BlockEnd(1, ToolCall(call, "look", "{}")),
            Finish(FinishReason("tool-calls"), self.STATE),
        ]

    def test_it_goes_back_as_it_came_while_the_prefix_stands(self) -> None:
        async def scenario() -> LiveAgent:
            replies = [self.reply("c1"), self.reply("c2"), says("Done.")]
            live = LiveAgent(replies, [ScriptTool("look")], route=MESSAGES)
            await live.turn()
            return live.checked()

        sent = json.dumps(run(scenario).sent())
        assert sent.count('"signature": "sig=="') == 2

    def test_behind_changed_bytes_it_is_left_out(self) -> None:
        async def scenario() -> LiveAgent:
            prompt = Prompt([Section("a", 0, "First.")])
            replies = [self.reply("c1"), says("Done."), says("Next.")]
            live = LiveAgent(replies, [ScriptTool("look")], route=MESSAGES, prompt=prompt)
            await live.turn()
            prompt.sections = (Section("a", 0, "Second."),)
            await live.turn()
            return live.checked()

        live = run(scenario)
        assert '"signature": "sig=="' in json.dumps(live.sent(1))
        assert '"signature"' not in json.dumps(live.sent(2))


class TestRoutes:
    def test_cache_marks_stand_at_the_end_of_the_tape_and_of_the_request(self) -> None:
        async def scenario() -> LiveAgent:
            replies = [says(f"Answer {n}. " * 80) for n in range(3)]
            live = LiveAgent(replies, route=MESSAGES, sealing=True)
            for number in range(3):
                await live.turn(f"Question {number}?")
            return live.checked()

        live = run(scenario)
        blocks = [b for m in live.sent() for b in m["content"]]
        marked = [at for at, block in enumerate(blocks) if "cache_control" in block]
        assert marked[-1] == len(blocks) - 1
        assert blocks[marked[0]]["text"].startswith("[slice tape v1")
        assert len(marked) == 2

    def test_another_model_takes_over_between_turns(self) -> None:
        async def scenario() -> tuple[LiveAgent, ScriptModel]:
            live = LiveAgent([calls(("c1", "look", "{}")), says("One.")], [ScriptTool("look")])
            await live.turn()
            other = ScriptModel([says("Two.")], MESSAGES)
            live.agent.use(other)
            await live.turn()
            return live, other

        live, other = run(scenario)
        assert len(other.bodies) == 1
        assert [h.data.reason for h in live.of(RequestHeader)] == ["initial", "change"]

    def test_a_model_is_not_changed_inside_a_turn(self) -> None:
        async def scenario() -> None:
            live = LiveAgent([says("One.")])
            live.agent.followup("Go.")
            with pytest.raises(LoopError, match="between turns"):
                live.agent.use(ScriptModel([], CHAT))
            await live.agent.when_idle()

        run(scenario)
