"""Room in a full window: pruned and summarised by a call that extends the warm prefix."""

import json
from typing import Any

import pytest

from live_agent import CHAT, HANG, MESSAGES, LiveAgent, ScriptTool, calls, fails, run, says, text_of
from slicetape.log.events import (
    CompactionEnd,
    CompactionSummary,
    TurnEnd,
    UserMessage,
    is_entry,
    is_human,
)
from slicetape.log.payloads import Usage
from slicetape.loop.compaction import CompactionSettings
from slicetape.loop.deltas import Finish, FinishReason
from slicetape.loop.room import LiveCompaction
from slicetape.recall.tools import Recall, dispatch

ROUTES = pytest.mark.parametrize("route", [CHAT, MESSAGES], ids=["chat", "messages"])
LONG = "A long answer about what was found. " * 60
SUMMARY = "# Primary Request and Intent\n- find it"


def roomy(window: int = 2_000) -> Any:
    return lambda live: LiveCompaction(live, CompactionSettings(window=window))


def used(tokens: int) -> Usage:
    return Usage(input_tokens=tokens, output_tokens=20)


async def long_talk(live: LiveAgent, turns: int) -> None:
    for number in range(turns):
        live.model.replies.append(says(f"{LONG} {number}", usage=used(300 * (number + 1))))
        await live.turn(f"Question {number}?")


@ROUTES
def test_above_four_fifths_a_summary_takes_the_place_of_old_messages(route: Any) -> None:
    async def scenario() -> LiveAgent:
        live = LiveAgent(room=roomy(), route=route)
        live.model.summaries.append(says(SUMMARY))
        await long_talk(live, 5)
        return live.checked()

    live = run(scenario)
    assert live.model.asked.count("summary") == 1
    [summary] = live.of(CompactionSummary)
    assert summary.data.llm_stream_call
    last = json.dumps(live.sent())
    assert SUMMARY.split("\n")[1] in last
    assert "Question 0?" not in last
    assert "Question 4?" in last


def test_the_call_for_the_summary_extends_what_is_cached() -> None:
    async def scenario() -> LiveAgent:
        live = LiveAgent(tools=[ScriptTool("look")], room=roomy())
        live.model.summaries.append(says(SUMMARY))
        await long_talk(live, 5)
        return live

    live = run(scenario)
    at = live.model.asked.index("summary")
    asked, before = live.sent(at), live.sent(at - 1)
    assert asked[:-1] == before[: len(asked) - 1]
    assert asked[-1]["role"] == "user"
    body, warm = (json.loads(live.model.bodies[n]) for n in (at, at - 1))
    assert body["tools"] == warm["tools"]
    assert "reasoning_effort" not in body
    assert body["max_tokens"] == 8_192


BROKEN: dict[str, list[Any]] = {
    "an error": fails("SERVER", "no summary"),
    "an empty text": [Finish(FinishReason("stop"))],
    "a cut text": [*text_of("Half"), Finish(FinishReason("max-tokens"))],
    "a text that is larger": says("x" * 200_000),
}


@pytest.mark.parametrize("case", BROKEN)
def test_without_a_summary_the_turn_goes_on_and_the_log_says_why(case: str) -> None:
    async def scenario() -> LiveAgent:
        live = LiveAgent(room=roomy())
        live.model.summaries.extend([BROKEN[case]] * 4)
        await long_talk(live, 5)
        return live.checked()

    live = run(scenario)
    assert live.of(CompactionSummary) == []
    assert all(end.data.error for end in live.of(CompactionEnd))
    assert {end.data.reason.kind for end in live.of(TurnEnd)} == {"completed"}


def test_an_abort_while_the_summary_is_written_ends_turn_and_compaction() -> None:
    async def scenario() -> LiveAgent:
        live = LiveAgent(room=roomy())
        live.model.summaries.append([live.cancel, HANG])
        await long_talk(live, 3)
        assert (await live.turn("And now?")).kind == "aborted"
        live.model.summaries.append(says(SUMMARY))
        live.model.replies.append(says("Gone on."))
        assert (await live.turn("Go on.")).kind == "completed"
        return live.checked()

    live = run(scenario)
    assert live.of(CompactionEnd)[0].data.error


def test_an_overflow_is_answered_by_one_reduction_and_another_try() -> None:
    async def scenario() -> LiveAgent:
        live = LiveAgent(room=roomy(window=1_000_000))
        await long_talk(live, 3)
        live.model.replies.extend([fails("CONTEXT_WINDOW_EXCEEDED"), says("It fits.")])
        live.model.summaries.append(says(SUMMARY))
        assert (await live.turn("Still?")).kind == "completed"
        return live.checked()

    assert len(run(scenario).of(CompactionSummary)) == 1


def test_an_overflow_that_no_summary_mends_ends_the_turn() -> None:
    async def scenario() -> LiveAgent:
        live = LiveAgent(room=roomy(window=1_000_000))
        await long_talk(live, 3)
        live.model.replies.extend([fails("CONTEXT_WINDOW_EXCEEDED")] * 2)
        live.model.summaries.append(says(SUMMARY))
        assert (await live.turn("Still?")).kind == "error"
        return live.checked()

    assert run(scenario).model.asked.count("summary") == 1


def test_beside_the_tape_nothing_that_was_replaced_comes_back_by_itself() -> None:
    async def told() -> LiveAgent:
        look = ScriptTool("look", lambda _: "\n".join(f"line {n} of it" for n in range(400)))
        live = LiveAgent(tools=[look], room=roomy(4_000), sealing=True)
        live.model.summaries.extend([says(SUMMARY)] * 9)
        for number in range(4):
            live.model.replies.append(calls((f"c{number}", "look", "{}")))
            live.model.replies.append(says(f"{LONG} {number}", usage=used(500)))
            await live.turn(f"Question {number}?")
        live.model.replies.append(says("Full.", usage=used(3_900)))
        await live.turn("Is it full?")
        for number in range(5, 8):
            live.model.replies.append(says(f"{LONG} {number}", usage=used(900)))
            await live.turn(f"Question {number}?")
        return live.checked()

    live = run(told)
    view = live.session.view
    summary = live.of(CompactionSummary)[0]
    gone = set(summary.data.shadowed_seqs if isinstance(summary.data.shadowed_seqs, tuple) else ())
    assert not gone & set(view.surface.nodes)
    humans = [e for e in live.of(UserMessage) if is_human(e)]
    hidden = [e for e in humans if e.seq not in view.surface]
    assert hidden, "the compaction took human messages"
    later = [e for e in live.of(UserMessage) if is_entry(e) and e.seq > summary.seq]
    assert later, "sealing goes on behind the summary"
    assert not any(gone & set(entry.sources) for entry in later), "nothing is sealed twice"
    recall = Recall.of_session(live.session)
    page = dispatch("recall_turn", {"turn": "1"}, recall)
    assert "Question 0?" in page
    found = dispatch("recall_search", {"query": "line 399 of it", "scope": "auto"}, recall)
    assert "expand_result" in found
