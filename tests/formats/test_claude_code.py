import base64
import json
import struct
import tracemalloc

import event_rules
from imported import imported, kept, told, written
from slicetape.formats.claude_code import open_sessions
from slicetape.formats.counts import count
from slicetape.formats.detect import open_sessions as open_any
from slicetape.formats.source import Transcript
from slicetape.log.events import (
    AssistantMessage,
    RequestHeader,
    ToolResult,
    TurnEnd,
    UserMessage,
    is_human,
)
from slicetape.log.messages import Image, OtherBlock

TIME = "2026-02-01T10:00:00.000Z"


def user(content, **more):
    record = {"type": "user", "sessionId": "S", "timestamp": TIME}
    return record | {"message": {"content": content}, **more}


def reply(id, *blocks, **message):
    usage = {"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 7}
    body = {"id": id, "model": "claude-x", "content": list(blocks), "usage": usage} | message
    return {"type": "assistant", "timestamp": TIME, "message": body}


def text(said):
    return {"type": "text", "text": said}


def call(id, name="Bash", **input):
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def result(id, content, **more):
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def lines(*records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def read(tmp_path, *records, name="t.jsonl"):
    data = records[0] if isinstance(records[0], bytes) else lines(*records)
    ((session, events),) = imported(open_sessions, written(tmp_path, data, name))
    event_rules.hold(events)
    return session, events


def test_records_of_one_response_become_one_step_with_its_last_usage(tmp_path):
    last = reply("m1", call("b", command="pwd"))
    last["message"]["usage"] = {"input_tokens": 3, "output_tokens": 9}
    _, events = read(
        tmp_path,
        user("go"),
        reply("m1", {"type": "thinking", "thinking": "Hm.", "signature": "S"}),
        reply("m1", text("I look.")),
        reply("m1", call("a", command="ls")),
        user([result("a", "out of a")]),
        last,
        user([result("b", [text("x"), text("y")], is_error=True)]),
        reply("m2", text("Done.")),
    )
    assert told(events) == [
        "turn",
        "step",
        "user: go",
        "reasoning: Hm.",
        "I look.",
        'call a Bash {"command": "ls"}',
        'call b Bash {"command": "pwd"}',
        "result a: out of a",
        "error b: x\ny",
        "step",
        "Done.",
        "end completed",
    ]
    first, _ = (event for event in events if isinstance(event, AssistantMessage))
    assert first.data.usage.output_tokens == 9
    assert b'{"type":"reasoning","signature":"S"}' in bytes(first.data.message.source.replay_state)


def test_a_branch_that_repeats_known_records_is_read_once(tmp_path):
    first = user("go", uuid="u1")
    answer = reply("m1", text("ok")) | {"uuid": "u2"}
    edited = user("go again", uuid="u3")
    _, events = read(tmp_path, first, answer, first, answer, edited)
    assert told(events) == [
        "turn",
        "step",
        "user: go",
        "ok",
        "end completed",
        "turn",
        "user: go again",
        "end completed",
    ]


def test_an_interrupted_turn_is_aborted_by_the_user(tmp_path):
    _, events = read(
        tmp_path,
        user("go"),
        reply("m1", call("a")),
        user([text("[Request interrupted by user for tool use]")]),
        user("do this instead"),
        reply("m2", text("ok")),
    )
    assert told(events)[3:6] == [
        "call a Bash {}",
        "unknown a",
        "claude-code:interruption: [Request interrupted by user for tool use]",
    ]
    reasons = [event.data.reason.kind for event in events if isinstance(event, TurnEnd)]
    assert reasons == ["aborted", "completed"]
    assert count(events, "claude-code").turns == 2
    assert count(events, "claude-code").tool_errors == 0


def test_compactions_open_no_turn_and_their_summary_is_kept(tmp_path):
    boundary = {"type": "system", "timestamp": TIME, "subtype": "compact_boundary"}
    micro = {"type": "system", "timestamp": TIME, "subtype": "microcompact_boundary"}
    _, events = read(
        tmp_path,
        user("go"),
        reply("m1", text("a")),
        micro | {"microcompactMetadata": {"compactedToolIds": ["x"], "ratio": -0.0}},
        boundary | {"compactMetadata": {"trigger": "auto", "preTokens": 9}},
        user("what was done", isCompactSummary=True),
        reply("m2", text("b")),
    )
    assert told(events) == [
        "turn",
        "step",
        "user: go",
        "a",
        "x/microcompaction",
        "x/compaction",
        "x/compaction-summary",
        "step",
        "b",
        "end completed",
    ]
    assert kept(events, "x/compaction") == [{"trigger": "auto", "preTokens": 9}]
    assert kept(events, "x/microcompaction") == [{"compactedToolIds": ["x"], "ratio": 0}]
    assert kept(events, "x/compaction-summary") == [{"text": "what was done"}]
    counts = count(events, "claude-code")
    assert (counts.compactions, counts.chars) == (2, len("go") + len("ab") + len("what was done"))


def test_text_that_nobody_typed_has_a_plugin_as_its_source(tmp_path):
    _, events = read(
        tmp_path,
        user("Caveat: dropped, no turn is open"),
        user("go"),
        user("injected", isMeta=True),
        user("<local-command-stdout>x"),
        user("<task-notification>done"),
        user("<bash-input>ls"),
    )
    assert told(events) == [
        "x/note",
        "turn",
        "user: go",
        "claude-code:meta: injected",
        "claude-code:command: <local-command-stdout>x",
        "end completed",
        "turn",
        "claude-code:task-notification: <task-notification>done",
        "end completed",
        "turn",
        "claude-code:shell: <bash-input>ls",
        "end completed",
    ]
    assert count(events, "claude-code").turns == 1


def test_what_a_person_types_beside_a_result_is_human_but_no_turn(tmp_path):
    _, events = read(
        tmp_path,
        user("go"),
        reply("m1", call("a")),
        user([result("a", "out"), text("my name is khaong")]),
        reply("m2", text("ok")),
    )
    (_, steering) = [event for event in events if is_human(event)]
    assert steering.data.source.form == "steering"
    assert told(events)[5:7] == ["step", "user: my name is khaong"]
    assert count(events, "claude-code").turns == 1


def test_pictures_are_attachments_wherever_they_stand(tmp_path):
    png = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"rest"
    source = {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(png).decode(),
    }
    picture = {"type": "image", "source": source}
    remote = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    path = written(
        tmp_path,
        lines(
            user([picture, text("what is it?")]),
            reply("m1", call("a")),
            user([result("a", [picture, remote, {"type": "tool_reference", "tool_name": "T"}])]),
        ),
        "t.jsonl",
    )
    stored = {}
    (session,) = open_sessions(Transcript(path, attachments=stored.__setitem__))
    events = list(session.events)
    assert list(stored.values()) == [png]
    (asked,) = [event for event in events if isinstance(event, UserMessage)]
    image = asked.data.content[0]
    assert isinstance(image, Image)
    (sha256,) = stored
    assert image.attachment.attachment_id == f"sha256:{sha256}"
    assert (image.attachment.width, image.attachment.height) == (640, 480)
    assert (image.attachment.media_type, image.attachment.bytes) == ("image/png", len(png))
    (answer,) = [event for event in events if isinstance(event, ToolResult)]
    shown = answer.data.message.content[0].content
    assert [type(block) for block in shown] == [Image, Image, OtherBlock]
    assert shown[1].attachment.name == "https://example.org/a.png"
    assert json.loads(shown[2].raw) == {"type": "tool_reference", "tool_name": "T"}
    assert count(events, "claude-code").images == 3


def test_blocks_of_unknown_kinds_keep_all_their_fields(tmp_path):
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "s",
        "content": [{"type": "hit", "url": "u"}],
    }
    redacted = {"type": "redacted_thinking", "data": "opaque"}
    _, events = read(tmp_path, user("go"), reply("m1", redacted, text("a"), found))
    (message,) = [event for event in events if isinstance(event, AssistantMessage)]
    blocks = message.data.message.content
    assert [json.loads(block.raw) for block in (blocks[0], blocks[2])] == [redacted, found]


def test_subagents_queues_and_attachments_are_kept_aside(tmp_path):
    progress = {"type": "agent_progress", "agentId": "a1", "prompt": "look", "message": {"big": 1}}
    _, events = read(
        tmp_path,
        user("go"),
        {"type": "progress", "data": progress},
        {"type": "progress", "data": progress},
        {"type": "progress", "data": {"type": "bash_progress"}},
        reply("s1", text("inner")) | {"isSidechain": True},
        {"type": "queue-operation", "operation": "enqueue", "content": "and this"},
        {"type": "attachment", "attachment": {"type": "date_change"}},
        {"type": "custom-title", "customTitle": "T"},
        {"type": "system", "subtype": "api_error", "content": "529"},
        {"type": "system", "subtype": "turn_duration"},
        {"type": "mode", "mode": "plan"},
    )
    assert kept(events, "x/subagent")[0] == {"agentId": "a1", "prompt": "look"}
    assert kept(events, "x/subagent")[1]["message"]["id"] == "s1"
    assert len(kept(events, "x/subagent")) == 2
    assert kept(events, "x/queue") == [{"operation": "enqueue", "content": "and this"}]
    assert kept(events, "x/attachment") == [{"attachment": {"type": "date_change"}}]
    assert kept(events, "x/title") == [{"title": "T"}]
    assert kept(events, "x/api-error") == [{"content": "529"}]
    assert count(events, "claude-code").steps == 0


def test_a_file_that_begins_with_a_sidechain_is_the_subagents_session(tmp_path):
    side = {"isSidechain": True, "cwd": "/w"}
    session, events = read(
        tmp_path, user("look", **side), reply("m1", text("seen")) | side, name="agent-1.jsonl"
    )
    assert (session.id, session.header.cwd) == ("agent-1", "/w")
    assert told(events)[2:4] == ["user: look", "seen"]


def test_a_failed_request_ends_its_turn_with_an_error(tmp_path):
    failed = reply("m1", text("API Error: 529"), model="<synthetic>") | {"isApiErrorMessage": True}
    long = reply("m2", text("cut"), stop_reason="max_tokens")
    _, events = read(tmp_path, user("go"), failed, user("again"), long)
    reasons = [event.data.reason for event in events if isinstance(event, TurnEnd)]
    assert [reason.kind for reason in reasons] == ["error", "max-tokens"]
    assert reasons[0].error.message == "API Error: 529"
    headers = [event.data.header.config for event in events if isinstance(event, RequestHeader)]
    assert [(config.provider, config.model) for config in headers][-1] == ("anthropic", "claude-x")


def test_texts_come_back_byte_for_byte(tmp_path):
    hostile = "a\r\nb\x1b[31mred\x1b[0m\x00\ud800\u2028\N{PILE OF POO}"
    record = user([result("a", hostile)])
    data = lines(user(hostile), reply("m1", call("a", command=hostile), text(hostile)), record)
    _, events = read(tmp_path, data.replace(b"\n", b"\r\n"))
    (asked,) = [event for event in events if isinstance(event, UserMessage)]
    assert asked.data.content[0].text == hostile
    (answer,) = [event for event in events if isinstance(event, ToolResult)]
    assert answer.data.message.content[0].content[0].text == hostile
    (message,) = [event for event in events if isinstance(event, AssistantMessage)]
    assert message.data.message.content[1].text == hostile
    assert json.loads(message.data.message.content[0].arguments) == {"command": hostile}


def test_a_line_of_a_megabyte_is_a_line(tmp_path):
    big = "x" * 1_200_000
    _, events = read(tmp_path, user(big), user("y", toolUseResult={"originalFile": big}))
    assert [
        len(event.data.content[0].text) for event in events if isinstance(event, UserMessage)
    ] == [
        1_200_000,
        1,
    ]


def test_a_cut_last_line_is_noted_and_everything_before_it_imported(tmp_path):
    data = lines(user("go"), reply("m1", text("ok")), user("more"))
    session, events = read(tmp_path, data[:-20])
    assert told(events) == ["turn", "step", "user: go", "ok", "x/unread", "end completed"]
    (note,) = session.notes
    assert note.startswith("line 3 is damaged: ")
    assert note.endswith("nothing lies behind it")


def test_damage_in_the_middle_says_what_lies_behind_it(tmp_path):
    behind = lines(user("one"), user("two"))
    data = lines(user("go")) + b'{"type":"user","mess\0\0\0\n' + behind + b"\xff\n"
    session, events = read(tmp_path, data)
    assert told(events) == ["turn", "user: go", "x/unread", "end completed"]
    size = len(behind) + 2
    assert (
        f"behind it lie 3 lines ({size} bytes), 2 of them readable, not imported"
        in session.notes[0]
    )


def test_a_line_of_another_shape_is_skipped_and_noted(tmp_path):
    odd = [user("go"), {"type": "user", "message": {"content": 5}}, ["list"], user("on")]
    session, events = read(tmp_path, b"\n" + lines(*odd))
    assert told(events) == [
        "turn",
        "user: go",
        "x/unread",
        "x/unread",
        "end completed",
        "turn",
        "user: on",
        "end completed",
    ]
    assert [note.split(" has ")[0] for note in session.notes] == ["line 3", "line 4"]


def test_times_are_recorded_ones_or_count_from_the_start(tmp_path):
    untimed = user("later")
    del untimed["timestamp"]
    session, events = read(tmp_path, user("go"), untimed)
    start = session.header.created_at
    assert start == 1769940000000
    assert [event.time - start for event in events if isinstance(event, UserMessage)] == [0, 2]


def test_events_arrive_before_the_file_is_read_to_its_end(tmp_path):
    display = {"stdout": "z" * 20_000}
    records = [
        record
        for n in range(500)
        for record in (
            user(f"turn {n}"),
            reply(f"m{n}", call(f"c{n}")),
            user([result(f"c{n}", "ok")], toolUseResult=display),
        )
    ]
    path = written(tmp_path, lines(*records), "t.jsonl")

    class Counting(Transcript):
        taken = 0

        def lines(self):
            for line in super().lines():
                self.taken += 1
                yield line

    transcript = Counting(path)
    (session,) = open_sessions(transcript)
    most = seen = 0
    for event in session.events:
        seen += isinstance(event, ToolResult)
        most = max(most, transcript.taken - 3 * seen)
    assert seen == 500
    assert most <= 50  # the head of the file, read for its header
    (again,) = open_any(path)
    assert next(again.events).seq == 0


def test_the_import_of_a_long_session_holds_no_display_copies(tmp_path):
    display = {"originalFile": "z" * 50_000}
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(lines(user("go")))
        for n in range(400):
            file.write(lines(reply(f"m{n}", call(f"c{n}"))))
            file.write(lines(user([result(f"c{n}", "ok")], toolUseResult=display)))
    (warm,) = open_any(path)
    next(warm.events)
    tracemalloc.start()
    try:
        (session,) = open_any(path)
        assert sum(1 for _ in session.events) == 2005
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 20_000_000
    assert peak < 4_000_000


def test_writes_that_live_for_an_hour_are_kept_aside_once_a_response(tmp_path):
    written = {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 8}
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 9, "cache_creation": written}
    first, second = (reply("m1", text(said), usage=usage) for said in ("a", "b"))
    _, events = read(tmp_path, user("go"), first, second)
    assert kept(events, "x/usage") == [{"cacheWrite1hTokens": 8, "cacheWrite5mTokens": 1}]
    assert count(events, "claude-code").usage.written == 9
