import pytest

import event_rules
from imported import imported, kept, told, written
from slicetape.errors import TranscriptError
from slicetape.formats.counts import UsageCounts, count
from slicetape.formats.opencode import open_sessions
from slicetape.formats.source import Transcript
from slicetape.log.events import AssistantMessage, ToolResult, TurnEnd, UserMessage
from slicetape.log.messages import File, Image


def user(*parts):
    return {
        "info": {"role": "user", "id": "u", "time": {"created": 1_700_000_000_001}},
        "parts": parts,
    }


def assistant(*parts, **info):
    tokens = {"input": 5, "output": 3, "reasoning": 2, "cache": {"read": 7, "write": 1}}
    fields = {"role": "assistant", "modelID": "m", "providerID": "p", "tokens": tokens}
    return {"info": fields | info, "parts": parts}


def text(said, **more):
    return {"type": "text", "text": said, **more}


def tool(id, **state):
    return {"type": "tool", "callID": id, "tool": "read", "state": state}


def read(tmp_path, *messages, **info):
    info = {"id": "ses_1", "time": {"created": 1_700_000_000_000}} | info
    path = written(tmp_path, {"info": info, "messages": messages}, "o.json")
    ((session, events),) = imported(open_sessions, path)
    event_rules.hold(events)
    return session, events


def test_an_assistant_message_is_a_step_with_its_results(tmp_path):
    picture = {"mime": "image/png", "url": "data:image/png;base64,AAAA"}
    pruned = {"start": 1, "end": 2, "compacted": 3}
    session, events = read(
        tmp_path,
        user(text("go"), text("context", synthetic=True)),
        assistant(
            {"type": "step-start"},
            {"type": "reasoning", "text": "Hm.", "metadata": {"k": "v"}},
            text("I look."),
            tool(
                "a",
                status="completed",
                input={"p": 1},
                output="seen",
                attachments=[picture],
                time=pruned,
            ),
            tool("b", status="error", input={}, error="no"),
            tool("c", status="running", input={}),
            {"type": "patch", "hash": "h", "files": []},
        ),
        directory="/w",
        title="T",
        parentID="ses_0",
    )
    assert told(events) == [
        "x/title",
        "turn",
        "step",
        "user: go\ncontext",
        "reasoning: Hm.",
        "I look.",
        'call a read {"p": 1}',
        "call b read {}",
        "call c read {}",
        "result a: seen\n[image]",
        "error b: no",
        "unknown c",
        "end completed",
    ]
    head = session.header
    assert (head.cwd, head.parent_session, head.delegation_depth, head.origin) == (
        "/w",
        "ses_0",
        1,
        "subagent",
    )
    (message,) = [event for event in events if isinstance(event, AssistantMessage)]
    assert b'"metadata":{"k":"v"}' in bytes(message.data.message.source.replay_state)
    assert message.data.usage.reasoning_tokens == 2
    metas = [bytes(event.data.meta) for event in events if isinstance(event, ToolResult)]
    assert metas == [b'{"compactedAt":3.0}', b"", b""]
    counts = count(events, "opencode")
    assert counts.usage == UsageCounts(fresh=5, read=7, written=1, out=5, peak=13)
    assert (counts.turns, counts.images, counts.tool_errors) == (1, 1, 1)


def test_a_typed_command_stands_in_for_its_subtask(tmp_path):
    subtask = {"type": "subtask", "prompt": "You are", "agent": "build", "command": "review"}
    _, events = read(
        tmp_path, user(subtask), user({"type": "subtask", "description": "look"}), user()
    )
    assert [line for line in told(events) if line.startswith("user")] == [
        "user: /review\nOtherBlock",
        "user: look\nOtherBlock",
        "user: ",
    ]
    counts = count(events, "opencode")
    assert (counts.turns, counts.chars) == (3, 0)


def test_files_are_attachments(tmp_path):
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"}
    note = {"type": "file", "mime": "text/plain", "url": "data:text/plain,hi", "filename": "a.txt"}
    remote = {"type": "file", "mime": "text/plain", "url": "file:///w/a.txt"}
    _, events = read(tmp_path, user(text("see"), picture, note, remote))
    (asked,) = [event for event in events if isinstance(event, UserMessage)]
    kinds = [type(block) for block in asked.data.content]
    assert kinds[1:] == [Image, File, File]
    names = [block.attachment.name for block in asked.data.content[2:]]
    assert names == ["a.txt", "file:///w/a.txt"]


def test_a_compaction_opens_no_turn(tmp_path):
    _, events = read(
        tmp_path,
        user(text("go")),
        assistant(text("a")),
        user({"type": "compaction"}),
        assistant(text("b")),
    )
    assert told(events)[4:] == ["x/compaction", "step", "b", "end completed"]
    assert kept(events, "x/compaction") == [{"text": ""}]
    assert count(events, "opencode").compactions == 1


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        ({"finish": "length"}, "max-tokens"),
        ({"error": {"name": "MessageAbortedError", "data": {"message": "Aborted"}}}, "aborted"),
        ({"error": {"name": "APIError", "data": {"message": "overloaded"}}}, "error"),
        ({"error": "odd"}, "error"),
    ],
)
def test_how_a_response_ended_ends_the_turn(tmp_path, info, reason):
    _, events = read(tmp_path, user(text("go")), assistant(text("a"), **info))
    (end,) = [event for event in events if isinstance(event, TurnEnd)]
    assert end.data.reason.kind == reason


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"info": {}, "messages": [', "is cut or damaged"),
        (b'{"info": {}, "messages": 5}', "has an unexpected shape"),
    ],
)
def test_a_damaged_document_is_refused_in_one_line(tmp_path, content, problem):
    path = written(tmp_path, content, "o.json")
    with pytest.raises(TranscriptError, match=problem) as caught:
        list(open_sessions(Transcript(path)))
    assert str(caught.value).startswith("'o.json' ")
    assert "\n" not in str(caught.value)
