import base64
import json
from pathlib import Path

import pytest
from msgspec import Raw

from data import shared
from slicetape.errors import WireError
from slicetape.log.events import RequestHeader, UserMessage
from slicetape.log.messages import Attachment, File, Image, Message, OtherBlock, Source
from slicetape.log.payloads import HeaderConfig
from slicetape.wire.fragment import pieces
from slicetape.wire.openai_chat import DEEPSEEK, OPENAI, ChatWire
from slicetape.wire.pictures import Picture
from wire_talk import (
    PIXEL,
    answer,
    call,
    compact,
    events_of,
    human,
    messages_of,
    result,
    surfaces,
    system,
    thought,
)

DSH = {
    "v3-tools": "v3-tools",
    "v3-codemode": "v3-codemode",
    "v3-prune-compact": "v3-prune-compact",
    "v0-to-v3": "v0-tools",
}
RUNS = [
    *("abort", "basic", "basic-cap256", "basic-cap900", "basic-keep2", "basic-stock"),
    *("context", "context-keep1", "fold", "fold-digest-policy", "fold-pin2", "long"),
    *("long-stock", "ptc", "recall", "resume", "spill"),
]
CONFIG = HeaderConfig(provider="p", model="m", reasoning_effort="high", max_tokens=9)


def pixel(attachment: Attachment) -> Picture:
    return Picture("image/png", b"\x01\x02\x03", f"shown: {attachment.attachment_id}")


def test_a_system_prompt_a_question_and_an_answer():
    wire = ChatWire()
    assert wire.encode(system("Be brief.")) == (b'{"role":"system","content":"Be brief."}',)
    assert wire.encode(human("Hi ", "there")) == (b'{"role":"user","content":"Hi there"}',)
    assert wire.encode(answer("Yes.")) == (b'{"role":"assistant","content":"Yes."}',)


def test_reasoning_stands_between_content_and_calls():
    said = answer(thought("Look."), call(arguments='{"a": 1}'))
    assert ChatWire().encode(said) == (
        (
            b'{"role":"assistant","content":"","reasoning_content":"Look.","tool_calls":[{"id":"c1",'
            b'"type":"function","function":{"name":"read","arguments":"{\\"a\\": 1}"}}]}'
        ),
    )


def test_a_dialect_without_reasoning_leaves_it_out():
    wire = ChatWire(OPENAI)
    assert wire.encode(answer(thought("Look."), "Yes.")) == (
        b'{"role":"assistant","content":"Yes."}',
    )
    assert wire.encode(answer(thought("Look."))) == ()


@pytest.mark.parametrize("message", [answer(), answer(""), system(""), answer(thought(""))])
def test_assistant_and_system_messages_without_content_are_left_out(message):
    assert ChatWire().encode(message) == ()
    assert ChatWire().messages([message, human("a")]) == b'[{"role":"user","content":"a"}]'


def test_a_result_joins_its_texts_by_lines_and_says_when_it_has_none():
    wire = ChatWire()
    assert wire.encode(result("a", "b", is_error=True)) == (
        b'{"role":"tool","tool_call_id":"c1","content":"a\\nb"}',
    )
    assert wire.encode(result()) == (
        b'{"role":"tool","tool_call_id":"c1","content":"(no output)"}',
    )


def test_blocks_of_unknown_kinds_are_left_out():
    assert ChatWire().encode(human("a", OtherBlock('{"type":"x"}'))) == (
        b'{"role":"user","content":"a"}',
    )
    assert ChatWire().encode(human(PIXEL, OtherBlock("{}"))) == (
        (
            b'{"role":"user","content":[{"type":"text","text":'
            b'"[image sha256:00ff \xc2\xb7 image/png \xc2\xb7 1x1 \xc2\xb7 not sent]"}]}'
        ),
    )


def test_strings_are_escaped_as_javascript_escapes_them():
    text = '\x00\b\t\n\f\r\x1f"\\/\x7f\u2028é😀'
    assert ChatWire().encode(human(text)) == (
        '{"role":"user","content":"\\u0000\\b\\t\\n\\f\\r\\u001f\\"\\\\/\x7f\u2028é😀"}'.encode(),
    )


def test_lone_surrogates_become_escapes_and_halves_that_meet_become_one():
    assert ChatWire().encode(human("a\ud83d", "b\udc00\ud800")) == (
        b'{"role":"user","content":"a\\ud83db\\udc00\\ud800"}',
    )
    assert ChatWire().encode(human("a\ud83d", "\ude00")) == (
        '{"role":"user","content":"a😀"}'.encode(),
    )
    assert ChatWire().fragment(human("a\ud83d")).facts.broken
    assert not ChatWire().fragment(human("é\ud83d\ude00")).facts.broken


def test_a_picture_stands_as_a_part_with_its_caption_before_it():
    wire = ChatWire(pictures=pixel)
    assert json.loads(wire.encode(human(PIXEL, "What?", ""))[0])["content"] == [
        {"type": "text", "text": "shown: sha256:00ff"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}},
        {"type": "text", "text": "What?"},
    ]


def test_a_file_is_named():
    block = File(Attachment("sha256:1", bytes=4, name="a.pdf"))
    assert b"[file sha256:1 \xc2\xb7 a.pdf \xc2\xb7 not sent]" in ChatWire().encode(human(block))[0]


def test_pictures_of_results_are_gathered_behind_the_last_of_them():
    wire = ChatWire(pictures=lambda _: Picture("image/png", b"\x01\x02\x03"))
    talk = [
        answer(call("c1"), call("c2")),
        result(PIXEL, id="c1"),
        result("two", PIXEL, id="c2"),
        human("go on"),
    ]
    roles = [m["role"] for m in json.loads(wire.messages(talk))]
    assert roles == ["assistant", "tool", "tool", "user", "user"]
    assert len(json.loads(wire.messages(talk))[3]["content"]) == 2
    assert wire.messages(talk).startswith(wire.messages(talk[:-1])[:-1])
    assert len(wire.encode(result(PIXEL))) == 2


