"""Cases 7, 9, 12 and 13: compactions, pictures and token figures."""

import base64
import json

import pytest

from imported import kept, written
from slicetape.formats.counts import count
from slicetape.formats.detect import open_sessions
from slicetape.log.codec import encode_event
from slicetape.log.events import AssistantMessage, TurnStart, UserMessage
from transcript_rows import RESULT, USE, claude, codex, lines, openhands, read

COMPACTED = {
    "claude-code": lines(
        claude("user", "Go.", uuid="1"),
        claude("assistant", USE, uuid="2"),
        claude("user", RESULT, uuid="3"),
        {"type": "system", "subtype": "compact_boundary", "sessionId": "s", "uuid": "4"}
        | {"compactMetadata": {"trigger": "auto", "preTokens": 9}},
        claude("user", "a summary", uuid="5", isCompactSummary=True),
        {"type": "assistant", "sessionId": "s", "uuid": "6"}
        | {"message": {"id": "m2", "content": "On."}},
    ),
    "codex-rollout": lines(
        {"type": "session_meta", "payload": {"cwd": "/w"}},
        codex("event_msg", "user_message", message="Go."),
        codex("response_item", "function_call", name="shell", call_id="c1", arguments="{}"),
        codex("response_item", "function_call_output", call_id="c1", output="a.py"),
        {"type": "compacted", "payload": {"message": "a summary"}},
        codex("event_msg", "context_compacted"),
        codex("response_item", "message", role="assistant", content=[{"type": "output_text"}]),
    ),
    "pi": lines(
        {"type": "session", "id": "s", "timestamp": "2025-01-01"},
        {"type": "message", "message": {"role": "user", "content": "Go."}},
        {"type": "message", "message": {"role": "assistant", "content": "One."}},
        {"type": "compaction", "summary": "a summary", "firstKeptEntryIndex": 1},
        {"type": "message", "message": {"role": "assistant", "content": "Two."}},
    ),
    "opencode": {
        "info": {"id": "s", "projectID": "p", "slug": "s"},
        "messages": [
            {"info": {"role": "user"}, "parts": [{"type": "text", "text": "Go."}]},
            {"info": {"role": "assistant"}, "parts": [{"type": "text", "text": "One."}]},
            {"info": {"role": "user"}, "parts": [{"type": "compaction"}]},
            {"info": {"role": "assistant"}, "parts": [{"type": "text", "text": "Two."}]},
        ],
    },
    "openhands": {
        "history": [
            openhands("message", "user", content="Go."),
            openhands("run", command="ls"),
            openhands("condensation", summary="a summary", forgotten_event_ids=[1]),
            openhands("run", command="pwd"),
        ]
    },
    "inspect": {
        "eval": {"task": "t"},
        "samples": [
            {
                "messages": [
                    {"role": "user", "content": "Go.", "source": "input"},
                    {"role": "assistant", "content": "One.", "id": "a1"},
                    {"role": "assistant", "content": "Two.", "id": "a2"},
                ],
                "events": [
                    {"event": "model", "output": {"choices": [{"message": {"id": "a1"}}]}},
                    {"event": "compaction", "tokens_before": 9},
                    {"event": "model", "output": {"choices": [{"message": {"id": "a2"}}]}},
                ],
            }
        ],
    },
}


@pytest.mark.parametrize("format", sorted(COMPACTED))
def test_naive_case_7_a_compaction_does_not_end_the_turn_it_falls_into(tmp_path, format):
    events = read(tmp_path, COMPACTED[format])
    counts = count(events, format)
    assert (counts.turns, counts.steps, counts.compactions) == (1, 2, 1)
    assert sum(isinstance(event, TurnStart) for event in events) == 1
    assert len(kept(events, "x/compaction")) == 1
    said = [event for event in events if isinstance(event, UserMessage | AssistantMessage)]
    assert not any(b"a summary" in encode_event(event) for event in said)


PICTURE = base64.b64encode(bytes(200_000)).decode()
URL = f"data:image/png;base64,{PICTURE}"
SOURCE = {"type": "image", "source": {"type": "base64", "data": PICTURE}}
SHOWN = {
    "claude-code": lines(claude("user", [SOURCE])),
    "codex-rollout": lines(
        {"type": "session_meta", "payload": {"cwd": "/w"}},
        codex("event_msg", "user_message", message="", images=[URL]),
    ),
    "opencode": {
        "info": {"id": "s", "projectID": "p", "slug": "s"},
        "messages": [
            {
                "info": {"role": "user"},
                "parts": [{"type": "file", "mime": "image/png", "url": URL}],
            }
        ],
    },
    "gemini-cli": {
        "sessionId": "s",
        "messages": [
            {
                "type": "user",
                "content": [{"inlineData": {"mimeType": "image/png", "data": PICTURE}}],
            }
        ],
    },
    "pi": lines(
        {"type": "session", "id": "s", "timestamp": "2025-01-01"},
        {
            "type": "message",
            "message": {"role": "user", "content": [{"type": "image", "data": PICTURE}]},
        },
    ),
    "swe-agent": {
        "trajectory": [{"action": "ls", "observation": ""}],
        "history": [
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": URL}}]}
        ],
    },
    "openhands": {"history": [openhands("message", "user", image_urls=[URL])]},
    "openai-chat": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": URL}}]}
    ],
    "inspect": {
        "eval": {"task": "t"},
        "samples": [{"messages": [{"role": "user", "content": [{"type": "image", "image": URL}]}]}],
    },
    "anthropic-messages": {"system": "s", "messages": [{"role": "user", "content": [SOURCE]}]},
}


