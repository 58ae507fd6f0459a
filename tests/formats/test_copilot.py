import json

import event_rules
from imported import imported, kept, told, written
from slicetape.formats.copilot import open_sessions
from slicetape.formats.counts import count
from slicetape.log.events import AssistantMessage, RequestHeader, ToolResult, TurnEnd


def event(type, **data):
    return {"type": type, "data": data, "id": type, "timestamp": "2026-02-01T10:00:00Z"}


def read(tmp_path, *records):
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    ((session, events),) = imported(open_sessions, written(tmp_path, data, "e.jsonl"))
    event_rules.hold(events)
    return session, events


def request(id, name="bash", **input):
    return {"toolCallId": id, "name": name, "arguments": input}


def done(id, **data):
    return event("tool.execution_complete", toolCallId=id, **data)


def test_a_session_with_calls_and_what_was_put_around_the_message(tmp_path):
    session, events = read(
        tmp_path,
        event("session.start", sessionId="s", context={"cwd": "/w"}),
        event("session.model_change", newModel="m", reasoningEffort="high"),
        event("system.message", content="Be brief."),
        event(
            "user.message",
            content="go",
            transformedContent="<now/>\n\ngo\n\n<hint/>",
            attachments=[{"a": 1}],
        ),
        event("assistant.turn_start", turnId="0"),
        event(
            "assistant.message",
            model="m",
            content="I look.",
            reasoningText="Hm.",
            reasoningOpaque="O",
            toolRequests=[request("a", x=1), request("b")],
            outputTokens=17,
        ),
        event("hook.start", input={"toolResult": "copy"}),
        done("b", success=False, error={"message": "no path", "code": "failure"}),
        done("a", success=True, result={"content": "seen", "detailedContent": "display"}),
        event("system.notification", content="<system_notification>done"),
        event(
            "assistant.message", model="m", content="", toolRequests=[request("c"), request("d")]
        ),
        done("c", success=False, error="plain"),
        done("d"),
        event("abort", reason="user_initiated"),
    )
    assert told(events) == [
        "turn",
        "step",
        "system: Be brief.",
        "user: go",
        "copilot-cli:context: <now/>\n\n",
        "copilot-cli:context: \n\n<hint/>",
        "x/attachment",
        "reasoning: Hm.",
        "I look.",
        'call a bash {"x": 1}',
        "call b bash {}",
        "result a: seen",
        'error b: {"message": "no path", "code": "failure"}',
        "x/usage",
        "step",
        "copilot-cli:notification: <system_notification>done",
        "call c bash {}",
        "call d bash {}",
        "error c: plain",
        "result d: ",
        "x/interrupted",
        "end aborted",
    ]
    assert (session.header.cwd, session.header.created_at) == ("/w", 1769940000000)
    assert kept(events, "x/usage") == [{"outputTokens": 17}]
    results = [event.data.error for event in events if isinstance(event, ToolResult)]
    assert [error and error.code for error in results] == [None, "failure", None, None]
    message = next(event for event in events if isinstance(event, AssistantMessage))
    assert b'"reasoningOpaque":"O"' in bytes(message.data.message.source.replay_state)
    (header,) = [event.data.header.config for event in events if isinstance(event, RequestHeader)]
    assert (header.provider, header.model, header.reasoning_effort) == (
        "github-copilot",
        "m",
        "high",
    )
    counts = count(events, "copilot-cli")
    assert (counts.turns, counts.steps, counts.tool_errors, counts.usage) == (1, 2, 2, None)


def test_compactions_subagents_and_errors_are_kept_aside(tmp_path):
    _, events = read(
        tmp_path,
        event("user.message", content=""),
        event("assistant.message", model="m", content="a"),
        event("session.compaction_start"),
        event("session.compaction_complete", summary="s"),
        event("subagent.started", name="n"),
        event("session.error", message="bad"),
    )
    assert told(events)[3:] == [
        "a",
        "x/compaction-start",
        "x/compaction",
        "x/subagent",
        "x/error",
        "end completed",
    ]
    assert kept(events, "x/compaction") == [{"type": "session.compaction_complete", "summary": "s"}]
    assert count(events, "copilot-cli").compactions == 1
    assert [e.data.reason.kind for e in events if isinstance(e, TurnEnd)] == ["completed"]
