import json

import event_rules
from imported import imported, kept, told, written
from slicetape.formats.codex import open_sessions
from slicetape.formats.counts import UsageCounts, count
from slicetape.log.events import (
    AssistantMessage,
    RequestContext,
    RequestHeader,
    TurnEnd,
    UserMessage,
)
from slicetape.log.messages import Image, OtherBlock


def line(record, **payload):
    return {"timestamp": "2026-02-01T10:00:00Z", "type": record, "payload": payload}


def event(type, **payload):
    return line("event_msg", type=type, **payload)


def item(type, **payload):
    return line("response_item", type=type, **payload)


def message(role, *texts):
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text} for text in texts])


def tokens(total, used, cached=0, out=0, thought=0):
    last = {"input_tokens": used, "cached_input_tokens": cached, "output_tokens": out}
    last |= {"reasoning_output_tokens": thought, "total_tokens": used + out}
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": last}
    return event("token_count", info=info | {"model_context_window": 1000})


def call(id, name="exec_command", **input):
    return item("function_call", call_id=id, name=name, arguments=json.dumps(input))


def output(id, value):
    return item("function_call_output", call_id=id, output=value)


def read(tmp_path, *records):
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    ((session, events),) = imported(open_sessions, written(tmp_path, data, "r.jsonl"))
    event_rules.hold(events)
    return session, events


OPENING = (
    line("session_meta", cwd="/w", model_provider="openai", base_instructions={"text": "Be good."}),
    event("task_started", model_context_window=900),
    message("developer", "rules"),
    message("user", "# AGENTS.md instructions"),
    line("turn_context", model="gpt-x", effort="high", cwd="/w"),
)


def test_turns_come_from_user_messages_and_context_from_a_plugin(tmp_path):
    session, events = read(
        tmp_path,
        *OPENING,
        message("user", "go"),
        event("user_message", message="go", images=[]),
        item(
            "reasoning",
            id="rs1",
            summary=[{"type": "summary_text", "text": "Hm."}],
            encrypted_content="E",
        ),
        event("agent_message", message="Looking."),
        message("assistant", "Looking."),
        call("a", cmd="ls"),
        output("a", "Process exited with code 2\nOutput:\nno"),
        tokens(10, 8, 3, 2, 1),
        message("assistant", "Done."),
        tokens(10, 8, 3, 2, 1),
        event("task_complete", last_agent_message="Done."),
    )
    assert told(events) == [
        "turn",
        "step",
        "system: Be good.",
        "user: go",
        "codex-rollout:context: rules",
        "codex-rollout:context: # AGENTS.md instructions",
        "reasoning: Hm.",
        "Looking.",
        'call a exec_command {"cmd": "ls"}',
        "error a: Process exited with code 2\nOutput:\nno",
        "step",
        "Done.",
        "end completed",
    ]
    assert session.header.cwd == "/w"
    counts = count(events, "codex-rollout")
    assert (counts.turns, counts.steps, counts.tool_errors) == (1, 2, 1)
    assert counts.usage == UsageCounts(fresh=5, read=3, written=0, out=2, peak=8)
    (first, _) = [event for event in events if isinstance(event, AssistantMessage)]
    assert b'"encryptedContent":"E"' in bytes(first.data.message.source.replay_state)
    (header,) = [event.data.header for event in events if isinstance(event, RequestHeader)]
    assert (header.config.model, header.config.reasoning_effort) == ("gpt-x", "high")
    windows = [event.data.context_window for event in events if isinstance(event, RequestContext)]
    assert windows == [900, 1000]


def test_results_may_be_objects_lists_with_pictures_or_lists_of_tools(tmp_path):
    parts = [
        {"type": "input_text", "text": "seen"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        {"type": "input_image", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "odd"},
    ]
    _, events = read(
        tmp_path,
        event("user_message", message="go"),
        item("custom_tool_call", call_id="p", name="apply_patch", input="*** Begin"),
        call("o"),
        call("l"),
        item("tool_search_call", call_id="s", arguments={"query": "q"}),
        item("web_search_call", action={"type": "open_page"}),
        item("custom_tool_call_output", call_id="p", output="Exit code: 0\nok"),
        output("o", {"content": "plain", "success": True}),
        output("l", parts),
        item("tool_search_output", call_id="s", tools=[{"name": "t"}]),
    )
    assert told(events)[3:-1] == [
        "call p apply_patch *** Begin",
        "call o exec_command {}",
        "call l exec_command {}",
        'call s tool_search {"query": "q"}',
        'call #2 web_search {"type": "open_page"}',
        "result p: Exit code: 0\nok",
        "result o: plain",
        "result l: seen\n[image]\n[image]\nOtherBlock",
        'result s: [{"name": "t"}]',
        "unknown #2",
    ]
    assert count(events, "codex-rollout").images == 2


def test_pictures_of_a_message_come_from_its_item_or_from_the_event(tmp_path):
    url = "data:image/png;base64,AAAA"
    shown = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": url}]
    _, events = read(
        tmp_path,
        item("message", role="user", content=shown),
        event("user_message", message="see"),
        event("user_message", message="and this", images=[url]),
        event("user_message", message=None),
    )
    asked = [event.data.content for event in events if isinstance(event, UserMessage)]
    assert [type(content[-1]) is Image for content in asked] == [True, True, False]


def test_aborts_errors_and_compactions_survive(tmp_path):
    _, events = read(
        tmp_path,
        event("user_message", message="go"),
        message("assistant", "a"),
        tokens(5, 5),
        line("compacted", message="summary", window_number=2),
        event("context_compacted"),
        tokens(9, 4),
        event("token_count", info=None),
        event("turn_aborted", reason="interrupted"),
        event("user_message", message="on"),
        event("error", message="overloaded"),
    )
    assert kept(events, "x/compaction") == [{"summary": "summary", "windowNumber": 2}]
    assert kept(events, "x/interrupted") == [{"reason": "interrupted"}]
    assert kept(events, "x/error") == [{"message": "overloaded"}]
    assert kept(events, "x/usage")[0]["inputTokens"] == 4
    reasons = [event.data.reason.kind for event in events if isinstance(event, TurnEnd)]
    assert reasons == ["aborted", "error"]
    counts = count(events, "codex-rollout")
    assert (counts.compactions, counts.usage.fresh) == (1, 9)


def test_context_within_a_turn_stands_before_the_next_step(tmp_path):
    _, events = read(
        tmp_path,
        event("user_message", message="go"),
        message("assistant", "a"),
        tokens(5, 5),
        message("user", "<environment_context>"),
        item("message", role="user", content=[{"type": "odd"}]),
        item("reasoning", summary=[], content=[{"type": "reasoning_text", "text": "t"}]),
    )
    assert told(events)[4:-1] == [
        "step",
        "codex-rollout:context: <environment_context>",
        "codex-rollout:context: OtherBlock",
        "reasoning: t",
    ]
    odd = [e for e in events if isinstance(e, UserMessage)][-1].data.content[0]
    assert isinstance(odd, OtherBlock)
    assert '"odd"' in odd.raw
