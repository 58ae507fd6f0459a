import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from slicetape.errors import WireError
from slicetape.log.messages import Image, OtherBlock, Text, ToolCall
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.anthropic_back import decode
from slicetape.wire.pictures import Picture, unkept
from slicetape.wire.reading import Reading
from wire_talk import answer, call, compact, human, result, signed, system, thought

RECORDED = [
    *("claude-code/requests", "claude-code/requests_mcp", "claude-code/requests_compact"),
    *("dsh-0.2.1-rc.2/requests", "dsh-0.2.1-rc.2/requests_minimal", "sdk-anthropic/requests"),
]
WIRE = MessagesWire()
ANY_TEXT = st.text(st.characters(), max_size=30)


def written(talk: list) -> dict:
    return json.loads(b"{" + WIRE.history(map(WIRE.fragment, talk)) + b"}")


def blocks(content: object) -> list[dict]:
    """Content in the one form we write: a list of blocks without markers and blank texts."""
    if not content:
        return []
    listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
    kept = []
    for block in listed:
        block = {key: value for key, value in block.items() if key != "cache_control"}
        if block["type"] == "tool_result":
            block["content"] = blocks(block["content"])
        if block["type"] != "text" or block["text"].strip():
            kept.append(block)
    return kept


def one_form(body: dict) -> dict:
    """The history of a request without what we have no place for."""
    messages: list[dict] = []
    for message in body["messages"]:
        if messages and messages[-1]["role"] == message["role"]:
            messages[-1]["content"] += blocks(message["content"])
        else:
            messages.append({"role": message["role"], "content": blocks(message["content"])})
    return {"system": blocks(body.get("system")), "messages": messages}


def bodies(name: str) -> list[dict]:
    lines = shared(f"wire/{name}.jsonl").read_bytes().splitlines()
    return [json.loads(json.loads(line)["body"]) for line in lines]


@pytest.mark.parametrize("name", RECORDED)
def test_real_requests_come_back_as_they_were(name):
    for body in bodies(name):
        assert written(decode(body)) == one_form(body)


@pytest.mark.parametrize("name", ["v4-tools", "v4-prune-compact", "v4-crash"])
def test_requests_of_the_harness_come_back_byte_for_byte(name):
    lines = shared(f"dsh-logs/{name}.requests.jsonl").read_bytes().splitlines()
    for line in lines:
        body = json.loads(line)["body"]
        read = map(WIRE.fragment, decode(body))
        assert WIRE.history(read).endswith(b'"messages":' + compact(body["messages"]))


def test_a_user_message_comes_apart_at_its_results():
    talk = [human("a", "b"), answer("x", call()), result("c"), result("d", id="c2"), human("e")]
    read = decode(written(talk))
    assert [m.content for m in read] == [m.content for m in talk]
    assert [m.source.kind for m in read] == ["user", "model", "tool", "tool", "user"]
    split = [*decode(written([human("a")])), result("b"), human("c")]
    assert len(decode(written([human("a"), result("b"), human("c")]))) == len(split)


def test_signatures_stand_beside_the_blocks():
    talk = [human("a"), signed(thought("hm"), "yes", call())]
    read = decode(written(talk), Reading(model="m"))
    assert json.loads(bytes(read[1].source.replay_state)) == {
        "response": {"kind": "anthropic-messages", "version": 1, "model": "m"},
        "blocks": [
            {"type": "reasoning", "signature": "sig"},
            {"type": "text"},
            {"type": "tool-call"},
        ],
    }
    assert written(read) == written(talk)


def test_reasoning_without_a_signature_is_read_and_not_sent():
    block = {"type": "thinking", "thinking": "hm"}
    body = {"messages": [{"role": "assistant", "content": [block]}]}
    read = decode(body)
    assert read[0].content == (thought("hm"),)
    assert not read[0].source.replay_state
    assert written(read)["messages"] == []


def test_redacted_reasoning_comes_back_verbatim():
    blocks = [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "a"}]
    body = {"messages": [{"role": "assistant", "content": blocks}]}
    assert written(decode(body))["messages"] == body["messages"]


def test_string_content_is_one_text():
    body = {
        "system": "s",
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "system", "content": "c"},
        ],
    }
    assert [m.content for m in decode(body)] == [(Text(t),) for t in "sabc"]


def test_wrapped_arguments_are_unwrapped():
    read = decode(written([answer(call(arguments="not json"))]))
    assert read[0].content == (ToolCall("c1", "read", "not json"),)


def test_a_picture_is_named_by_its_content():
    source = {"type": "base64", "media_type": "image/png", "data": "AQID"}
    image = {"type": "image", "source": source}
    answered = {"type": "tool_result", "tool_use_id": "c", "content": [image]}
    body = {"messages": [{"role": "user", "content": [image, answered]}]}
    read = decode(body)
    kept = Image(unkept(b"\x01\x02\x03", "image/png"))
    assert read[0].content == (kept,)
    assert read[1].content[0].content == (kept,)
    wire = MessagesWire(lambda _: Picture("image/png", b"\x01\x02\x03"))
    again = wire.history(map(wire.fragment, read))
    assert json.loads(b"{" + again + b"}")["messages"] == body["messages"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image"},
        {"type": "image", "source": {"media_type": "image/png", "data": "A"}},
        {"type": "document", "source": {}},
    ],
)
def test_other_blocks_are_kept_whole(block):
    read = decode({"messages": [{"role": "user", "content": [block]}]})
    assert read[0].content == (OtherBlock(compact(block).decode()),)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, "messages must be a list"),
        ({"messages": [{"role": "tool", "content": "a"}]}, "role must be user or assistant"),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]},
            "tool_use_id must be a string",
        ),
        (
            {"messages": [{"role": "assistant", "content": [{"type": "tool_use"}]}]},
            "name must be a string",
        ),
    ],
)
def test_what_is_no_messages_request_is_refused_with_its_place(body, expected):
    with pytest.raises(WireError, match=expected):
        decode(body)


def paired(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT, ANY_TEXT, ANY_TEXT)
def test_texts_calls_and_results_come_back(text, why, id, arguments, output):
    talk = [
        system(text or "s"),
        human(f"a{text}"),
        signed(thought(why), f"b{text}", call(id, text, arguments)),
        result(f"c{output}", id=id, is_error=False),
    ]
    body = written(talk)
    read = decode(body)
    assert written(read) == body
    assert read[-3].content == (Text("a" + paired(text)),)
    calls = read[-2].content[-1]
    assert (calls.id, calls.name) == (paired(id), paired(text))
    assert json.loads(calls.arguments) == {} if not arguments else True
    block = read[-1].content[0]
    assert (block.is_error, block.content) == (False, (Text("c" + paired(output)),))


@given(st.text(st.characters(), min_size=1, max_size=30).filter(lambda t: "{" not in t))
def test_arguments_that_are_no_object_come_back_verbatim(arguments):
    read = decode(written([answer(call(arguments=arguments))]))
    assert read[0].content[0].arguments == paired(arguments)
