import json

import pytest

from imported import expected, figures, imported, kept, manifest, story, written
from slicetape.errors import TranscriptError
from slicetape.formats.counts import UsageCounts, count
from slicetape.formats.inspect_log import open_sessions
from slicetape.formats.source import Transcript
from slicetape.log.events import AssistantMessage, RequestHeader, ToolResult


def test_the_figures_equal_the_manifest_and_usage_the_log_itself():
    path, row = manifest("insp-01")
    ((session, events),) = imported(open_sessions, path)
    counts = count(events, row["format"])
    assert session.id == "insp-01"
    assert figures(counts) | {"usage": None} == expected(row)
    recorded = Transcript(path).document(json.loads)["stats"]["model_usage"]["openai/gpt-4o-mini"]
    assert counts.usage == UsageCounts(
        fresh=recorded["input_tokens"] - recorded["input_tokens_cache_read"],
        read=recorded["input_tokens_cache_read"],
        out=recorded["output_tokens"],
        peak=5915,
    )


def test_times_and_resolved_tool_schemas_come_from_the_events():
    path, _ = manifest("insp-01")
    ((session, events),) = imported(open_sessions, path)
    (header,) = [event for event in events if isinstance(event, RequestHeader)]
    tools = bytes(header.data.header.tools)
    assert b"attachment://" not in tools
    assert len(json.loads(tools)) == 8
    assert session.header.created_at == 1747096056997
    assert [event.time for event in events] == sorted(event.time for event in events)
    assert kept(events, "x/outcome")[0]["scores"]["includes"]["value"] == "C"


LONG = "0123456789abcdef0123456789abcdef"


def sample(*messages, events=(), **more):
    return {"id": 1, "epoch": 1, "messages": list(messages), "events": list(events)} | more


def log(*samples):
    return {"version": 2, "eval": {"task": "t", "model": "m"}, "samples": list(samples)}


def said(role, content, **more):
    return {"role": role, "content": content} | more


def model(reply=None, usage=None, **more):
    message = {"id": reply} if reply else {}
    return {"event": "model", "output": {"choices": [{"message": message}], "usage": usage}} | more


CALL = {"id": "c1", "function": "go", "arguments": {"url": f"attachment://{LONG}"}}
SAMPLE = sample(
    said("system", "Be careful."),
    said("user", f"attachment://{LONG}", source="input"),
    said(
        "assistant",
        [
            {"type": "reasoning", "reasoning": "Hm.", "signature": "U0NS"},
            {"type": "text", "text": ""},
            {"type": "text", "text": "I go."},
        ],
        id="a1",
        tool_calls=[CALL, CALL | {"id": "c2"}],
    ),
    said("tool", "", tool_call_id="c2", error={"type": "timeout", "message": "Too slow."}),
    said("tool", [{"type": "image", "image": "data:image/png;base64,AAAA"}], tool_call_id="c1"),
    said("system", "Hurry."),
    said("user", "Proceed.", source=None),
    said("assistant", "Done.", id="a2"),
    said("critic", "Good."),
    attachments={LONG: "a long text"},
    limit={"type": "time"},
    events=[
        {"event": "sandbox", "output": "text", "completed": 7},
        {"event": "compaction", "tokens_before": 9, "tokens_after": 1},
        model("a1"),
        {"event": "tool", "id": "c1", "completed": "2025-05-12T20:27:44+00:00"},
        model("other", {"input_tokens": 1000, "output_tokens": 1000}),
        {"event": "compaction", "type": "summary"},
        model("a2"),
        model("a3") | {"output": {"choices": []}},
        {"event": "compaction"},
    ],
)


def test_messages_references_errors_and_compactions_are_read(tmp_path):
    assert story(open_sessions, written(tmp_path, log(SAMPLE))) == [
        "turn",
        "step",
        "system: Be careful.",
        "user: a long text",
        "x/compaction",
        "reasoning: Hm.",
        "I go.",
        'call c1 go {"url": "a long text"}',
        'call c2 go {"url": "a long text"}',
        "result c1: [image]",
        "error c2: Too slow.",
        "inspect:system: Hurry.",
        "end completed",
        "turn",
        "step",
        "inspect:solver: Proceed.",
        "x/compaction",
        "Done.",
        "x/message",
        "x/compaction",
        "x/outcome",
        "end completed",
    ]


def test_a_message_of_the_solver_opens_an_automatic_turn(tmp_path):
    ((_, events),) = imported(open_sessions, written(tmp_path, log(SAMPLE)))
    counts = count(events, "inspect")
    assert (counts.turns, counts.compactions, counts.images, counts.tool_errors) == (1, 3, 1, 1)
    failed = [e for e in events if isinstance(e, ToolResult) and e.data.error]
    assert [event.data.error.name for event in failed] == ["timeout"]


def test_each_sample_with_messages_is_a_session(tmp_path):
    talk = [said("user", "Go."), said("assistant", "Yes.")]
    path = written(tmp_path, log(sample(*talk), sample(), sample(*talk)))
    assert [session.id for session, _ in imported(open_sessions, path)] == ["t/0001", "t/0002"]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}, (10, None, None)),
        (
            {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
            | {"input_tokens_cache_read": 8},
            (2, 8, None),
        ),
        (
            {"input_tokens": 10, "output_tokens": 2, "total_tokens": 25}
            | {"input_tokens_cache_read": 8, "input_tokens_cache_write": 5},
            (10, 8, 5),
        ),
    ],
)
def test_usage_is_told_by_order_where_messages_have_no_ids_and_made_disjoint(
    tmp_path, usage, counted
):
    talk = sample(said("user", "Go."), said("assistant", "Yes."), events=[model(usage=usage)])
    ((_, events),) = imported(open_sessions, written(tmp_path, log(talk)))
    (used,) = [e.data.usage for e in events if isinstance(e, AssistantMessage)]
    assert (used.input_tokens, used.cache_read_tokens, used.cache_write_tokens) == counted


def test_events_that_fit_no_message_give_no_usage(tmp_path):
    usage = {"input_tokens": 1, "output_tokens": 1}
    events = [model(usage=usage), model(usage=usage)]
    talk = sample(said("user", "Go."), said("assistant", "Yes."), events=events)
    ((_, events),) = imported(open_sessions, written(tmp_path, log(talk)))
    assert count(events, "inspect").usage is None


def test_a_sample_without_events_begins_when_its_log_was_made(tmp_path):
    value = log(sample(said("user", "Go."), said("assistant", "Yes.")))
    value["eval"]["created"] = "2025-05-12T20:27:36+00:00"
    ((session, events),) = imported(open_sessions, written(tmp_path, value))
    assert session.header.created_at == 1747081656000
    times = [event.time - session.header.created_at for event in events]
    assert times == sorted(times)
    assert {*times} == {1, 2}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (log(), "no samples"),
        (log(sample()), "no samples"),
        (log(sample(said("user", 4))), "$.samples[0].messages[0].content"),
        (b'{"eval": {}, "samples": [{', "cut or damaged"),
        ({"samples": []}, "eval"),
    ],
)
def test_a_malformed_file_is_refused_in_one_line_that_says_where(tmp_path, value, problem):
    with pytest.raises(TranscriptError) as caught:
        list(open_sessions(Transcript(written(tmp_path, value, "bad.json"))))
    assert "bad.json" in str(caught.value)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
