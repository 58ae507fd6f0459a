import json

import pytest

from data import shared
from slicetape.errors import WireError
from slicetape.wire.lint import DEEPSEEK, TEMPLATE
from slicetape.wire.lint_wire import lint_chat, lint_messages

DSH = ["v3-tools", "v3-codemode", "v3-prune-compact", "v0-tools"]


def rules_of(problems: list) -> list[tuple[str, int]]:
    return [(problem.rule, problem.position) for problem in problems]


def chat(*messages: dict) -> list[tuple[str, int]]:
    return rules_of(lint_chat(json.dumps({"messages": messages})))


def messages(*said: dict) -> list[tuple[str, int]]:
    return rules_of(lint_messages(json.dumps({"messages": said})))


def test_recorded_requests_of_every_client_have_no_problems():
    seen = {"chat": 0, "messages": 0, "continued": 0}
    for path in sorted(shared("wire").glob("*/requests*.jsonl")):
        for line in path.read_bytes().splitlines():
            request = json.loads(line)
            body = json.loads(request["body"])
            if "messages" not in body:
                continue
            if "thread" in body and "system" not in body:
                seen["continued"] += 1  # the beginning of the history is on the server
            elif "messages" in request["path"]:
                assert lint_messages(request["body"]) == [], path
                seen["messages"] += 1
            else:
                assert lint_chat(request["body"], DEEPSEEK) == [], path
                seen["chat"] += 1
    assert seen == {"chat": 204, "messages": 84, "continued": 17}


@pytest.mark.parametrize("name", DSH)
def test_requests_of_the_harness_have_no_problems(name):
    for line in shared(f"dsh-logs/{name}.requests.jsonl").read_bytes().splitlines():
        assert lint_chat(json.dumps(json.loads(line)["body"]), DEEPSEEK) == []


@pytest.mark.parametrize("name", ["v4-tools", "v4-prune-compact", "v4-crash"])
def test_messages_requests_of_the_harness_have_no_problems(name):
    for line in shared(f"dsh-logs/{name}.requests.jsonl").read_bytes().splitlines():
        assert lint_messages(json.dumps(json.loads(line)["body"])) == []


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USE = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
DONE = {"type": "tool_result", "tool_use_id": "c", "content": "r"}


def test_what_is_wrong_with_a_chat_request():
    assert chat({"role": "user", "content": ""}) == [("empty-content", 0)]
    assert chat({"role": "assistant", "content": None}) == [("empty-assistant", 0)]
    assert chat({"role": "tool", "tool_call_id": "c", "content": "r"}) == [("orphan-result", 0)]
    assert chat({"role": "assistant", "content": "", "tool_calls": [CALL]}) == [
        ("unanswered-call", 0)
    ]
    assert chat(
        {"role": "assistant", "content": "", "tool_calls": [{**CALL, "id": None}]},
        {"role": "user", "content": "\ud800"},
    ) == [("empty-call-id", 0), ("lone-surrogate", 1)]


def test_what_is_wrong_with_a_messages_request():
    user = {"role": "user", "content": "u"}
    assert messages({"role": "assistant", "content": [USE]}) == [
        ("first-role", 0),
        ("unanswered-call", 0),
    ]
    blank = {"type": "text", "text": " "}
    assert messages({"role": "user", "content": [blank]}) == [("empty-content", 0)]
    assert messages({"role": "user", "content": " "}) == [("empty-content", 0)]
    assert messages(user, {"role": "assistant", "content": []}) == [("empty-assistant", 1)]
    assert messages(user, {"role": "user", "content": [DONE]}) == [("orphan-result", 1)]
    assert (
        messages(
            user,
            {"role": "assistant", "content": [USE]},
            {"role": "user", "content": [DONE, {"type": "text", "text": "t"}]},
        )
        == []
    )


def test_roles_that_follow_each_other_in_a_request():
    body = {"messages": [{"role": "user", "content": "a"}] * 2}
    assert rules_of(lint_chat(json.dumps(body), TEMPLATE)) == [("consecutive-roles", 1)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"\xff", "not a JSON request body"),
        ("[1]", "a request body is a JSON object"),
        ("{}", "messages must be a list"),
        ('{"messages":[{"role":["x"]}]}', "is not a role"),
        ("[" * 100_000, "not a JSON request body"),
    ],
)
def test_what_is_no_request_is_refused(body, expected):
    with pytest.raises(WireError, match=expected):
        lint_chat(body)
