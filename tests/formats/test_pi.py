import json

import event_rules
from imported import imported, kept, told, written
from slicetape.formats.counts import count
from slicetape.formats.pi import open_sessions
from slicetape.log.events import AssistantMessage, RequestHeader, TurnEnd, UserMessage


def entry(type, **more):
    return {"type": type, "timestamp": "2026-02-01T10:00:00Z", **more}


def said(role, content=None, **more):
    return entry("message", message={"role": role, "content": content, **more})


def answer(*content, **more):
    usage = {"input": 3, "output": 2, "cacheRead": 5, "cacheWrite": 1}
    fields = {"provider": "anthropic", "model": "m", "usage": usage, "stopReason": "stop"} | more
    return said("assistant", list(content), **fields)


def text(value):
    return {"type": "text", "text": value}


def read(tmp_path, *records):
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    ((session, events),) = imported(open_sessions, written(tmp_path, data, "p.jsonl"))
    event_rules.hold(events)
    return session, events


def test_a_session_with_calls_shell_escapes_and_a_compaction(tmp_path):
    session, events = read(
        tmp_path,
        entry("session", id="s", cwd="/w", branchedFrom="/old.jsonl", thinkingLevel="off"),
        said("user", [text("go"), {"type": "image", "data": "AAAA", "mimeType": "image/png"}]),
        entry("thinking_level_change", thinkingLevel="high"),
        answer(
            {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "S"},
            text("I look."),
            {"type": "toolCall", "id": "a", "name": "read", "arguments": {"p": 1}},
            {"type": "odd"},
            stopReason="toolUse",
        ),
        said("toolResult", [text("seen")], toolCallId="a", isError=True),
        entry("compaction", summary="so far", tokensBefore=9, firstKeptEntryIndex=2),
        answer(text("Done.")),
        said("bashExecution", command="ls", output="a.py\n"),
        said("custom", "a hook says"),
        entry("branch_summary", summary="other branch"),
        said("user", "last"),
    )
    assert told(events) == [
        "x/branch",
        "turn",
        "step",
        "user: go\n[image]",
        "reasoning: Hm.",
        "I look.",
        'call a read {"p": 1}',
        "OtherBlock",
        "error a: seen",
        "x/compaction",
        "step",
        "Done.",
        "end completed",
        "turn",
        "pi:shell: ls\na.py\n",
        "pi:custom: a hook says",
        "x/branch-summary",
        "end completed",
        "turn",
        "user: last",
        "end completed",
    ]
    assert session.header.cwd == "/w"
    assert kept(events, "x/compaction")[0]["firstKeptEntryIndex"] == 2
    headers = [event.data.header.config for event in events if isinstance(event, RequestHeader)]
    assert [header.reasoning_effort for header in headers] == ["high"]
    first = next(event for event in events if isinstance(event, AssistantMessage))
    assert b'"signature":"S"' in bytes(first.data.message.source.replay_state)
    counts = count(events, "pi")
    assert (counts.turns, counts.steps, counts.compactions, counts.images) == (2, 2, 1, 1)


def test_an_aborted_empty_response_still_is_a_step(tmp_path):
    _, events = read(
        tmp_path,
        said("user", "a"),
        answer(stopReason="aborted"),
        said("user", "b"),
        answer(stopReason="error", errorMessage="400"),
        said("user", "c"),
        answer(text("cut"), stopReason="length"),
        said("user", "d"),
        said("assistant", "plain"),
        said("user", None),
    )
    reasons = [event.data.reason for event in events if isinstance(event, TurnEnd)]
    assert [reason.kind for reason in reasons] == [
        "aborted",
        "error",
        "max-tokens",
        "completed",
        "completed",
    ]
    assert reasons[1].error.message == "400"
    messages = [event.data for event in events if isinstance(event, AssistantMessage)]
    assert [data.interrupted for data in messages] == [True, None, None, None]
    assert count(events, "pi").steps == 4
    asked = [event.data.content for event in events if isinstance(event, UserMessage)]
    assert [content[0].text for content in asked] == ["a", "b", "c", "d", ""]
