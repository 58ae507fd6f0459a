"""What a scripted model says: scripts, rules, faults, recordings, and improvised answers."""

from pathlib import Path
from typing import Any

import pytest

from slicetape.errors import UsageError
from slicetape.testing.improvising import improvised, spoken
from slicetape.testing.replies import (
    FAULTS,
    Asked,
    Reply,
    Script,
    faults_of,
    read_script,
    recorded,
    with_ids,
)
from story import Story


def said(script: Script, *last: str) -> list[str]:
    return [script.next(text).text for text in last]


def test_replies_come_in_order_and_then_it_says_that_the_script_has_ended() -> None:
    script = Script.of([Reply(text="one"), Reply(text="two")])
    assert said(script, "", "", "") == [
        "one",
        "two",
        "This is the answer to request 3; my script has ended.",
    ]


def test_a_rule_answers_whenever_its_text_was_said_and_takes_no_reply() -> None:
    script = Script.of([Reply(text="one"), Reply(when="hello", text="Hello.")])
    assert said(script, "hello you", "x", "say hello") == ["Hello.", "one", "Hello."]


@pytest.mark.parametrize("fault", ["429", "overflow", "cut", "empty", "hang", "malformed"])
def test_a_reply_that_does_not_arrive_is_given_again(fault: str) -> None:
    script = Script.of([Reply(text="one")])
    script.faults = {1: fault}
    first, second = script.next(""), script.next("")
    assert (first.text, first.fault) == ("one", fault)
    assert (second.text, second.fault) == ("one", "")


def test_a_reply_that_arrives_slowly_is_not_given_again() -> None:
    script = Script.of([Reply(text="one"), Reply(text="two")])
    script.faults = {1: "slow"}
    assert said(script, "", "") == ["one", "two"]


def test_a_call_to_be_cut_is_made_up_when_there_is_none() -> None:
    script = Script.of([Reply(text="one")])
    script.faults = {1: "cut-call"}
    assert script.next("").tools[0].name == "read"


def test_a_function_answers_when_nothing_is_left() -> None:
    script = Script.of([], otherwise=lambda body: Reply(text=body["model"]))
    assert script.next("", {"model": "m"}).text == "m"


def test_calls_get_ids_that_name_request_and_place() -> None:
    reply = Reply(tools=(Asked("a"), Asked("b", id="mine")))
    assert [one.id for one in with_ids(reply, 7).tools] == ["call_7_1", "mine"]


@pytest.mark.parametrize(
    ("text", "replies"),
    [
        ('[{"text": "a"}, {"text": "b"}]', [Reply(text="a"), Reply(text="b")]),
        ('{"text": "a"}\n\n{"text": "b"}\n', [Reply(text="a"), Reply(text="b")]),
        ("", []),
        (
            '{"tools": [{"name": "read", "args": {"n": 1}}, {"name": "x", "args": "{no"}]}',
            [Reply(tools=(Asked("read", {"n": 1}), Asked("x", "{no")))],
        ),
    ],
)
def test_a_script_is_a_list_or_lines(text: str, replies: list[Reply], tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text(text, encoding="utf-8")
    assert read_script(path) == replies


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"text": "a"}\n{"txt": "b"}', ":2: no reply of a script: Object contains unknown field"),
        ('{"text": "a", "fault": "odd"}', ":1: no reply of a script: no fault 'odd'; there are"),
        ('{"text": "a", "finish": "odd"}', "no finish 'odd'; write stop, tool_calls or length"),
        ("\x00\x01", ":1: no reply of a script: "),
        ("[" * 5_000, "no reply of a script: "),
        ('[{"text": 1}]', "no reply of a script: Expected `str`, got `int` - at `$[0].text`"),
    ],
)
def test_a_bad_script_is_named_with_its_line(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_script(path)
    assert says in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_faults_are_written_with_their_number() -> None:
    assert faults_of(["2=429", "3=cut"]) == {2: "429", 3: "cut"}


@pytest.mark.parametrize("text", ["", "2", "=429", "0=429", "x=429", "2=odd", "2=200", "9" * 5_000])
def test_what_is_no_fault_is_refused_with_the_kinds(text: str) -> None:
    with pytest.raises(UsageError, match="is no fault; write N=KIND, KIND of overflow, empty"):
        faults_of([text])


def test_every_fault_says_what_it_does() -> None:
    assert all(FAULTS.values())


def test_the_answers_of_a_session_are_said_again() -> None:
    story = Story()
    story.start()
    story.human("hello")
    story.says("Let me see.", calls={"c1": ("read", {"n": 1})}, thinks="Hm.")
    story.result("c1", "text")
    story.says("Done.")
    assert recorded(story.events) == [
        Reply(text="Let me see.", reasoning="Hm.", tools=(Asked("read", '{"n": 1}', "c1"),)),
        Reply(text="Done."),
    ]


GLOB = {"type": "function", "function": {"name": "glob"}}


def chat(*messages: dict[str, Any], tools: Any = (GLOB,)) -> dict[str, Any]:
    return {"messages": list(messages), "tools": list(tools)}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


ANSWER = {"role": "assistant", "content": "ok"}


def test_it_echoes_what_was_said() -> None:
    reply = improvised(chat(user("What  is\nthis?")))
    assert reply.text.startswith("You said: “What is this?”.")
    assert reply.tools == ()


def test_every_second_message_is_answered_with_a_call_that_only_looks() -> None:
    body = chat(user("One."), ANSWER, user("Two."))
    assert improvised(body).tools == (Asked("glob", {"pattern": "*"}),)
    assert improvised(body) == improvised(body)
    assert improvised(chat(user("One."), ANSWER, user("Two."), tools=())).tools == ()


@pytest.mark.parametrize(
    "result",
    [
        {"role": "tool", "tool_call_id": "c", "content": "a.py\nb.py"},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": "a.py\nb.py"}],
        },
    ],
)
def test_what_a_call_brought_is_told(result: dict[str, Any]) -> None:
    reply = improvised(chat(user("One."), ANSWER, result))
    assert reply.text == "It gave 2 lines; the first one is: a.py"


def test_a_long_text_is_echoed_in_short() -> None:
    assert len(improvised(chat(user("word " * 10_000))).text) < 300


def test_nobody_said_anything() -> None:
    assert improvised({}).text == "Nobody said anything yet."


def test_what_was_said_since_the_last_answer_is_found_in_every_shape() -> None:
    blocks = [
        {"type": "tool_result", "content": [{"type": "text", "text": "inner"}]},
        {"type": "text", "text": "outer"},
        7,
    ]
    body = chat(user("before"), ANSWER, {"role": "user", "content": blocks}, user("last"))
    assert spoken(body) == "last\ninner\nouter"
