"""How requests are billed, and how conversations grow: extended, rewritten, broken."""

from typing import Any

import pytest

from slicetape.testing.accounting import Account
from slicetape.testing.pieces import Wire, answer_piece, pieces

SYSTEM = {"role": "system", "content": "You are tested. " * 40}
FIRST = {"role": "user", "content": "What is it? " * 60}


def said(text: str, *calls: str) -> dict[str, Any]:
    made = [
        {"id": c, "type": "function", "function": {"name": "f", "arguments": "{}"}} for c in calls
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def result(call: str, text: str = "found") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": text}


def growths(*requests: list[dict[str, Any]]) -> list[str]:
    account = Account("chat", "deepseek")
    answer = answer_piece("ok", "", [])
    return [str(account.charge({"messages": one}, answer).growth) for one in requests]


START = [SYSTEM, FIRST]
TURN = [*START, said("a", "c1"), result("c1")]
ENDED = [*TURN, said("done")]

CASES: dict[str, tuple[list[list[dict[str, Any]]], list[str]]] = {
    "steps and turns": ([START, TURN, [*ENDED, user("Next.")]], ["begun", "extended", "extended"]),
    "the same again": ([START, START], ["begun", "extended"]),
    "another conversation": ([START, [SYSTEM, user("Other.")]], ["begun", "begun"]),
    "another prompt": ([START, [user("You."), user("Other.")]], ["begun", "begun"]),
    "a side call and on": (
        [START, [*START, user("A title?")], TURN],
        ["begun", "extended", "extended"],
    ),
    "sealed at a turn": (
        [START, TURN, [*START, user("[entry]"), user("Next.")], [*START, user("[entry]"), said("b"), user("x")]],
        ["begun", "extended", "begun", "rewritten"],
    ),
    "a result changed in its turn": (
        [START, TURN, [*START, said("a", "c1"), result("c1", "less"), said("b", "c2"), result("c2")]],
        ["begun", "extended", "broken"],
    ),
    "an answer changed in its turn": (
        [START, TURN, [*START, said("A", "c1"), result("c1")]],
        ["begun", "extended", "broken"],
    ),
    "the prompt changed in a turn": (
        [START, TURN, [{**SYSTEM, "content": "New."}, *TURN[1:], said("b", "c2"), result("c2")]],
        ["begun", "extended", "broken"],
    ),
    "nothing": ([[], []], ["begun", "begun"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_how_a_conversation_grows(name: str) -> None:
    requests, expected = CASES[name]
    assert growths(*requests) == expected


def test_reasoning_that_is_left_out_is_not_read() -> None:
    account = Account("chat", "deepseek")
    thought = answer_piece("yes " * 200, "hm " * 200, [])
    account.charge({"messages": START}, thought)
    answer = said("yes " * 200)
    with_it = {**answer, "reasoning_content": "hm " * 200}
    kept = account.charge({"messages": [*START, with_it, user("x")]}, thought).charge
    left = account.charge({"messages": [*START, answer, user("x")]}, thought).charge
    assert kept.cached - left.cached > 300


def test_marks_stand_behind_tools_system_and_blocks() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    body = {
        "tools": [{"name": "a"}, {"name": "b", **mark}],
        "system": [{"type": "text", "text": "x", **mark}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "y"}, {"type": "text", "text": "z", **mark}]},
            {"role": "assistant", "content": [{"type": "text", "text": "w"}]},
        ],
    }  # fmt: skip
    found = [(piece.section, piece.mark, piece.role) for piece in pieces("messages", body)]
    assert found == [
        ("tools", True, ""),
        ("system", True, "system"),
        ("messages", False, "user"),
        ("messages", True, "user"),
        ("messages", False, "assistant"),
    ]


@pytest.mark.parametrize("wire", ["chat", "messages"])
def test_a_mark_is_no_part_of_a_piece(wire: Wire) -> None:
    block = {"type": "text", "text": "y"}
    keys = [
        [piece.key for piece in pieces(wire, {"messages": [{"role": "user", "content": [one]}]})]
        for one in (block, {**block, "cache_control": {"type": "ephemeral"}})
    ]
    assert keys[0] == keys[1]


def test_equal_texts_of_different_roles_are_different_pieces() -> None:
    [one], [two] = (
        list(pieces("chat", {"messages": [{"role": role, "content": "x"}]}))
        for role in ("user", "system")
    )
    assert one.key != two.key
