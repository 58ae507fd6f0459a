"""Cases 2 and 3: what no model received, and what nobody typed."""

import pytest

from imported import told
from slicetape.formats.counts import count
from slicetape.log.codec import encode_event
from slicetape.log.events import is_human
from transcript_rows import RESULT, USE, claude, codex, copilot, lines, read

COPY = "DISPLAY COPY"
"""What no model ever received."""


SUMMARY = {"diffs": [{"before": COPY, "after": COPY}]}
STATE = {"status": "completed", "input": {}, "output": "a.py", "metadata": {"output": COPY}}
META = {"model_response": {"id": "r1", "choices": [{"message": {"content": COPY}}]}}
DISPLAY = {
    "claude-code": lines(
        claude("user", "Go."),
        claude("assistant", USE),
        claude("user", RESULT, toolUseResult={"stdout": COPY, "originalFile": COPY}),
        {"type": "progress", "sessionId": "s", "data": {"type": "bash_progress", "output": COPY}},
        {"type": "file-history-snapshot", "snapshot": {"a": COPY}},
    ),
    "codex-rollout": lines(
        {"type": "session_meta", "payload": {"cwd": "/w"}},
        codex("event_msg", "user_message", message="Go."),
        codex("response_item", "function_call", name="shell", call_id="c1", arguments="{}"),
        codex("event_msg", "exec_command_end", call_id="c1", stdout=COPY),
        codex("event_msg", "agent_message", message=COPY),
        codex("response_item", "function_call_output", call_id="c1", output="a.py"),
    ),
    "copilot-cli": lines(
        copilot("session.start", sessionId="s"),
        copilot("user.message", content="Go."),
        copilot("assistant.message", toolRequests=[{"toolCallId": "c1", "name": "bash"}]),
        copilot("hook.start", input={"toolResult": COPY}),
        copilot(
            "tool.execution_complete",
            toolCallId="c1",
            success=True,
            result={"content": "a.py", "detailedContent": COPY},
        ),
    ),
    "opencode": {
        "info": {"id": "s", "projectID": "p", "slug": "s"},
        "messages": [
            {
                "info": {"role": "user", "summary": SUMMARY},
                "parts": [{"type": "text", "text": "Go."}],
            },
            {
                "info": {"role": "assistant"},
                "parts": [{"type": "tool", "callID": "c1", "tool": "bash", "state": STATE}],
            },
        ],
    },
    "gemini-cli": {
        "sessionId": "s",
        "messages": [
            {"type": "user", "content": "Go."},
            {
                "type": "gemini",
                "toolCalls": [{"id": "c1", "name": "ls", "result": "a.py", "resultDisplay": COPY}],
            },
        ],
    },
    "swe-agent": {
        "trajectory": [
            {
                "action": "ls",
                "observation": "a.py",
                "query": [{"role": "user", "content": COPY}],
                "messages": [{"role": "user", "content": COPY}],
            }
        ],
        "history": [{"role": "user", "content": "Go."}],
        "info": {"edited_files30": COPY},
    },
    "openhands": {
        "instruction": COPY,
        "history": [
            {"id": 0, "source": "user", "action": "message", "args": {"content": "Go."}},
            {"id": 1, "action": "edit", "args": {}, "message": COPY, "tool_call_metadata": META},
            {
                "id": 2,
                "cause": 1,
                "observation": "edit",
                "content": "a.py",
                "extras": {"old_content": COPY, "new_content": COPY, "diff": COPY},
                "tool_call_metadata": META,
            },
        ],
    },
    "inspect": {
        "eval": {"task": "t"},
        "samples": [
            {
                "input": COPY,
                "messages": [
                    {"role": "user", "content": "Go."},
                    {"role": "assistant", "content": "", "tool_calls": [{"id": "c1"}]},
                    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
                ],
                "events": [{"event": "model", "input": [{"content": COPY}], "output": {}}],
                "store": {"a": COPY},
            }
        ],
    },
}


@pytest.mark.parametrize("format", sorted(DISPLAY))
def test_naive_case_2_display_copies_are_not_imported(tmp_path, format):
    events = read(tmp_path, DISPLAY[format])
    assert not any(COPY.encode() in encode_event(event) for event in events)
    found = [line.partition(": ")[2] for line in told(events) if line.startswith("result ")]
    assert found == ["a.py"]


NOBODY = {
    "claude-code": lines(
        claude("user", "Go."),
        claude("user", "<system-reminder>", isMeta=True),
        claude("user", "<task-notification>done"),
        claude("user", "<bash-input>ls"),
    ),
    "codex-rollout": lines(
        {"type": "session_meta", "payload": {"cwd": "/w"}},
        codex(
            "response_item",
            "message",
            role="user",
            content=[{"type": "input_text", "text": "# AGENTS.md"}],
        ),
        codex("event_msg", "user_message", message="Go."),
        codex(
            "response_item", "message", role="assistant", content=[{"type": "o_text", "text": "!"}]
        ),
    ),
    "copilot-cli": lines(
        copilot("session.start", sessionId="s"),
        copilot("user.message", content="Go.", transformedContent="<date/>Go.<reminder/>"),
        copilot("system.notification", content="done"),
    ),
    "pi": lines(
        {"type": "session", "id": "s", "timestamp": "2025-01-01"},
        {"type": "message", "message": {"role": "user", "content": "Go."}},
        {"type": "message", "message": {"role": "bashExecution", "command": "ls", "output": "a"}},
    ),
    "swe-agent": {
        "trajectory": [{"action": "ls", "observation": "a.py"}],
        "history": [
            {"role": "user", "content": "Look at this demonstration.", "is_demo": True},
            {"role": "user", "content": "Go."},
            {"role": "user", "content": "a.py"},
        ],
    },
    "mini-swe-agent": {
        "trajectory_format": "mini-swe-agent-1",
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": "```bash\nls\n```"},
            {"role": "user", "content": "a.py"},
            {"role": "user", "content": "diff --git"},
        ],
    },
    "openhands": {
        "history": [
            {"id": 0, "source": "user", "action": "message", "args": {"content": "Go."}},
            {"id": 1, "source": "user", "action": "recall", "args": {"query": "Go."}},
            {"id": 2, "cause": 1, "observation": "recall", "content": "Use tabs.", "extras": {}},
            {"id": 3, "observation": "error", "content": "Not a tool"},
        ]
    },
    "openai-chat": [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "<function=bash>ls</function>"},
        {"role": "user", "content": "OBSERVATION:\na.py"},
    ],
    "inspect": {
        "eval": {"task": "t"},
        "samples": [
            {
                "messages": [
                    {"role": "user", "content": "Go.", "source": "input"},
                    {"role": "assistant", "content": "Hm."},
                    {"role": "user", "content": "Please proceed."},
                ]
            }
        ],
    },
    "aider-md": "#### Go.\n\nOk.\n\n#### /run ls\n\n> a.py\n",
    "anthropic-messages": {
        "system": "s",
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": USE},
            {"role": "user", "content": [*RESULT, {"type": "text", "text": "<reminder>"}]},
        ],
    },
}


@pytest.mark.parametrize("format", sorted(NOBODY))
def test_naive_case_3_text_that_nobody_typed_is_not_human(tmp_path, format):
    events = read(tmp_path, NOBODY[format])
    human = [event for event in events if is_human(event)]
    assert ["".join(block.text for block in event.data.content) for event in human] == ["Go."]
    assert count(events, format).turns == 1
