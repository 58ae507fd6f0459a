import base64
import hashlib
import json

import pytest

from imported import expected, figures, imported, kept, manifest, story, told, written
from slicetape.errors import TranscriptError
from slicetape.formats.counts import count
from slicetape.formats.openai_chat import open_sessions
from slicetape.formats.source import Transcript
from slicetape.log.events import AssistantMessage, RequestHeader


@pytest.mark.parametrize("id", ["chat-01", "chat-02", "chat-03", "chat-04", "chat-05"])
def test_the_figures_equal_the_manifest(id):
    path, row = manifest(id)
    ((session, events),) = imported(open_sessions, path)
    assert session.id == id
    assert figures(count(events, row["format"])) == expected(row)


def test_the_reward_of_a_dialogue_is_kept():
    path, _ = manifest("chat-03")
    ((_, events),) = imported(open_sessions, path)
    (outcome,) = kept(events, "x/outcome")
    assert (outcome["task_id"], outcome["reward"]) == (13, 0.0)


def test_recorded_tool_schemas_lose_their_wrapper():
    path, _ = manifest("chat-05")
    ((_, events),) = imported(open_sessions, path)
    (header,) = [event for event in events if isinstance(event, RequestHeader)]
    tools = json.loads(bytes(header.data.header.tools))
    assert [tool["name"] for tool in tools] == ["execute_bash", "finish", "str_replace_editor"]
    assert all(tool.keys() == {"name", "description", "parameters"} for tool in tools)


def call(id, name, arguments):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def said(role, content, **more):
    return {"role": role, "content": content} | more


TALK = [
    said("system", "Be kind."),
    said("user", "What is in a.py?"),
    said("assistant", None, tool_calls=[call("c1", "read", '{"path": "a.py"}')]),
    said("tool", "x = 1\r\n", tool_call_id="c1", name="read"),
    said("assistant", "x is 1.", reasoning_content="Easy."),
    said("user", ""),
    said("assistant", ""),
    said("user", "Never answered"),
]
STORY = [
    "turn",
    "step",
    "system: Be kind.",
    "user: What is in a.py?",
    'call c1 read {"path": "a.py"}',
    "result c1: x = 1\r\n",
    "step",
    "reasoning: Easy.",
    "x is 1.",
    "end completed",
    "turn",
    "step",
    "user: ",
    "end completed",
    "turn",
    "user: Never answered",
    "end completed",
]


@pytest.mark.parametrize("place", ["traj", "messages", "trajectory"])
def test_messages_may_stand_in_a_record(tmp_path, place):
    assert story(open_sessions, written(tmp_path, {place: TALK})) == STORY


def test_the_document_itself_may_be_the_list_of_messages(tmp_path):
    assert story(open_sessions, written(tmp_path, TALK)) == STORY


def test_messages_may_stand_one_a_line(tmp_path):
    lines = "".join(json.dumps(message) + "\n" for message in TALK)
    assert story(open_sessions, written(tmp_path, lines, "t.jsonl")) == STORY


def test_a_list_of_records_is_a_session_each(tmp_path):
    path = written(tmp_path, [{"traj": TALK, "reward": 1.0}, {"traj": TALK[:3]}])
    (first, events), (second, _) = imported(open_sessions, path)
    assert (first.id, second.id) == ("t/0001", "t/0002")
    assert told(events) == [*STORY[:-1], "x/outcome", STORY[-1]]


def test_records_may_stand_one_a_line(tmp_path):
    lines = "\n".join(json.dumps({"messages": TALK[:2]}) for _ in range(3))
    found = imported(open_sessions, written(tmp_path, lines, "t.jsonl"))
    assert [session.id for session, _ in found] == ["t/0001", "t/0002", "t/0003"]


def test_old_field_names_and_function_calls_are_read(tmp_path):
    record = {
        "model": "m",
        "system_prompt": "Be kind.",
        "messages": [
            {"role": "user", "text": "Go."},
            {"role": "ai", "text": "", "function_call": {"name": "f", "arguments": {"a": "é"}}},
            {"role": "function", "name": "f", "text": "ok"},
            {"role": "ai", "text": "Done.", "reasoning": "So."},
            {"role": "critic", "text": "Hm."},
        ],
    }
    assert story(open_sessions, written(tmp_path, record)) == [
        "turn",
        "step",
        "system: Be kind.",
        "user: Go.",
        'call #2 f {"a": "é"}',
        "result #2: ok",
        "step",
        "reasoning: So.",
        "Done.",
        "x/message",
        "end completed",
    ]


