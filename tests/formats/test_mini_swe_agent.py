import json

import pytest

from imported import expected, figures, imported, kept, manifest, story, told, written
from slicetape.errors import TranscriptError
from slicetape.formats.counts import count
from slicetape.formats.mini_swe_agent import open_sessions
from slicetape.formats.source import Transcript
from slicetape.log.events import AssistantMessage

FENCES_BEFORE = {"mini-01": 36, "mini-02": 9, "mini-03": 8}
"""How many messages hold another fence before that of the command.

The reference counting takes the first two fences of a message as those of the command, so it
counts the end of a quoted `python` block as its beginning. It leaves out seven characters there
and not the eleven of the command's own fences. The command that ran is what is imported.
"""


@pytest.mark.parametrize("id", sorted(FENCES_BEFORE))
def test_the_figures_equal_the_manifest_but_for_misread_fences(id):
    path, row = manifest(id)
    ((session, events),) = imported(open_sessions, path)
    assert session.id == id
    document = Transcript(path).document(json.loads)
    said = [m["content"] for m in document["messages"] if m["role"] == "assistant"]
    misread = sum(not text[text.index("```") :].startswith("```bash") for text in said)
    assert misread == FENCES_BEFORE[id]
    wanted = expected(row)
    wanted["chars"] -= 4 * misread
    assert figures(count(events, row["format"])) == wanted


def test_every_call_is_the_command_that_ran():
    path, _ = manifest("mini-03")
    ((_, events),) = imported(open_sessions, path)
    calls = [line for line in told(events) if line.startswith("call ")]
    assert calls[0] == "call shell-1 shell ls -F\n"
    assert calls[-1].endswith(
        " shell echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git add -A && git diff --cached\n"
    )
    assert not any("```" in call for call in calls)


def message(role, content, **extra):
    return {"role": role, "content": content} | ({"extra": extra} if extra else {})


RESPONSE = {
    "model": "google/gemini-3",
    "provider": "Google",
    "created": 1763511722,
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 5},
    },
    "choices": [
        {
            "message": {
                "reasoning": "Hm.",
                "reasoning_details": [
                    {"type": "reasoning.text", "text": "Hm."},
                    {"type": "reasoning.encrypted", "data": "U0NS"},
                ],
            }
        }
    ],
}
DOCUMENT = {
    "info": {
        "exit_status": "Submitted",
        "submission": "diff",
        "model_stats": {"instance_cost": 0.5},
        "config": {"model": {"model_name": "google/gemini-3"}},
    },
    "messages": [
        message("system", "Use one command."),
        message("user", "Fix it."),
        message("assistant", "I look.\n\n```bash\nls\n```", response=RESPONSE),
        message("user", "<returncode>1</returncode>\n<output>\n</output>"),
        message(
            "assistant", "```python\nx\n```\n\n```mswea_bash_command\ncat <<'E'\na\nE\n```\nSo."
        ),
        message("user", "a"),
        message("assistant", "No command."),
        message("user", "Please always provide one action."),
        message("assistant", "```bash\nnever closed"),
        message("user", "diff"),
        message("assistant", "The end.\n```bash\nls\n```"),
    ],
    "trajectory_format": "mini-swe-agent-1",
    "instance_id": "a__b-1",
}


def test_a_fenced_command_is_a_call_and_the_next_message_its_result(tmp_path):
    assert story(open_sessions, written(tmp_path, DOCUMENT)) == [
        "turn",
        "step",
        "system: Use one command.",
        "user: Fix it.",
        "reasoning: Hm.",
        "I look.\n\n",
        "call shell-1 shell ls\n",
        "result shell-1: <returncode>1</returncode>\n<output>\n</output>",
        "step",
        "```python\nx\n```\n\n\nSo.",
        "call shell-2 shell cat <<'E'\na\nE\n",
        "result shell-2: a",
        "step",
        "No command.",
        "call shell-3 shell ",
        "result shell-3: Please always provide one action.",
        "step",
        "call shell-4 shell never closed",
        "result shell-4: diff",
        "step",
        "The end.\n```bash\nls\n```",
        "x/outcome",
        "end completed",
    ]


def test_usage_model_time_and_opaque_reasoning_come_from_the_response(tmp_path):
    ((session, events),) = imported(open_sessions, written(tmp_path, DOCUMENT))
    first = next(event for event in events if isinstance(event, AssistantMessage))
    usage = first.data.usage
    assert (usage.input_tokens, usage.cache_read_tokens) == (36, 64)
    assert (usage.output_tokens, usage.reasoning_tokens) == (20, 5)
    source = first.data.message.source
    assert (source.provider, source.model) == ("Google", "google/gemini-3")
    assert b"U0NS" in bytes(source.replay_state)
    assert session.header.created_at == first.time == 1763511722000
    assert [event.time for event in events] == sorted(event.time for event in events)
    assert kept(events, "x/outcome") == [
        {
            "exit_status": "Submitted",
            "submission": "diff",
            "model_stats": {"instance_cost": 0.5},
            "instance_id": "a__b-1",
        }
    ]


def test_the_layout_with_tool_calls_is_read_as_well(tmp_path):
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    messages = [
        message("system", "s"),
        message("user", "Fix it."),
        message("assistant", None, timestamp=1763511722.5) | {"tool_calls": [call]},
        message("tool", "out") | {"tool_call_id": "c1"},
        message("exit", "Submitted"),
    ]
    ((session, events),) = imported(open_sessions, written(tmp_path, {"messages": messages}))
    assert told(events)[4:] == ["call c1 bash {}", "result c1: out", "x/message", "end completed"]
    assert session.header.created_at == 1763511722500


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"messages": [{"role": "user", "content": 1}]}, "$.messages[0].content"),
        ({"info": {}}, "messages"),
        (b'{"messages": [', "cut or damaged"),
    ],
)
def test_a_malformed_file_is_refused_in_one_line_that_says_where(tmp_path, value, problem):
    with pytest.raises(TranscriptError) as caught:
        list(open_sessions(Transcript(written(tmp_path, value, "bad.traj.json"))))
    assert "bad.traj.json" in str(caught.value)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
