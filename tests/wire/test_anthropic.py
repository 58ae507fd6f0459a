import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from slicetape.errors import WireError
from slicetape.log.messages import Message, OtherBlock, Source
from slicetape.log.payloads import HeaderConfig
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.cache_marks import NO_MARKS, Marks
from slicetape.wire.fragment import pieces
from slicetape.wire.pictures import Picture
from wire_talk import PIXEL, answer, call, human, result, signed, system, thought

WIRE = MessagesWire()
MARK = {"cache_control": {"type": "ephemeral"}}


def history(talk: list, marks: Marks = NO_MARKS, wire: MessagesWire = WIRE) -> dict:
    fragments = [wire.fragment(message) for message in talk]
    return json.loads(b"{" + wire.history(fragments, marks) + b"}")


def test_system_stands_apart_and_neighbours_of_one_role_share_a_message():
    talk = [
        system("Be brief."),
        human("a"),
        human("b"),
        answer("c", call()),
        result("d", is_error=True),
        human("e"),
    ]
    assert history(talk) == {
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "c"},
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "d"}],
                        "is_error": True,
                    },
                    {"type": "text", "text": "e"},
                ],
            },
        ],
    }


def test_a_history_may_be_empty_or_have_only_a_system_prompt():
    assert history([]) == {"system": [], "messages": []}
    assert history([system("s"), system("t")])["system"] == [
        {"type": "text", "text": "s"},
        {"type": "text", "text": "t"},
    ]


def test_a_later_system_prompt_stays_in_its_place():
    later = history([human("a"), system("new rule")])
    assert later["system"] == []
    assert later["messages"][0]["content"][1]["text"] == (
        "<system-reminder>\nnew rule\n</system-reminder>"
    )


@pytest.mark.parametrize(
    "message", [human(""), human(" \n"), answer("\t"), system(" "), answer(thought("unsigned"))]
)
def test_what_the_provider_would_refuse_is_left_out(message):
    assert WIRE.fragment(message).role == ""
    assert len(history([human("a"), message, human("b")])["messages"]) == 1


def test_a_result_may_be_empty_and_may_not_say_whether_it_failed():
    assert WIRE.encode(result()) == (b'{"type":"tool_result","tool_use_id":"c1","content":[]}',)
    assert WIRE.encode(result(is_error=False))[0].endswith(b',"is_error":false}')


def test_signed_reasoning_is_sent_as_it_came_and_can_be_left_out():
    message = signed(thought("hm"), "yes")
    assert WIRE.encode(message) == (
        b'{"type":"thinking","thinking":"hm","signature":"sig"}',
        b'{"type":"text","text":"yes"}',
    )
    assert WIRE.fragment(message).facts.signed
    bare = WIRE.fragment(message, thinking=False)
    assert bare.items == (b'{"type":"text","text":"yes"}',)
    assert not bare.facts.signed


@pytest.mark.parametrize("state", [{"blocks": []}, {"blocks": 3}, [1], {"blocks": [None, None]}])
def test_a_replay_state_that_does_not_fit_the_blocks_gives_no_signature(state):
    message = answer(thought("hm"), "yes", state=state)
    assert WIRE.encode(message) == (b'{"type":"text","text":"yes"}',)


def test_a_replay_state_may_say_nothing_of_a_block():
    state = {"blocks": [None, {"signature": "s"}, None]}
    message = answer("a", thought("b"), "c", state=state)
    assert [json.loads(item)["type"] for item in WIRE.encode(message)] == [
        "text",
        "thinking",
        "text",
    ]


def test_redacted_reasoning_is_sent_verbatim_and_unknown_kinds_are_not():
    raw = '{"data":"x", "type":"redacted_thinking"}'
    said = answer(OtherBlock(raw), OtherBlock('{"type":"plugin:x"}'), OtherBlock("{"), "a")
    assert WIRE.encode(said) == (raw.encode(), b'{"type":"text","text":"a"}')
    assert WIRE.encode(human(thought("not a user's"))) == ()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("[1]", {"slicetape/arguments": "[1]"}),
        ('{"a":', {"slicetape/arguments": '{"a":'}),
        ('{"a":NaN}', {"slicetape/arguments": '{"a":NaN}'}),
        ('{"a":' * 100_000, {"slicetape/arguments": '{"a":' * 100_000}),
    ],
)
def test_arguments_that_are_no_object_are_wrapped(arguments, expected):
    item = WIRE.encode(answer(call(arguments=arguments)))[0]
    assert json.loads(item)["input"] == expected


