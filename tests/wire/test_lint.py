import pytest

from slicetape.log.messages import Message, Source
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.fragment import Facts, Fragment
from slicetape.wire.lint import CHAT, DEEPSEEK, MESSAGES, TEMPLATE, Rules, lint
from slicetape.wire.openai_chat import ChatWire
from wire_talk import answer, call, human, result, system, thought

CHAT_WIRE, MESSAGES_WIRE = ChatWire(), MessagesWire()
GOOD = [
    system("s"),
    human("u"),
    answer("a", call("c1"), call("c2")),
    result("r", id="c2"),
    result("", id="c1"),
    answer("done"),
    human("u"),
]


def found(talk: list, rules: Rules = CHAT, wire=CHAT_WIRE) -> list[tuple[str, int]]:
    return [(p.rule, p.position) for p in lint(map(wire.fragment, talk), rules)]


@pytest.mark.parametrize("rules", [CHAT, DEEPSEEK, MESSAGES, TEMPLATE])
@pytest.mark.parametrize("wire", [CHAT_WIRE, MESSAGES_WIRE])
def test_a_good_talk_has_no_problems(rules, wire):
    assert found(GOOD, rules, wire) == []


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        ([answer(call("c1"))], ("unanswered-call", 0)),
        ([answer(call("c1")), human("u"), result("r")], ("unanswered-call", 0)),
        ([answer(call("c1"), call("c2")), result("r")], ("unanswered-call", 0)),
        ([answer(call("c1"), call("c1")), result("r")], ("duplicate-call", 0)),
        ([answer(call("")), human("u")], ("empty-call-id", 0)),
        ([answer("a"), result("r", id="")], ("empty-call-id", 1)),
        ([answer(call("c1")), result("r"), result("r")], ("repeated-result", 2)),
        ([result("r"), answer(call("c1")), result("r")], ("early-result", 0)),
        ([answer(call("c1")), result("r"), human("u"), result("r")], ("late-result", 3)),
        ([human("u"), result("r")], ("orphan-result", 1)),
        ([human("")], ("empty-content", 0)),
        ([human("\ud800")], ("lone-surrogate", 0)),
        ([answer(call("c1", arguments="\ud800")), result("r")], ("lone-surrogate", 0)),
        ([answer(call("c1")), result("\udfff")], ("lone-surrogate", 1)),
    ],
)
def test_what_every_provider_refuses(talk, expected):
    assert expected in found(talk)


def test_a_message_between_call_and_result_breaks_both():
    talk = [answer(call("c1")), human("u"), result("r")]
    assert found(talk) == [("unanswered-call", 0), ("late-result", 2)]


def test_a_message_left_out_stands_between_nothing():
    talk = [answer(call("c1")), answer(""), result("r"), system("")]
    assert found(talk) == []


def test_a_message_of_results_and_text_ends_the_results():
    both = Message("m", "user", (*result("r").content, *human("t").content), Source("user"))
    talk = [answer(call("c1"), call("c2")), both, result("r", id="c2")]
    assert found(talk) == [("unanswered-call", 0), ("late-result", 2)]
    assert found([answer(call("c1")), both]) == []


def test_call_ids_are_unique_in_a_request_only_where_that_is_asked():
    talk = [human("u"), answer(call("c1")), result("r"), answer(call("c1")), result("r")]
    assert found(talk, CHAT) == []
    assert found(talk, MESSAGES, MESSAGES_WIRE) == [("duplicate-call", 3)]
    unique = [human("u"), answer(call("c1")), result("r"), answer(call("c2")), result("r", id="c2")]
    assert found(unique, MESSAGES, MESSAGES_WIRE) == []


def test_calls_want_their_reasoning_back_once_any_message_has_it():
    bare = [answer(call("c1")), result("r")]
    reasoned = [answer(thought("t"), call("c2")), result("r", id="c2")]
    assert found(bare, DEEPSEEK) == []
    assert found(reasoned, DEEPSEEK) == []
    assert found(bare + reasoned, DEEPSEEK) == [("missing-reasoning", 0)]
    assert found(bare, Rules(reasoning="required")) == [("missing-reasoning", 0)]
    assert found([answer("no calls"), *reasoned], DEEPSEEK) == []


def test_roles_alternate_only_where_that_is_asked():
    talk = [human("a"), human("b")]
    assert found(talk, CHAT) == []
    assert found(talk, TEMPLATE) == [("consecutive-roles", 1)]
    assert found([human("a"), answer("b"), human("c")], TEMPLATE) == []


def test_a_messages_history_begins_with_the_user():
    assert found([system("s"), answer("a")], MESSAGES, MESSAGES_WIRE) == [("first-role", 1)]
    assert found([answer("a")], CHAT) == []


def test_an_assistant_without_anything_is_a_problem_when_it_is_sent():
    empty = Fragment("assistant", (), (), Facts(empty=True))
    assert [p.rule for p in lint([empty])] == ["empty-assistant"]


def test_moved_thinking_is_repeated_where_it_is_told():
    nodes = [CHAT_WIRE.fragment(human("a"))]
    assert [(p.rule, p.position) for p in lint(nodes, moved=(0,))] == [("moved-thinking", 0)]


def test_the_text_names_the_id_bounded_and_escaped():
    talk = [human("u"), result("r", id="\x1b[31m" + "x" * 500)]
    text = lint(map(CHAT_WIRE.fragment, talk))[0].text
    assert "\x1b" not in text
    assert "\\x1b[31mxxx" in text
    assert len(text) < 150


def test_many_orphans_are_found_in_one_pass():
    talk = [CHAT_WIRE.fragment(result("r", id=f"c{n}")) for n in range(20_000)]
    assert len(lint(talk)) == 20_000