@pytest.mark.parametrize("format", sorted(SHOWN))
def test_naive_case_9_a_picture_is_an_attachment_and_never_text(tmp_path, format):
    events = read(tmp_path, SHOWN[format])
    assert sum(len(encode_event(event)) for event in events) < 5000
    counts = count(events, format)
    assert counts.images == 1
    assert counts.chars <= len("\n[image]") + len("ls")
    attachments = {}
    path = written(tmp_path, SHOWN[format])
    for session in open_sessions(path, attachments=attachments.__setitem__):
        list(session.events)
    assert list(attachments.values()) == [bytes(200_000)]


CUMULATIVE = {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 7}
CHAT_USAGE = {"prompt_tokens": 100, "completion_tokens": 7} | {
    "prompt_tokens_details": {"cached_tokens": 60}
}
MESSAGES_USAGE = {"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 7}
USED = {
    "claude-code": lines(
        claude("user", "Go."),
        {"type": "assistant", "sessionId": "s"}
        | {"message": {"id": "m1", "content": "A", "usage": MESSAGES_USAGE}},
        {"type": "assistant", "sessionId": "s"}
        | {"message": {"id": "m1", "content": "B", "usage": MESSAGES_USAGE}},
    ),
    "codex-rollout": lines(
        {"type": "session_meta", "payload": {"cwd": "/w"}},
        codex("event_msg", "user_message", message="Go."),
        codex("response_item", "message", role="assistant", content=[{"type": "output_text"}]),
        *[
            codex(
                "event_msg",
                "token_count",
                info={"last_token_usage": CUMULATIVE, "total_token_usage": CUMULATIVE},
            )
        ]
        * 2,
    ),
    "opencode": {
        "info": {"id": "s", "projectID": "p", "slug": "s"},
        "messages": [
            {"info": {"role": "user"}, "parts": [{"type": "text", "text": "Go."}]},
            {
                "info": {
                    "role": "assistant",
                    "tokens": {"input": 40, "output": 7, "reasoning": 0, "cache": {"read": 60}},
                },
                "parts": [],
            },
        ],
    },
    "gemini-cli": {
        "sessionId": "s",
        "messages": [
            {"type": "user", "content": "Go."},
            {"type": "gemini", "tokens": {"input": 100, "cached": 60, "output": 7}},
        ],
    },
    "mini-swe-agent": {
        "trajectory_format": "mini-swe-agent-1",
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": "A", "extra": {"response": {"usage": CHAT_USAGE}}},
        ],
    },
    "openhands": {
        "history": [
            openhands("message", "user", content="Go."),
            openhands("message", content="A")
            | {"tool_call_metadata": {"model_response": {"id": "r", "usage": CHAT_USAGE}}},
        ]
    },
    "openai-chat": [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "A", "usage": CHAT_USAGE},
    ],
    "anthropic-messages": {
        "system": "s",
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": "A", "usage": MESSAGES_USAGE},
        ],
    },
}


@pytest.mark.parametrize("format", sorted(USED))
def test_naive_case_12_input_counters_are_disjoint_and_counted_once(tmp_path, format):
    usage = count(read(tmp_path, USED[format]), format).usage
    assert (usage.fresh, usage.read, usage.written, usage.out, usage.peak) == (40, 60, 0, 7, 100)


@pytest.mark.parametrize("format", sorted(USED))
def test_naive_case_13_recorded_figures_stay_on_their_response_and_change_nothing(tmp_path, format):
    def without(events):
        bare = []
        for event in events:
            line = json.loads(encode_event(event))
            line["data"].pop("usage", None)
            bare.append(line)
        return bare

    value = USED[format]
    text = value if isinstance(value, str) else json.dumps(value)
    other = text.replace(": 60", ": 0").replace(": 7", ": 8")
    assert other != text
    events, changed = read(tmp_path, text), read(tmp_path, other)
    assert without(events) == without(changed)
    used = [event for event in events if isinstance(event, AssistantMessage)]
    assert [event.data.usage is not None for event in used] == [True]
