import json

import pytest

from imported import expected, figures, imported, kept, manifest, story, told, written
from slicetape.errors import TranscriptError
from slicetape.formats.counts import count
from slicetape.formats.source import Transcript
from slicetape.formats.swe_agent import open_sessions
from slicetape.log.events import ToolResult


@pytest.mark.parametrize("id", ["swea-01", "swea-02"])
def test_the_figures_equal_the_manifest(id):
    path, row = manifest(id)
    ((session, events),) = imported(open_sessions, path)
    assert session.id == id
    assert figures(count(events, row["format"])) == expected(row)


def test_the_calls_have_the_ids_of_the_history():
    path, _ = manifest("swea-01")
    ((_, events),) = imported(open_sessions, path)
    assert "call call_9diWc1DYm4RLmPfHgIaP2wd ls ls -F" in told(events)
    assert kept(events, "x/outcome")[0]["exit_status"] == "submitted"


TRAJECTORY = {
    "environment": "main",
    "trajectory": [
        {
            "response": "I look.\n```\nls -F\n```",
            "thought": "I look.\n",
            "action": "ls -F\n",
            "observation": "a.py\r\n",
            "execution_time": 0.5,
            "state": {"working_dir": "/w"},
            "query": [{"role": "user", "content": "a display copy"}],
        },
        {"response": "Done?", "thought": "", "action": "", "observation": "No action found"},
        {"response": "x", "thought": "x", "action": "submit", "observation": None},
    ],
    "history": [
        {"role": "system", "content": "Be careful.", "agent": "main"},
        {"role": "user", "content": "a demonstration", "is_demo": True},
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
        {"role": "assistant", "content": "I look.", "action": "ls -F"},
    ],
    "info": {"exit_status": "submitted", "submission": "diff", "model_stats": {"api_calls": 3}},
}


def test_steps_come_from_the_trajectory_and_prompts_from_the_history(tmp_path):
    assert story(open_sessions, written(tmp_path, TRAJECTORY, "t.traj")) == [
        "turn",
        "step",
        "system: Be careful.",
        "swe-agent:demonstration: a demonstration",
        "user: Fix it.",
        "I look.\n",
        "call action-1 ls ls -F\n",
        "result action-1: a.py\r\n",
        "step",
        "Done?",
        "step",
        "swe-agent:observation: No action found",
        "x",
        "call action-3 submit submit",
        "result action-3: ",
        "x/outcome",
        "end completed",
    ]


def test_time_and_state_of_an_action_stay_beside_its_result(tmp_path):
    ((_, events),) = imported(open_sessions, written(tmp_path, TRAJECTORY))
    result = next(event for event in events if isinstance(event, ToolResult))
    assert json.loads(bytes(result.data.meta)) == {
        "executionTime": 0.5,
        "state": {"working_dir": "/w"},
    }


def test_demonstrations_and_system_prompts_count_no_characters(tmp_path):
    ((_, events),) = imported(open_sessions, written(tmp_path, TRAJECTORY))
    counts = count(events, "swe-agent")
    said = "Fix it." + "I look.\n" + "ls -F\n" + "a.py\r\n" + "Done?" + "x" + "submit"
    assert (counts.turns, counts.chars) == (1, len(said))


@pytest.mark.parametrize(
    ("config", "model"),
    [
        ({"agent": {"model": {"name": "claude-x"}}}, "claude-x"),
        (json.dumps({"agent": {"model": {"name": "claude-x"}}}), "claude-x"),
        ({"agent": {"model": {"name": "replay"}}}, ""),
        ("{not json", ""),
        (["odd"], ""),
        (None, ""),
    ],
)
def test_the_model_is_named_by_the_configuration(tmp_path, config, model):
    ((_, events),) = imported(
        open_sessions, written(tmp_path, TRAJECTORY | {"replay_config": config})
    )
    sources = [e.data.message.source for e in events if type(e).__name__ == "AssistantMessage"]
    assert {source.model for source in sources} == {model}


def test_a_trajectory_without_history_has_one_turn_that_nobody_opened(tmp_path):
    path = written(tmp_path, {"trajectory": TRAJECTORY["trajectory"][:1]})
    assert story(open_sessions, path)[:3] == ["turn", "step", "I look.\n"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"trajectory": [{"action": 7}]}, "$.trajectory[0].action"),
        ({"trajectory": {}}, "$.trajectory"),
        ({"history": []}, "trajectory"),
        (b'{"trajectory": [{"action": "ls', "cut or damaged"),
        (b"\x00\x01\x02", "cut or damaged"),
        (b"", "cut or damaged"),
    ],
)
def test_a_malformed_file_is_refused_in_one_line_that_says_where(tmp_path, value, problem):
    with pytest.raises(TranscriptError) as caught:
        list(open_sessions(Transcript(written(tmp_path, value, "bad.traj"))))
    text = str(caught.value)
    assert "bad.traj" in text
    assert problem in text
    assert "\n" not in text
