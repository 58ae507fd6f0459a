import json

import pytest

from imported import imported, kept, story, told, written
from slicetape.errors import TranscriptError
from slicetape.formats.anthropic_messages import open_sessions
from slicetape.formats.counts import count
from slicetape.formats.detect import open_sessions as open_any
from slicetape.formats.source import Transcript
from slicetape.log.events import AssistantMessage, RequestHeader, TurnEnd
from slicetape.log.messages import OtherBlock


def said(role, content, **more):
    return {"role": role, "content": content} | more


def result(id, content, **more):
    return {"type": "tool_result", "tool_use_id": id, "content": content} | more


PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
LINKED = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
PAPER = {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}
TALK = [
    said("user", "What is in a.py?"),
    said(
        "assistant",
        [
            {"type": "thinking", "thinking": "Read both.", "signature": "U0NS"},
            {"type": "redacted_thinking", "data": "U0NT"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py"}},
            {"type": "tool_use", "id": "t2", "name": "read", "input": {"path": "a.py"}},
        ],
        usage={"input_tokens": 3, "cache_read_input_tokens": 5, "output_tokens": 2}
        | {"cache_creation_input_tokens": 7},
    ),
    said(
        "user",
        [
            result("t2", [{"type": "text", "text": "x = 1"}, PICTURE]),
            result("t1", "no such file", is_error=True),
            {"type": "text", "text": "<environment_details>"},
        ],
    ),
    said("assistant", "x is 1."),
    said(
        "user",
        [
            {"type": "text", "text": "And this?"},
            LINKED,
            {"type": "document", "source": PAPER, "title": "p.pdf"},
            {"type": "document", "source": {"type": "text", "data": "plain"}},
            {"type": "document", "source": {"type": "url", "url": "https://example.org/p"}},
        ],
    ),
    said("assistant", [{"type": "text", "text": "Too m"}], stop_reason="max_tokens"),
]
STORY = [
    "turn",
    "step",
    "user: What is in a.py?",
    "reasoning: Read both.",
    "OtherBlock",
    "I look.",
    'call t1 read {"path": "a.py"}',
    'call t2 read {"path": "a.py"}',
    "error t1: no such file",
    "result t2: x = 1\n[image]",
    "step",
    "anthropic-messages:with-result: <environment_details>",
    "x is 1.",
    "end completed",
    "turn",
    "step",
    "user: And this?\n[image]\nFile\nplain\nOtherBlock",
    "Too m",
    "end max-tokens",
]


@pytest.mark.parametrize("read", [open_sessions, lambda transcript: open_any(transcript.path)])
def test_tool_results_continue_the_turn_and_pair_by_id(tmp_path, read):
    assert story(read, written(tmp_path, {"messages": TALK})) == STORY


@pytest.mark.parametrize("read", [open_sessions, lambda transcript: open_any(transcript.path)])
def test_the_document_itself_may_be_the_list_of_messages(tmp_path, read):
    assert story(read, written(tmp_path, TALK)) == STORY


def test_system_tools_and_model_stand_beside_the_messages(tmp_path):
    request = {
        "model": "claude-x",
        "max_tokens": 99,
        "system": [{"type": "text", "text": "Be kind."}],
        "tools": [{"name": "read", "input_schema": {"type": "object"}}],
        "messages": [said("user", "Hi", ts=1763511722000), said("assistant", "Hi."), said("x", "")],
        "usage": {"input_tokens": 1},
    }
    ((session, events),) = imported(open_sessions, written(tmp_path, request))
    assert session.header.created_at == 1763511722000
    assert told(events)[2] == "system: Be kind."
    (header,) = [e.data.header for e in events if isinstance(e, RequestHeader)]
    assert (header.config.model, header.config.max_tokens) == ("claude-x", 99)
    assert json.loads(bytes(header.tools)) == [
        {"name": "read", "description": "", "parameters": {"type": "object"}}
    ]
    assert kept(events, "x/outcome") == [{"usage": {"input_tokens": 1}}]


def test_usage_signatures_and_opaque_reasoning_survive(tmp_path):
    ((_, events),) = imported(open_sessions, written(tmp_path, TALK))
    first = next(event for event in events if isinstance(event, AssistantMessage))
    usage = first.data.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (3, 5, 7)
    state = json.loads(bytes(first.data.message.source.replay_state))
    assert state["blocks"][0]["signature"] == "U0NS"
    (opaque,) = [block for block in first.data.message.content if isinstance(block, OtherBlock)]
    assert json.loads(opaque.raw) == {"type": "redacted_thinking", "data": "U0NT"}
    counts = count(events, "anthropic-messages")
    assert (counts.turns, counts.steps, counts.tool_calls, counts.tool_errors) == (2, 3, 2, 1)
    assert [e.data.reason.kind for e in events if isinstance(e, TurnEnd)][-1] == "max-tokens"


def test_each_line_may_be_a_request(tmp_path):
    line = json.dumps({"system": "s", "messages": TALK[:1]}) + "\n"
    found = imported(open_sessions, written(tmp_path, line * 2, "t.jsonl"))
    assert [session.id for session, _ in found] == ["t/0001", "t/0002"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"messages": [said("user", [{"type": 3}])]}, "$.messages[0].content[0].type"),
        ({"system": "s"}, "messages"),
        (b'{"messages": [{"role"', "cut or damaged"),
    ],
)
def test_a_malformed_file_is_refused_in_one_line_that_says_where(tmp_path, value, problem):
    with pytest.raises(TranscriptError) as caught:
        list(open_sessions(Transcript(written(tmp_path, value, "bad.json"))))
    assert "bad.json" in str(caught.value)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
