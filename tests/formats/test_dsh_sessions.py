import json

import pytest

from data import shared
from imported import written
from slicetape.errors import TranscriptError
from slicetape.formats.counts import count
from slicetape.formats.dsh import open_sessions
from slicetape.formats.source import Transcript
from slicetape.log.codec import encode_event
from slicetape.log.events import ToolResult, UserMessage, type_of

HEAD = {"type": "session", "version": 3, "id": "real-id", "createdAt": 1000, "isSeeded": False}
HEAD |= {"delegationDepth": 0}


def message(id, said, kind="user"):
    source = {"kind": kind} if kind == "user" else {"kind": "plugin", "plugin": kind}
    return {"id": id, "role": "user", "content": [{"type": "text", "text": said}], "source": source}


def events(*kinds):
    return [
        {"type": kind, "seq": seq, "time": 1001 + seq, "data": data} | more
        for seq, (kind, data, *rest) in enumerate(kinds)
        for more in [rest[0] if rest else {}]
    ]


TALK = events(
    ("turn/start", {"turn": 1}),
    ("user/message", message("m1", "hi"), {"surfaceOp": "append"}),
    ("turn/end", {"turn": 1, "reason": {"kind": "completed"}}),
)


def file(tmp_path, *rows):
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    return written(tmp_path, b"\n".join(lines) + b"\n", "some-name.jsonl")


def read(tmp_path, *rows):
    (session,) = open_sessions(Transcript(file(tmp_path, *rows)))
    return session, list(session.events)


def test_a_log_of_format_3_passes_through_under_its_own_id(tmp_path):
    session, found = read(tmp_path, HEAD, *TALK)
    assert (session.id, session.header.created_at, session.notes) == ("real-id", 1000, [])
    assert [json.loads(encode_event(event)) for event in found] == TALK
    assert count(found, "dsh-session").chars == len("hi\n")


def test_a_snapshot_without_numbers_is_numbered_and_named_after_its_file(tmp_path):
    chunks = {"turn": 1, "step": 1, "index": 0, "dt": [1], "texts": ["a", "b"]}
    bare = [
        {"type": "turn/start", "data": {"turn": 1}},
        {"type": "step/start", "data": {"turn": 1, "step": 1}},
        {
            "type": "assistant/chunk",
            "data": {
                "turn": 1,
                "step": 1,
                "chunk": {"type": "block-start", "index": 0, "blockType": "text"},
            },
        },
        {"type": "text-chunks", "data": chunks},
        {"type": "user/message", "data": message("m1", "hi"), "surfaceOp": "append"},
        {
            "type": "user/message",
            "data": message("m2", "sum", "compact"),
            "surfaceOp": {"op": "replace", "start": 5, "end": 5},
            "sourceEventSeqs": [5],
        },
        {"type": "step/end", "data": {"turn": 1, "step": 1}},
        {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}},
    ]
    head = {"type": "session", "version": 0, "id": "{{sessionId}}", "createdAt": 5000}
    session, found = read(tmp_path, head, b"", *bare)
    assert session.id == session.header.id == "some-name"
    first, second = (event for event in found if isinstance(event, UserMessage))
    assert second.surface_op.start_seq == first.seq
    assert (first.time, second.time) == (5005, 5006)
    assert count(found, "dsh-session").compactions == 1


def test_damage_is_noted_and_what_stands_before_it_read(tmp_path):
    session, found = read(tmp_path, HEAD, *TALK[:2], b'{"type":"turn/e')
    assert len(found) == 2
    assert session.notes[0].startswith("read up to event 2: ")


def test_a_kind_that_may_not_be_skipped_refuses_the_log(tmp_path):
    odd = {"type": "odd/kind", "seq": 3, "time": 1, "data": {}}
    with pytest.raises(TranscriptError, match=r"'some-name.jsonl' cannot be read on from event 3"):
        read(tmp_path, HEAD, *TALK, odd)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "is no session log that can be read"),
        ([b"\0\0"], "is no session log that can be read"),
        ([{"type": "session", "version": 9, "id": "i", "createdAt": 1}], "newer than"),
        ([HEAD, b"{"], "is no session log that can be read"),
    ],
)
def test_a_file_that_is_no_log_is_refused(tmp_path, rows, problem):
    with pytest.raises(TranscriptError, match=problem):
        read(tmp_path, *rows)


def test_a_pruned_result_is_counted_as_a_compaction_and_not_twice():
    path = shared("dsh-logs/v3-codemode.jsonl")
    (session,) = open_sessions(Transcript(path))
    found = list(session.events)
    replaced = [event for event in found if isinstance(event, ToolResult) and not event.is_original]
    brackets = [event for event in found if type_of(event).startswith("compaction/")]
    others = [e for e in found if isinstance(e, UserMessage) and not e.is_original]
    assert replaced
    counts = count(found, "dsh-session")
    assert counts.compactions == len(replaced) + len(brackets) + len(others)
    assert counts.tool_calls == len(
        [e for e in found if isinstance(e, ToolResult) and e.is_original]
    )
