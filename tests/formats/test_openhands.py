import json

import pytest

from imported import expected, figures, imported, kept, manifest, story, told, written
from slicetape.errors import TranscriptError
from slicetape.formats.counts import count
from slicetape.formats.openhands import open_sessions
from slicetape.formats.source import Transcript
from slicetape.log.events import AssistantMessage, RequestHeader, ToolResult, TurnEnd


@pytest.mark.parametrize("id", ["oh-01", "oh-02"])
def test_the_figures_equal_the_manifest(id):
    path, row = manifest(id)
    ((session, events),) = imported(open_sessions, path)
    assert session.id == id
    assert figures(count(events, row["format"])) == expected(row)


def test_prompt_tools_and_the_error_that_ended_a_run_are_kept():
    path, _ = manifest("oh-01")
    ((session, events),) = imported(open_sessions, path)
    (header,) = [event for event in events if isinstance(event, RequestHeader)]
    names = [tool["name"] for tool in json.loads(bytes(header.data.header.tools))]
    assert names == ["execute_bash", "think", "finish", "str_replace_editor"]
    lines = told(events)
    assert lines[2].startswith("system: You are OpenHands agent")
    assert sum(line.startswith("openhands:notice: Parameter 'command'") for line in lines) == 1
    (end,) = [event for event in events if isinstance(event, TurnEnd)]
    assert end.data.reason.error.message.startswith("RuntimeError: Agent reached maximum iter")
    assert "git_patch" in kept(events, "x/outcome")[0]["test_result"]
    assert session.header.created_at == 1746035800641


def response(id, content="", **usage):
    message = {"content": content, "reasoning_content": "Hm."}
    return {"id": id, "model": "m", "usage": usage or None, "choices": [{"message": message}]}


def action(id, action, call=None, source="agent", **args):
    event = {"id": id, "timestamp": f"2025-04-30T17:00:{id:02}", "source": source}
    metadata = {"tool_call_metadata": call} if call else {}
    return event | {"action": action, "args": args} | metadata


def observation(id, kind, content, cause=None, **extras):
    event = {"id": id, "source": "agent", "observation": kind, "content": content}
    return event | ({} if cause is None else {"cause": cause}) | {"extras": extras}


def called(id, name, response):
    return {"function_name": name, "tool_call_id": id, "model_response": response}


USAGE = {"prompt_tokens": 10, "completion_tokens": 1}
STREAM = [
    action(0, "system", content="Be careful.", tools=[{"name": "bash"}]),
    action(1, "message", source="user", content="Fix it.", image_urls=["data:image/png,x"]),
    action(2, "recall", source="user", query="Fix it."),
    observation(3, "recall", "Added", cause=2, repo_instructions="Use tabs."),
    action(
        4, "run", called("c1", "bash", response("r1", **USAGE)), command="ls", thought="I look."
    ),
    observation(5, "run", "a.py", cause=4, metadata={"exit_code": 2}),
    action(6, "read", called("c2", "view", response("r1", **USAGE)), path="a.py", thought=""),
    observation(7, "read", "x = 1", cause=6, old_content="display"),
    action(8, "run", called("c3", "bash", response("r2")), command="sleep 9"),
    observation(9, "run", "still running", cause=8, metadata={"exit_code": -1}),
    action(10, "condensation", source="environment", forgotten_event_ids=[4, 5], summary="S"),
    action(11, "edit", called("c4", "edit", response("r3")), path="a.py"),
    observation(12, "error", "No such file", cause=11),
    observation(13, "error", "Not a tool"),
    observation(14, "agent_state_changed", "", agent_state="running"),
    observation(15, "null", ""),
    action(16, "think", called("c5", "think", response("r4")), thought="So."),
    observation(17, "run", "too late", cause=99),
    action(18, "message", content="Done.", wait_for_response=True),
    action(19, "message", source="user", content="Thanks."),
    action(20, "finish", outputs={}, thought="Bye."),
    {"id": 21, "message": "neither action nor observation"},
]
STORY = [
    "turn",
    "step",
    "system: Be careful.",
    "user: Fix it.\n[image]",
    "x/host",
    "x/host",
    "reasoning: Hm.",
    "I look.",
    'call c1 bash {"command": "ls"}',
    'call c2 view {"path": "a.py"}',
    "error c1: a.py",
    "result c2: x = 1",
    "step",
    "reasoning: Hm.",
    'call c3 bash {"command": "sleep 9"}',
    "result c3: still running",
    "x/compaction",
    "step",
    "reasoning: Hm.",
    'call c4 edit {"path": "a.py"}',
    "error c4: No such file",
    "step",
    "openhands:notice: Not a tool",
    "x/host",
    "reasoning: Hm.",
    "So.",
    "call c5 think {}",
    "unknown c5",
    "x/orphan-result",
    "step",
    "Done.",
    "end completed",
    "turn",
    "step",
    "user: Thanks.",
    "Bye.",
    "call finish-6 finish {}",
    "unknown finish-6",
    "end completed",
]