def test_arguments_that_are_an_object_keep_their_own_bytes():
    assert (
        b'"input":{"a": 1.50,"a":2}}' in WIRE.encode(answer(call(arguments='{"a": 1.50,"a":2}')))[0]
    )


def test_pictures_are_sent_where_their_bytes_are_at_hand():
    wire = MessagesWire(lambda _: Picture("image/png", b"\x01\x02\x03", "cap"))
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AQID"},
    }
    caption = {"type": "text", "text": "cap"}
    assert [json.loads(item) for item in wire.encode(human(PIXEL))] == [caption, image]
    assert json.loads(wire.encode(result(PIXEL))[0])["content"] == [caption, image]
    assert b"not sent" in WIRE.encode(human(PIXEL))[0]


def test_marks_stand_on_the_last_block_of_their_nodes_and_are_part_of_no_piece():
    talk = [system("s"), human("tape"), human("b"), answer("c", call())]
    marked = history(talk, Marks((1, 3)))
    assert [list(block) for block in marked["messages"][0]["content"]] == [
        ["type", "text", "cache_control"],
        ["type", "text"],
    ]
    assert marked["messages"][1]["content"][1]["cache_control"] == {"type": "ephemeral"}
    assert history(talk, Marks((0,), "1h"))["system"][0]["cache_control"] == {
        "type": "ephemeral",
        "ttl": "1h",
    }
    fragments = [WIRE.fragment(message) for message in talk]
    assert b"cache_control" not in b"".join(pieces(WIRE, fragments))


def test_a_mark_moves_from_nodes_that_cannot_carry_it():
    talk = [human("a"), answer(""), answer(OtherBlock('{"type":"redacted_thinking","data":""}'))]
    assert history(talk, Marks((2,)))["messages"][0]["content"][0] == {
        "type": "text",
        "text": "a",
        **MARK,
    }
    assert history(talk[2:], Marks((0,)))["messages"][0]["content"] == [
        {"type": "redacted_thinking", "data": ""}
    ]
    later = history([human("a"), system("s")], Marks((9,)))
    assert "cache_control" in later["messages"][0]["content"][1]
    assert history([], Marks((0,))) == {"system": [], "messages": []}


def test_a_fifth_mark_is_refused():
    with pytest.raises(WireError, match="at most 4"):
        history([human("a")], Marks((0, 1, 2, 3, 4)))


def test_a_request_stands_in_the_order_it_is_cached():
    config = HeaderConfig("p", "m", "high", 0.5, 9, Raw(b'["x"]'))
    tools = Raw(b'[{"name":"read","description":"Read.","parameters":{}}]')
    body = json.loads(WIRE.request([human("a"), WIRE.fragment(human("b"))], tools, config))
    assert list(body) == [
        *("model", "max_tokens", "stream", "thinking", "output_config", "temperature"),
        *("stop_sequences", "tools", "system", "messages"),
    ]
    assert body["tools"] == [{"name": "read", "description": "Read.", "input_schema": {}}]
    assert body["output_config"] == {"effort": "high"}


def test_effort_may_be_off_or_unset():
    off = HeaderConfig("p", "m", reasoning_effort="off", max_tokens=9)
    unset = HeaderConfig("p", "m", max_tokens=9)
    assert json.loads(WIRE.request([], Raw(), off))["thinking"] == {"type": "disabled"}
    assert "thinking" not in json.loads(WIRE.request([], Raw(), unset))


def test_a_request_without_an_output_limit_is_refused():
    with pytest.raises(WireError, match="maxTokens"):
        WIRE.request([], Raw(), HeaderConfig("p", "m"))


TALK = st.lists(
    st.sampled_from(
        [
            system("s"),
            human("a"),
            human(""),
            answer("b", call()),
            answer(""),
            result("c"),
            Message("m", "user", (*result("r").content, *human("t").content), Source("user")),
        ]
    ),
    max_size=8,
)


@given(TALK, TALK)
def test_a_request_that_adds_nodes_extends_the_stream(talk, more):
    before = b"".join(pieces(WIRE, map(WIRE.fragment, talk)))
    after = b"".join(pieces(WIRE, map(WIRE.fragment, talk + more)))
    assert after.startswith(before)


@given(TALK)
def test_the_stream_is_what_the_request_says(talk):
    fragments = [WIRE.fragment(message) for message in talk]
    body = WIRE.history(fragments)
    assert body.startswith(b'"system":[' + b"".join(pieces(WIRE, fragments)))
    roles = [message["role"] for message in json.loads(b"{" + body + b"}")["messages"]]
    assert all(one != two for one, two in itertools.pairwise(roles))
