import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from slicetape.errors import WireError
from slicetape.log.messages import Image, Message, OtherBlock, Reasoning, Text, ToolCall
from slicetape.wire.openai_chat import OPENAI, ChatWire
from slicetape.wire.openai_chat_back import decode
from slicetape.wire.pictures import Picture, unkept
from slicetape.wire.reading import Reading, counted
from wire_talk import answer, call, compact, human, result, system, thought

RECORDED = [
    *("dsh-0.1.5-rc.1/requests", "dsh-0.1.5-rc.1/requests_minimal", "opencode/requests"),
    *("opencode/requests_auto_compaction", "opencode/requests_mcp", "pi/requests"),
    *("qwen-code/requests", "qwen-code/requests_mcp", "aider/requests", "sdk-openai/requests"),
    *("mini-swe-agent/requests", "mini-swe-agent/requests_textbased", "sdk-langchain/requests"),
    *("sdk-openai-agents/requests", "sdk-pydantic-ai/requests", "sdk-openai/requests_stream"),
]
ANY_TEXT = st.text(st.characters(), max_size=30)


KEYS = ("role", "content", "reasoning_content", "tool_calls", "tool_call_id")


def one_form(message: dict) -> dict:
    """A wire message without what we have no place for: parts of text, null, foreign keys."""
    content = message["content"] or ""
    if isinstance(content, list):
        content = "".join(part["text"] for part in content)
    kept = {key: value for key, value in message.items() if key in KEYS}
    if calls := message.get("tool_calls"):
        # one SDK adds the place of the call in the list
        kept["tool_calls"] = [{k: v for k, v in call.items() if k != "index"} for call in calls]
    return {**kept, "content": content}


def said(messages: list[Message]) -> list:
    """What a talk says, without ids and sources."""
    return [(m.role, m.content) for m in messages]


def bodies(name: str) -> list[dict]:
    lines = shared(f"wire/{name}.jsonl").read_bytes().splitlines()
    return [json.loads(json.loads(line)["body"]) for line in lines]


@pytest.mark.parametrize("name", RECORDED)
def test_real_requests_come_back_as_they_were(name):
    for body in bodies(name):
        written = json.loads(ChatWire().messages(decode(body["messages"])))
        assert written == [one_form(message) for message in body["messages"]]


@pytest.mark.parametrize("name", ["v3-tools", "v3-codemode", "v0-tools"])
def test_requests_of_the_harness_come_back_byte_for_byte(name):
    for line in shared(f"dsh-logs/{name}.requests.jsonl").read_bytes().splitlines():
        messages = json.loads(line)["body"]["messages"]
        assert ChatWire().messages(decode(messages)) == compact(messages)


def test_ids_are_counted_or_given():
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert [m.id for m in decode(talk)] == ["wire-1", "wire-2"]
    assert [m.id for m in decode(talk, Reading(ids=counted("x")))] == ["x1", "x2"]


def test_sources_say_what_the_wire_knows():
    talk = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "a"},
        {"role": "tool", "tool_call_id": "c", "content": "t"},
    ]
    read = decode(talk, Reading(provider="p", model="m"))
    assert [m.source.kind for m in read] == ["plugin", "user", "model", "tool"]
    assert (read[2].source.provider, read[2].source.model) == ("p", "m")
    assert read[3].source.call_id == "c"


def test_developer_is_read_as_system_and_null_content_as_none():
    read = decode([{"role": "developer", "content": "s"}, {"role": "assistant", "content": None}])
    assert said(read) == [("system", (Text("s"),)), ("assistant", ())]


def test_calls_of_other_types_and_arguments_that_are_no_string():
    calls = [
        {"id": "a", "type": "custom", "custom": {}},
        {"id": "b", "function": {"name": "f", "arguments": {"x": 1}}},
    ]
    read = decode([{"role": "assistant", "content": "", "tool_calls": calls}])
    assert read[0].content == (
        OtherBlock('{"id":"a","type":"custom","custom":{}}'),
        ToolCall("b", "f", '{"x":1}'),
    )


def test_reasoning_is_read_under_both_of_its_names():
    for key in ("reasoning_content", "reasoning"):
        read = decode([{"role": "assistant", "content": "", key: "why"}])
        assert read[0].content == (Reasoning("why"),)


def test_an_inline_picture_is_named_by_its_content():
    url = "data:image/png;base64,AQID"
    part = {"type": "image_url", "image_url": {"url": url}}
    read = decode([{"role": "user", "content": [{"type": "text", "text": "see"}, part]}])
    assert read[0].content == (Text("see"), Image(unkept(b"\x01\x02\x03", "image/png")))
    wire = ChatWire(OPENAI, lambda _: Picture("image/png", b"\x01\x02\x03"))
    assert url.encode() in wire.messages(read)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,A"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AB=="}},
        {"type": "image_url"},
        {"type": "input_audio", "input_audio": {}},
    ],
)
def test_other_parts_are_kept_whole(part):
    read = decode([{"role": "user", "content": [part]}])
    assert json.loads(read[0].content[0].raw) == part


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"role": "robot"}, "messages\\[0\\].role must be"),
        ({"role": "user", "content": 3}, "messages\\[0\\] must be a list"),
        ({"role": "user", "content": [3]}, "messages\\[0\\]\\[0\\] must be an object"),
        ({"role": "tool", "content": "a"}, "tool_call_id must be a string"),
        (
            {"role": "assistant", "content": "", "tool_calls": [{"function": {}}]},
            "name must be a string",
        ),
    ],
)
def test_what_is_no_chat_message_is_refused_with_its_place(message, expected):
    with pytest.raises(WireError, match=expected):
        decode([message])


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT, ANY_TEXT, ANY_TEXT)
def test_texts_calls_and_results_come_back(text, why, id, arguments, output):
    talk = [
        system(text or "s"),
        human(text),
        answer(thought(why or "w"), text, call(id, text, arguments)),
        result(output, id=id),
    ]
    written = ChatWire().messages(talk)
    assert ChatWire().messages(decode(json.loads(written))) == written
    read = decode(json.loads(written))
    assert "".join(block.text for block in read[1].content) == paired(text)
    assert read[2].content[-1] == ToolCall(paired(id), paired(text), paired(arguments))
    block = read[3].content[0]
    assert block.tool_call_id == paired(id)
    assert block.content[0].text == (paired(output) or "(no output)")


def paired(text: str) -> str:
    """Two halves that meet are one character, on every wire."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