def test_a_message_of_results_and_text_gives_both():
    both = Message("m", "user", (*result("r").content, *human("t", PIXEL).content), Source("user"))
    roles = [json.loads(item)["role"] for item in ChatWire().encode(both)]
    assert roles == ["tool", "user"]


def test_pieces_of_a_prefix_do_not_depend_on_what_follows():
    wire = ChatWire()
    talk = [wire.fragment(m) for m in (human("a"), answer("b"), answer(), human("c"))]
    whole = list(pieces(wire, talk))
    for end in range(len(talk)):
        assert list(pieces(wire, talk[:end]))[:-1] == whole[:end]


def test_a_request_has_the_members_that_are_set_in_a_fixed_order():
    tools = Raw(b'[{"name":"read","description":"Read.","parameters":{"type": "object"}}]')
    assert ChatWire().request([human("a")], tools, CONFIG) == (
        b'{"model":"m","messages":[{"role":"user","content":"a"}],"stream":true,'
        b'"stream_options":{"include_usage":true},"thinking":{"type":"enabled"},'
        b'"reasoning_effort":"high","tools":[{"type":"function","function":{"name":"read",'
        b'"description":"Read.","parameters":{"type": "object"}}}],"max_tokens":9}'
    )
    bare = HeaderConfig(provider="p", model="m")
    body = json.loads(ChatWire().request([], Raw(), bare))
    assert list(body) == ["model", "messages", "stream", "stream_options"]


@pytest.mark.parametrize(
    ("dialect", "effort", "expected"),
    [
        (DEEPSEEK, "off", {"thinking": {"type": "disabled"}}),
        (OPENAI, "off", {}),
        (OPENAI, "low", {"reasoning_effort": "low"}),
        (DEEPSEEK, None, {}),
    ],
)
def test_effort_is_said_as_the_dialect_says_it(dialect, effort, expected):
    config = HeaderConfig(provider="p", model="m", reasoning_effort=effort)
    body = json.loads(ChatWire(dialect).request([], Raw(), config))
    assert {k: body[k] for k in ("thinking", "reasoning_effort") if k in body} == expected


def test_temperature_and_stop_and_the_limit_of_the_dialect():
    config = HeaderConfig("p", "m", temperature=0.5, max_tokens=3, stop=Raw(b'["x"]'))
    body = json.loads(ChatWire(OPENAI).request([], Raw(), config))
    assert (body["temperature"], body["stop"], body["max_completion_tokens"]) == (0.5, ["x"], 3)


def test_tools_that_are_no_list_of_schemas_are_refused():
    with pytest.raises(WireError, match="tool schemas are a list"):
        ChatWire().request([], Raw(b'{"a":1}'), CONFIG)


@pytest.mark.parametrize("name", DSH)
def test_messages_equal_what_the_harness_sent(name):
    bodies = [
        json.loads(line)["body"]
        for line in shared(f"dsh-logs/{DSH[name]}.requests.jsonl").read_bytes().splitlines()
    ]
    sent = iter(bodies)
    summaries = 0
    for nodes in surfaces(events_of(shared(f"dsh-logs/{name}.jsonl"))):
        derived = ChatWire().messages(messages_of(nodes))
        while derived != compact(next(sent)["messages"]):
            summaries += 1
    assert list(sent) == []
    assert summaries == (5 if name == "v3-codemode" else 0)


def images_in(pool: list[dict], events: list) -> dict[str, Picture]:
    """The pictures and captions of a recorded run, by attachment."""
    ids = [
        block.attachment.attachment_id
        for event in events
        if isinstance(event, UserMessage)
        for block in event.data.content
        if isinstance(block, Image)
    ]
    found = {}
    for message in pool:
        if isinstance(message["content"], list):
            caption, image, _ = message["content"]
            data = base64.b64decode(image["image_url"]["url"].partition(",")[2])
            found[ids[0]] = Picture("image/png", data, caption["text"])
    return found


@pytest.mark.parametrize("run", RUNS)
def test_messages_equal_the_recorded_requests_of(run):
    folder: Path = shared("golden/sessions")
    recorded = json.loads((folder / f"{run}.requests.json").read_bytes())
    events = events_of(folder / f"{run}.jsonl")
    pictures = images_in(recorded["pool"], events)
    wire = ChatWire(pictures=lambda attachment: pictures.get(attachment.attachment_id))
    cached = {}
    for request, nodes in zip(recorded["requests"], surfaces(events), strict=True):
        for node in nodes:
            if node.seq not in cached:
                cached[node.seq] = wire.fragment(messages_of([node])[0])
        expected = [recorded["pool"][at] for at in request["messages"]]
        assert wire.messages(cached[node.seq] for node in nodes) == compact(expected)


@pytest.mark.parametrize("run", ["basic", "context", "abort"])
def test_options_equal_the_recorded_requests_of(run):
    folder: Path = shared("golden/sessions")
    recorded = json.loads((folder / f"{run}.requests.json").read_bytes())
    header = next(e for e in events_of(folder / f"{run}.jsonl") if isinstance(e, RequestHeader))
    envelope = header.data.header
    body = json.loads(ChatWire().request([], envelope.tools, envelope.config))
    assert [tool["function"]["name"] for tool in body.pop("tools")] == (
        recorded["requests"][0]["tools"]
    )
    assert body.pop("messages") == []
    assert compact(body) == compact(recorded["requests"][0]["params"])