def test_a_stream_pairs_by_cause_and_joins_the_actions_of_one_response(tmp_path):
    assert story(open_sessions, written(tmp_path, {"history": STREAM})) == STORY


def test_the_document_itself_may_be_the_list_of_events(tmp_path):
    assert story(open_sessions, written(tmp_path, STREAM)) == STORY


def test_each_line_of_an_output_file_is_a_session(tmp_path):
    line = json.dumps({"history": STREAM[:5]}) + "\n"
    found = imported(open_sessions, written(tmp_path, line * 2, "output.jsonl"))
    assert [session.id for session, _ in found] == ["output/0001", "output/0002"]


def test_usage_comes_from_the_metrics_before_the_response(tmp_path):
    row = {"prompt_tokens": 9, "completion_tokens": 3, "cache_read_tokens": 4} | {
        "cache_write_tokens": 2,
        "response_id": "r1",
    }
    metrics = {"token_usages": [row], "accumulated_cost": 0.5}
    path = written(tmp_path, {"history": STREAM[:9], "metrics": metrics})
    ((_, events),) = imported(open_sessions, path)
    first, second = [e.data.usage for e in events if isinstance(e, AssistantMessage)]
    assert (first.input_tokens, first.cache_read_tokens, first.cache_write_tokens) == (3, 4, 2)
    assert second is None
    assert kept(events, "x/outcome") == [{"cost": 0.5}]


def test_the_exit_code_stays_beside_the_result_and_condensations_keep_what_they_dropped(tmp_path):
    ((_, events),) = imported(open_sessions, written(tmp_path, STREAM))
    first = next(event for event in events if isinstance(event, ToolResult))
    assert json.loads(bytes(first.data.meta)) == {"exitCode": 2}
    assert kept(events, "x/compaction") == [{"forgotten_event_ids": [4, 5], "summary": "S"}]
    assert count(events, "openhands").compactions == 1


def test_pairs_of_action_and_observation_are_read_in_order(tmp_path):
    pairs = [
        [
            {"source": "user", "action": "message", "args": {"content": "Fix it."}},
            {"observation": "null", "content": "", "extras": {}},
        ],
        [
            {"source": "agent", "action": "run", "args": {"command": "ls", "thought": "I look."}},
            {"observation": "run", "content": "a.py", "extras": {"exit_code": 1}},
        ],
        [
            {"source": "agent", "action": "finish", "args": {"thought": "Bye."}},
            {"observation": "null", "content": "", "extras": {}},
        ],
    ]
    assert story(open_sessions, written(tmp_path, {"history": pairs})) == [
        "turn",
        "step",
        "user: Fix it.",
        "I look.",
        'call run-1 run {"command": "ls"}',
        "error run-1: a.py",
        "step",
        "Bye.",
        "call finish-2 finish {}",
        "unknown finish-2",
        "end completed",
    ]


def test_the_flat_layout_keeps_its_fields_as_arguments(tmp_path):
    flat = [
        {"action": "message", "content": "Fix it.", "wait_for_response": False},
        {"action": "run", "command": "ls", "thought": "I look.", "is_confirmed": "confirmed"},
        {"observation": "run", "content": "a.py", "command": "ls", "exit_code": 0},
        {"action": "message", "content": "Which one?", "wait_for_response": True},
        {"action": "message", "content": "The first."},
        {"action": "run_ipython", "code": "1", "kernel_init_code": "import x"},
        {"observation": "run_ipython", "content": "1", "code": "1"},
        {"observation": "error", "content": "answers nothing"},
    ]
    assert story(open_sessions, written(tmp_path, {"history": flat})) == [
        "turn",
        "step",
        "user: Fix it.",
        "I look.",
        'call run-1 run {"command": "ls"}',
        "result run-1: a.py",
        "step",
        "Which one?",
        "end completed",
        "turn",
        "step",
        "user: The first.",
        'call run_ipython-2 run_ipython {"code": "1"}',
        "result run_ipython-2: 1",
        "openhands:notice: answers nothing",
        "end completed",
    ]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"history": [{"action": 1}]}, "$.history[0].action"),
        ({"history": [[{"observation": "run", "content": 3}]]}, "$.history[0][0].content"),
        ({"history": None}, "$.history"),
        (b'{"history": [{"action": "run"', "cut or damaged"),
    ],
)
def test_a_malformed_file_is_refused_in_one_line_that_says_where(tmp_path, value, problem):
    with pytest.raises(TranscriptError) as caught:
        list(open_sessions(Transcript(written(tmp_path, value, "bad.json"))))
    assert "bad.json" in str(caught.value)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