def test_calls_written_as_function_tags_are_answered_by_the_next_message(tmp_path):
    tag = "<function=bash>\n<parameter=command>ls</parameter>\n</function>"
    talk = [
        said("user", "Fix it."),
        said("assistant", f"I look.\n\n{tag}"),
        said("user", "OBSERVATION:\na.py"),
        said("assistant", "No call."),
        said("user", "OBSERVATION:\nno function call"),
        said("assistant", "<function=submit>\n</function>"),
    ]
    path = written(tmp_path, talk)
    assert story(open_sessions, path) == [
        "turn",
        "step",
        "user: Fix it.",
        "I look.\n\n",
        f"call shell-1 shell {tag}",
        "result shell-1: OBSERVATION:\na.py",
        "step",
        "No call.",
        "call shell-2 shell ",
        "result shell-2: OBSERVATION:\nno function call",
        "step",
        "<function=submit>\n</function>",
        "end completed",
    ]


def test_calls_written_as_fenced_commands_are_told_by_the_last_shell_fence(tmp_path):
    talk = [
        said("user", "Fix it."),
        said("assistant", "```python\nx\n```\nI run:\n```bash\nls\n```"),
        said("user", "a.py"),
        said("assistant", "Done."),
    ]
    assert story(open_sessions, written(tmp_path, talk))[3:6] == [
        "```python\nx\n```\nI run:\n",
        "call shell-1 shell ```bash\nls\n```",
        "result shell-1: a.py",
    ]


def test_a_plain_dialogue_without_tools_is_no_run_of_calls(tmp_path):
    talk = [
        said("user", "How do I list?"),
        said("assistant", "Use:\n```bash\nls\n```"),
        said("user", "Thanks. And in Python?"),
        said("assistant", "os.listdir"),
        said("user", "Good."),
    ]
    counts = count(imported(open_sessions, written(tmp_path, talk))[0][1], "openai-chat")
    assert (counts.turns, counts.tool_calls) == (3, 0)


def test_a_later_system_message_is_a_note_and_counts_no_characters(tmp_path):
    talk = [said("user", "Go."), said("system", "Hurry."), said("assistant", "Yes.")]
    ((_, events),) = imported(open_sessions, written(tmp_path, talk))
    assert "openai-chat:system: Hurry." in told(events)
    assert count(events, "openai-chat").chars == len("Go.Yes.")


def test_pictures_go_to_the_attachments_and_urls_are_never_opened(tmp_path):
    picture = b"\x89PNG\r\n\x1a\n" + bytes(8) + b"\0\0\0\x02\0\0\0\x03"
    url = "data:image/png;base64," + base64.b64encode(picture).decode()
    parts = [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "image_url", "image_url": "https://example.org/a.png"},
        {"type": "input_audio", "data": "zzz"},
    ]
    path = written(tmp_path, [said("user", parts), said("assistant", "A picture.")])
    kept_bytes = {}
    transcript = Transcript(path, attachments=kept_bytes.__setitem__)
    (session,) = open_sessions(transcript)
    events = list(session.events)
    assert kept_bytes == {hashlib.sha256(picture).hexdigest(): picture}
    assert "user: See\n[image]\n[image]\nOtherBlock" in told(events)
    assert count(events, "openai-chat").images == 2


def test_usage_of_a_message_is_made_disjoint(tmp_path):
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 8}
    talk = [said("user", "Go."), said("assistant", "Yes.", usage=usage), said("assistant", "!")]
    ((_, events),) = imported(open_sessions, written(tmp_path, talk))
    first, second = [e.data.usage for e in events if isinstance(e, AssistantMessage)]
    assert (first.input_tokens, first.cache_read_tokens, first.output_tokens) == (2, 8, 2)
    assert second is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"messages": [{"role": "user", "content": 5}]}, "$.messages[0].content"),
        ({"model": "m"}, "no messages"),
        ([{"x": 1}], "no messages"),
        ("[1]", "$[0]"),
        ('{"messages": []}\n{"messages": [\n', "damaged in line 2"),
        ('{"messages": []}\n{"messages": 4}\n', "line 2"),
        ('[{"role": "user", "content": "a', "cut or damaged"),
        ('{"messages": [' + "[" * 100_000, "$.messages[0]"),
    ],
)
def test_a_malformed_file_is_refused_in_one_line_that_says_where(tmp_path, value, problem):
    path = written(tmp_path, value, "bad.json")
    with pytest.raises(TranscriptError) as caught:
        list(open_sessions(Transcript(path)))
    assert "bad.json" in str(caught.value)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_tool_schemas_of_another_shape_are_kept_as_they_are(tmp_path):
    tools = ["read", {"type": "web_search"}, {"name": "f", "parameters": {"type": "object"}}]
    record = {"messages": TALK[:3], "tools": tools}
    ((_, events),) = imported(open_sessions, written(tmp_path, record))
    (header,) = [event for event in events if isinstance(event, RequestHeader)]
    assert json.loads(bytes(header.data.header.tools)) == [
        "read",
        {"type": "web_search"},
        {"name": "f", "description": "", "parameters": {"type": "object"}},
    ]
