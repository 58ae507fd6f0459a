"""A line becomes an event and the event becomes the line again."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logged import HEADER, answered, asked, human, said
from slicetape.errors import InvalidEvent, UnsupportedFormat
from slicetape.log.codec import (
    decode_event,
    decode_header,
    encode_event,
    encode_header,
    foreign,
    header_version,
)
from slicetape.log.events import (
    AssistantMessage,
    Foreign,
    Header,
    InboxSpliced,
    RequestHeader,
    Retry,
    ToolResult,
    TurnStart,
    UserMessage,
)
from slicetape.log.kinds import OPAQUE_KINDS
from slicetape.log.messages import OtherBlock, Reasoning, Text, ToolResultBlock
from slicetape.log.payloads import Failure, HeaderConfig, RequestEnvelope, RetryData

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
AWKWARD = [
    "\u2028\u2029\u0085",
    "\0\x01\x1f\x7f",
    "line\r\nline\rline\n",
    "👩‍👩‍👧 emoji 🇩🇪",
    "\ud800",
    "\udc00\ud800",
    "a\udfff b \ud83d",
    "\\ud800 is not an escape, \\\\ either",
    "\ue000d800 looks like a token \ud800",
    '{"type":"slicetape/other","raw":"x"}',
    "[slice tape v1 · turns 1-1 · 1 turn(s) sealed]",
]


def again(event):
    line = encode_event(event)
    assert b"\n" not in line
    return decode_event(line)


def line(**members: object) -> bytes:
    given = {"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}, **members}
    return json.dumps({k: v for k, v in given.items() if v is not ...}).encode()


@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_text_comes_back_as_it_was(text: str) -> None:
    event = answered(1, 1, "c", text)
    assert again(event) == event
    assert again(said(1, 1, Text(text), Reasoning(text))) == said(1, 1, Text(text), Reasoning(text))


@given(ANY_TEXT, ANY_TEXT)
def test_any_text_comes_back_as_json_means_it(text: str, call: str) -> None:
    joined = [
        t.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") for t in (text, call)
    ]
    assert again(answered(1, 1, call, text)) == answered(1, 1, joined[1], joined[0])


@given(ANY_TEXT)
def test_a_line_is_json_whose_text_is_the_text(text: str) -> None:
    value = json.loads(encode_event(human(text)).decode())
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert value["data"]["content"][0]["text"] == joined


def test_keys_stand_in_the_order_of_the_envelope() -> None:
    event = msgspec.structs.replace(answered(1, 1, "c"), seq=7, source_event_seqs=((3, 5), 6))
    assert list(json.loads(encode_event(event))) == [
        "type", "seq", "time", "data", "sourceEventSeqs", "surfaceOp",
    ]  # fmt: skip
    assert b"\xc3\xa9" in encode_event(human("é"))
    assert encode_event(foreign("x/a", {"n": 1.5}, time=3)) == (
        b'{"type":"x/a","seq":-1,"time":3,"data":{"n":1.5},"ignorable":true}'
    )


def test_a_lone_surrogate_is_written_as_an_escape() -> None:
    assert b'"text":"a\\ud83d!"' in encode_event(human("a\ud83d!"))
    assert b'\\udfff"' in encode_event(foreign("x/\udfff", {"k": "\udfff"}))


def test_opaque_json_keeps_its_lone_surrogates() -> None:
    data = b'{"turn":1,"step":1,"stream":[{"texts":["\\uD83D","\\ud83d\\ude00"]}]}'
    event = decode_event(b'{"type":"assistant/attempt","seq":0,"time":1,"data":%b}' % data)
    assert b'["\\ud83d","\\ud83d\\ude00"]' in encode_event(event)
    assert again(event) == event


def test_an_unknown_block_is_kept_as_its_text() -> None:
    block = b'{"type":"hologram", "z": 1.50, "text":"\\ud800"}'
    inner = (
        b'{"type":"tool-result","toolCallId":"c","content":[%b,{"type":"text","text":"t"}]}' % block
    )
    message = (
        b'{"id":"m","role":"user","content":[%b],"source":{"kind":"tool","callId":"c"}}' % inner
    )
    read = decode_event(
        b'{"type":"tool/result","seq":0,"time":1,"data":{"turn":1,"step":1,"message":%b},'
        b'"surfaceOp":"append"}' % message
    )
    assert isinstance(read, ToolResult)
    result = read.data.message.content[0]
    assert isinstance(result, ToolResultBlock)
    assert result.content == (OtherBlock(block.decode()), Text("t"))
    assert block in encode_event(read)
    assert again(read) == read


@pytest.mark.parametrize(
    "block",
    [
        b'{"type":"slicetape/other","raw":"}"}',
        b'{"type":"slicetape\\/other","raw":"1"}',
        b'{"type":"\\u0073licetape/other","raw":"x"}',
    ],
)
def test_a_block_that_borrows_our_tag_is_any_unknown_block(block: bytes) -> None:
    read = decode_event(
        b'{"type":"user/message","seq":0,"time":1,"data":{"id":"m","role":"user","content":[%b],'
        b'"source":{"kind":"user"}},"surfaceOp":"append"}' % block
    )
    assert isinstance(read, UserMessage)
    assert read.data.content == (OtherBlock(block.decode()),)
    assert block in encode_event(read)


def test_opaque_json_that_looks_like_our_tag_is_left_alone() -> None:
    stream = b'[{"type":"slicetape/other","raw":"x"}]'
    event = msgspec.structs.replace(said(1, 1, Text("t")), seq=0)
    data = msgspec.structs.replace(event.data, stream=msgspec.Raw(stream))
    event = msgspec.structs.replace(event, data=data)
    assert again(event) == event
    assert stream in encode_event(event)


def test_unknown_blocks_of_pending_messages_are_kept() -> None:
    block = b'{"type":"hologram"}'
    read = decode_event(
        b'{"type":"agent/inbox/spliced","seq":0,"time":1,"data":{"target":"next-turn","start":0,'
        b'"inserted":[{"id":"m","role":"user","content":[%b],"source":{"kind":"user"}}]}}' % block
    )
    assert isinstance(read, InboxSpliced)
    assert read.data.inserted[0].content == (OtherBlock(block.decode()),)
    assert block in encode_event(read)


@pytest.mark.parametrize("kind", sorted(OPAQUE_KINDS))
def test_first_party_kinds_are_carried_without_ignorable(kind: str) -> None:
    read = decode_event(line(type=kind, data={"a": 1.0}))
    assert isinstance(read, Foreign)
    assert (read.kind, bytes(read.data)) == (kind, b'{"a": 1.0}')


def test_an_unknown_kind_is_carried_only_when_it_may_be_skipped() -> None:
    assert isinstance(decode_event(line(type="y/z", ignorable=True)), Foreign)
    with pytest.raises(UnsupportedFormat, match="'y/z' are unknown"):
        decode_event(line(type="y/z"))


def test_the_last_of_repeated_keys_counts() -> None:
    read = decode_event(
        b'{"type":"x/a","type":"turn/start","seq":9,"seq":0,"time":1,"data":{},"data":{"turn":2}}'
    )
    assert isinstance(read, TurnStart)
    assert (read.seq, read.data.turn) == (0, 2)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"", "not JSON"),
        (b"[1]", "not an event"),
        (b'{"type":"turn/start"', "not JSON"),
        (b"[" * 100_000, "not"),
        (line(seq=1.0), r"\$\.seq"),
        (line(seq=True), r"\$\.seq"),
        (line(time="1"), r"\$\.time"),
        (line(time=...), "time"),
        (line(time=0.0), r"\$\.time"),
        (line(data={"turn": "1"}), r"\$\.data\.turn"),
        (line(data=[]), r"\$\.data"),
        (line(type="x/a", ignorable=True, data=[1]), r"\$\.data"),
        (line(ignorable=False), r"\$\.ignorable"),
        (line(type="x/a", ignorable=False), "unknown|ignorable"),
        (line(type="goal/change", ignorable=False), r"\$\.ignorable"),
        (line(extra=1), "extra"),
        (line(type="x/a", ignorable=True, extra=1), "extra"),
        (line(surfaceOp={"op": "insert"}), "surfaceOp"),
        (b'{"type":"turn/start","seq":0,"time":1,"data":{"turn":NaN}}', "not JSON"),
        (b'{"type":"x/a","seq":0,"time":1,"data":{"t":Infinity},"ignorable":true}', "not JSON"),
        (b'{"type":"x/a","seq":0,"time":1,"data":{"t":-0},"ignorable":true}', "-0"),
        (b'{"type":"x/a","seq":0,"time":1,"data":{"t":[1, -0.0e5 ]},"ignorable":true}', "-0"),
        (b'{"type":"x/a","seq":0,"time":1,"data":{"t":"\xff"},"ignorable":true}', "UTF-8"),
        (b'{"type":"x/a","seq":0,"time":1,"data":{"t":"\xed\xa0\x80"},"ignorable":true}', "UTF-8"),
        (b'{"type":"assistant/attempt","seq":0,"time":1,"data":{"turn":1,"step":1,"stream":[-0]}}', "-0"),
        (b'{"type":"user/message","seq":0,"time":1,"data":{"id":"m","content":[{"type":"text"}]}}', r"\$\.data"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_event_says_why(bad: bytes, says: str) -> None:
    with pytest.raises((InvalidEvent, UnsupportedFormat), match=says):
        decode_event(bad)


def test_a_hostile_line_is_quoted_short_and_plain() -> None:
    evil = "\x1b[2J" + "x" * 10_000
    for bad in (line(data={"turn": 1}, surfaceOp=evil), line(**{evil: 1}), line(type=evil)):
        with pytest.raises((InvalidEvent, UnsupportedFormat)) as caught:
            decode_event(bad)
        assert len(str(caught.value)) < 500
        assert "\x1b" not in str(caught.value)


def test_minus_zero_in_text_is_text() -> None:
    data = {"t": "dates like 2025-01-02, lists [-0, 1] and :-0}"}
    assert decode_event(line(type="x/a", ignorable=True, data=data))


@pytest.mark.parametrize("delay", [float("nan"), float("inf"), -0.0])
def test_a_number_that_json_cannot_say_is_no_line_of_a_log(delay: float) -> None:
    data = RetryData("r", 1, 1, "p", "m", "k", 1, delay, Failure())
    with pytest.raises(InvalidEvent):
        again(Retry(data=data, time=1))


def test_opaque_json_with_line_ends_becomes_one_line() -> None:
    event = foreign("x/a", {})
    event = msgspec.structs.replace(event, data=msgspec.Raw(b'{\r\n "a": "\\n"\n}'), seq=0)
    assert json.loads(encode_event(event))["data"] == {"a": "\n"}


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, {"a": b"x"}])
def test_our_own_events_hold_json_only(value: object) -> None:
    with pytest.raises(InvalidEvent):
        foreign("x/a", {"v": value})


def test_our_own_kinds_start_with_x() -> None:
    with pytest.raises(InvalidEvent, match="x/"):
        foreign("turn/start", {})


def test_a_value_that_is_no_json_is_refused() -> None:
    with pytest.raises(InvalidEvent, match="user/message"):
        encode_event(human(object()))  # type: ignore[arg-type]


def test_the_header_comes_back() -> None:
    header = Header("session", 3, "id \ud800", 1, True, 2, "/p\udcff", "parent", "subagent", "code")
    text = encode_header(header)
    assert decode_header(text) == header
    assert text.isascii()
    assert list(json.loads(text)) == [
        "type", "version", "id", "createdAt", "cwd", "parentSession", "isSeeded", "origin",
        "delegationDepth", "agentPreset",
    ]  # fmt: skip
    assert decode_header(encode_header(HEADER)) == HEADER


@pytest.mark.parametrize("version", [0, 1, 2, 4])
def test_another_format_says_how_to_import_it(version: int) -> None:
    text = b'{"type":"session","version":%d}' % version
    assert header_version(text) == version
    with pytest.raises(UnsupportedFormat, match=f"format {version}; `slicetape import`"):
        decode_header(text)


def test_a_newer_format_says_to_update() -> None:
    with pytest.raises(UnsupportedFormat, match=r"format 5, newer .* update slicetape"):
        decode_header(b'{"type":"session","version":5}')


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"hello",
        b"\xff\xfe",
        b"[]",
        b"[" * 100_000,
        b'{"type":"turn/start"}',
        b'{"type":"session"}',
        b'{"type":"session","version":-1}',
        b'{"type":"session","version":true}',
        b'{"type":"session","version":3}',
        b'{"type":"session","version":3,"id":1,"createdAt":1,"isSeeded":false,"delegationDepth":0}',
    ],
)
def test_what_is_no_header_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidEvent, match="not a session header"):
        decode_header(text)


def test_a_request_header_of_format_3_has_no_system_prompt() -> None:
    data = {
        "header": {"config": {"provider": "p", "model": "m"}, "system": "x"},
        "reason": "initial",
    }
    with pytest.raises(InvalidEvent, match="system"):
        decode_event(line(type="request/header", data=data))
    data["header"].pop("system")  # type: ignore[attr-defined]
    read = decode_event(line(type="request/header", data={**data, "note": {"system": 1}}))
    assert isinstance(read, RequestHeader)
    assert read.data.header == RequestEnvelope(HeaderConfig("p", "m"))


def test_what_was_read_keeps_no_line_alive() -> None:
    """A view into the line would hold the whole line in memory."""
    stream = '[{"type":"chunk"}]'
    data = {
        "turn": 1,
        "step": 1,
        "message": {
            "id": "m", "role": "assistant", "content": [{"type": "text", "text": "x" * 5000}],
            "source": {"kind": "model", "replayState": {"response": 1}},
        },
        "stream": json.loads(stream),
    }  # fmt: skip
    read = decode_event(line(type="assistant/message", data=data, surfaceOp="append"))
    assert isinstance(read, AssistantMessage)
    for raw in (read.data.stream, read.data.message.source.replay_state):
        assert memoryview(raw).obj is not None
        assert len(memoryview(raw).obj) == len(bytes(raw))  # type: ignore[arg-type]
    assert asked("c").arguments == "{}"
