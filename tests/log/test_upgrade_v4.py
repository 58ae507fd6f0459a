"""Format 4 to 3 and back: sources, results, blocks, kinds.

Long because each rule is shown in both directions.
"""

from typing import Any

import pytest

from log_rows import Event, e, lines, lowered, raised, said, user
from slicetape.errors import DamagedLog, UnsupportedFormat
from slicetape.log.upgrade import export_v4

SOURCES = [
    ("user", {"kind": "plugin", "plugin": "compact", "n": 1}, {"kind": "compact-checkpoint", "n": 1}),
    ("user", {"kind": "plugin", "plugin": "tools-ptc"}, {"kind": "ptc-mode"}),
    ("user", {"kind": "plugin", "plugin": "dsh-compaction-basic"}, {"kind": "compact-basic"}),
    (
        "user",
        {"kind": "plugin", "plugin": "@deepseek-ai/dsh-system-prompt", "form": "snapshot"},
        {"kind": "runtime-context", "form": "snapshot"},
    ),
    (
        "system",
        {"kind": "plugin", "plugin": "@deepseek-ai/dsh-system-prompt"},
        {"kind": "system-prompt"},
    ),
    ("user", {"kind": "plugin", "plugin": "time-context"}, {"kind": "time-context"}),
    ("user", {"kind": "plugin", "plugin": "slice:history"}, {"kind": "plugin:slice:history"}),
    ("user", {"kind": "plugin", "plugin": "plugin:x"}, {"kind": "plugin:plugin:x"}),
    ("user", {"kind": "plugin", "plugin": ""}, {"kind": "plugin:"}),
    ("user", {"kind": "user", "rpcId": "r"}, {"kind": "user", "rpcId": "r"}),
    ("user", {"kind": "goal"}, {"kind": "goal"}),
    ("user", {"kind": "coordinator", "plugin": "x"}, {"kind": "coordinator", "plugin": "x"}),
]  # fmt: skip


@pytest.mark.parametrize(("role", "three", "four"), SOURCES)
def test_sources_have_one_name_in_each_format(role: str, three: Event, four: Event) -> None:
    def carried(source: Event) -> list[Event]:
        message = said(source, role)
        kind = "system/message" if role == "system" else "assistant/message"
        return [
            e("user/message", message, surfaceOp="append"),
            e(kind, {"turn": 1, "step": 1, "message": message}, surfaceOp="append"),
            e("agent/inbox/spliced", {"target": "next-step", "inserted": [message, message]}),
            e("session/title-llm-request", {"messages": [message], "messageSeqs": [0]}),
            e("todo/write", {"source": {"kind": "plugin", "plugin": "compact"}}),
        ]

    made = [
        {k: event[k] for k in event if k not in {"seq", "time"}}
        for event in raised(*carried(three))
    ]
    assert made == carried(four)
    made = [
        {k: event[k] for k in event if k not in {"seq", "time"}}
        for event in lowered(*carried(four))
    ]
    assert made == carried(three)


def test_a_plugin_and_a_direct_kind_of_one_name_meet_in_the_direct_kind() -> None:
    [four] = raised(user({"kind": "plugin", "plugin": "goal"}))
    assert four["data"]["source"] == {"kind": "goal"}
    [three] = lowered(four)
    assert three["data"]["source"] == {"kind": "goal"}


def test_the_retired_name_of_code_mode_comes_back_as_the_new_one() -> None:
    [four] = raised(user({"kind": "plugin", "plugin": "tools-code-mode"}))
    assert four["data"]["source"] == {"kind": "ptc-mode"}


@pytest.mark.parametrize("source", [None, "x", {"kind": 3}, {"kind": "plugin"}, {}])
def test_odd_sources_pass(source: Any) -> None:
    event = e("user/message", {"source": source, "content": []}, surfaceOp="append")
    assert raised(event)[0]["data"] == event["data"]
    if source != {"kind": "plugin"}:
        assert lowered(event)[0]["data"] == event["data"]


WRAPPED = {
    "id": "m",
    "role": "user",
    "source": {"kind": "tool", "callId": "c"},
    "content": [
        {
            "type": "tool-result",
            "toolCallId": "c",
            "content": [{"type": "text", "text": "t"}, {"type": "chart", "type2": 1}],
            "isError": True,
            "note": 1,
            "plugin:message:note": 2,
        }
    ],
    "note": 3,
}
LIFTED = {
    "id": "m",
    "role": "tool",
    "source": {"kind": "tool", "callId": "c"},
    "toolCallId": "c",
    "content": [{"type": "text", "text": "t"}, {"type": "plugin:chart", "type2": 1}],
    "isError": True,
    "plugin:result:note": 1,
    "plugin:result:plugin:message:note": 2,
    "plugin:message:note": 3,
}


def test_tool_results_lose_and_get_their_wrapper_with_everything_in_it() -> None:
    three = e(
        "tool/result", {"turn": 1, "step": 1, "message": WRAPPED, "meta": [1]}, surfaceOp="append"
    )
    four = e(
        "tool/result", {"turn": 1, "step": 1, "message": LIFTED, "meta": [1]}, surfaceOp="append"
    )
    assert raised(three)[0]["data"] == four["data"]
    assert lowered(four)[0]["data"] == three["data"]


def test_a_result_that_does_not_say_whether_it_failed_still_does_not() -> None:
    bare = {k: v for k, v in LIFTED.items() if k in {"id", "role", "source", "toolCallId"}}
    [three] = lowered(e("tool/result", {"message": {**bare, "content": []}}, surfaceOp="append"))
    assert three["data"]["message"]["content"] == [
        {"type": "tool-result", "toolCallId": "c", "content": []}
    ]


@pytest.mark.parametrize(
    "message",
    [None, {"role": "user"}, {"role": "tool", "content": []}, {"role": "tool", "toolCallId": "c"}],
)
def test_a_format_4_result_of_another_shape_is_damage(message: Any) -> None:
    with pytest.raises(DamagedLog, match=r"line 2 .'tool/result'"):
        lowered(e("tool/result", {"message": message}, surfaceOp="append"))


@pytest.mark.parametrize(
    "content",
    [None, [], [{"type": "text"}], ["x"], [WRAPPED["content"][0]] * 2, [{"type": "tool-result"}]],
)
def test_a_format_3_result_of_another_shape_is_damage(content: Any) -> None:
    with pytest.raises(DamagedLog, match=r"line 2 .'tool/result'"):
        raised(e("tool/result", {"message": {"content": content}}, surfaceOp="append"))


def tagged(tag: str) -> list[Event]:
    block = {"type": tag, "x": [{"type": tag}]}
    message = said({"kind": "user"}, content=[block, {"type": "text", "text": "t"}])
    stream = [
        {
            "type": "chunk",
            "time": 1,
            "chunk": {"type": "block-start", "index": 0, "blockType": tag},
        },
        {"type": "chunk", "time": 1, "chunk": {"type": "block-end", "index": 0, "block": block}},
        {"type": "chunk", "time": 1, "chunk": {"type": "usage", "usage": {}}},
        {"type": "text-chunks", "time0": 1, "index": 0, "dt": [], "texts": ["t"]},
    ]
    return [
        e("user/message", message, surfaceOp="append"),
        e("assistant/message", {"message": message, "stream": stream}, surfaceOp="append"),
        e("assistant/attempt", {"stream": stream}),
        e("compaction/summary", {"summary": [block], "rawOutput": [block]}),
        e("tool/ptc-dispatch", {"content": [block], "arguments": {"type": tag}}),
        e("team/message/queued", {"message": message}),
        e("agent/inbox/spliced", {"inserted": [message]}),
    ]


@pytest.mark.parametrize(
    ("three", "four"),
    [("chart", "plugin:chart"), ("text", "text"), ("plugin:c", "plugin:plugin:c")],
)
def test_unknown_blocks_carry_a_prefix_in_format_4(three: str, four: str) -> None:
    made = raised(*tagged(three))
    first = made[0]["data"]["content"][0]
    assert first == {"type": four, "x": [{"type": three}]}
    stream = made[1]["data"]["stream"]
    assert stream[0]["chunk"]["blockType"] == four
    assert stream[1]["chunk"]["block"]["type"] == four
    assert made[2]["data"]["stream"] == stream
    assert made[3]["data"]["summary"][0]["type"] == made[3]["data"]["rawOutput"][0]["type"] == four
    assert made[4]["data"]["content"][0]["type"] == four
    assert made[4]["data"]["arguments"] == {"type": three}
    assert made[5]["data"]["message"]["content"][0]["type"] == four
    assert made[6]["data"]["inserted"][0]["content"][0]["type"] == four
    assert [event["data"] for event in lowered(*made)] == [event["data"] for event in tagged(three)]


def test_a_prefixed_block_never_becomes_a_known_one() -> None:
    made = lowered(*tagged("plugin:text"))
    assert made[0]["data"]["content"][0]["type"] == "plugin:text"


@pytest.mark.parametrize("block", ["x", None, {"type": 3}, {}])
def test_odd_blocks_pass(block: Any) -> None:
    stream = [
        {"type": "chunk", "chunk": {"type": "block-end", "block": block}},
        {"type": "chunk", "chunk": 3},
        4,
    ]
    odd = [
        e("user/message", {"content": [block]}, surfaceOp="append"),
        e("assistant/attempt", {"stream": stream}),
        e("assistant/attempt", {"stream": 5}),
        e("agent/inbox/spliced", {"inserted": [7]}),
    ]
    assert [event["data"] for event in raised(*odd)] == [event["data"] for event in odd]
    assert [event["data"] for event in lowered(*odd)] == [event["data"] for event in odd]


def test_a_result_block_in_another_place_keeps_its_tag_and_loses_prefixes_inside() -> None:
    inner = [{"type": "plugin:chart"}, {"type": "text", "text": "t"}]
    nested = {"type": "tool-result", "toolCallId": "c", "content": inner}
    plain = {"type": "tool-result", "toolCallId": "c", "content": inner[1:]}
    [made] = lowered(e("compaction/summary", {"summary": [nested, plain]}))
    assert made["data"]["summary"][0]["content"] == [{"type": "chart"}, inner[1]]
    assert made["data"]["summary"][1] == plain


class TestKinds:
    def test_ignorable_kinds_carry_a_prefix_in_format_4(self) -> None:
        note = e("x/seal", {"type": "plugin:x"}, ignorable=True)
        [four] = raised(note)
        assert four == {"seq": 0, "time": 0, **note, "type": "plugin:x/seal"}
        [three] = lowered(four)
        assert three == {"seq": 0, "time": 0, **note}

    def test_kinds_of_format_4_are_held_whole_and_come_back(self) -> None:
        events = [
            e("job/registered", {"jobId": "j"}),
            e("working-directory/change", {"cwd": "/c"}),
            e("acme/other", {"a": 1}, ignorable=True, sourceEventSeqs=[0]),
            e("plugin:user/message", {"a": 1}, ignorable=True),
            e("plugin:", {"a": 1}, ignorable=True),
        ]
        made = lowered(*events)
        assert {event["type"] for event in made} == {"x/dsh4"}
        assert made[0] == {
            "type": "x/dsh4",
            "seq": 0,
            "time": 0,
            "data": {"type": "job/registered", "data": {"jobId": "j"}},
            "ignorable": True,
        }
        assert "sourceEventSeqs" not in made[2]
        assert raised(*made) == [{"seq": i, "time": i, **event} for i, event in enumerate(events)]

    def test_a_prefix_that_hides_no_known_kind_goes(self) -> None:
        [three] = lowered(e("plugin:job/settled", {"a": 1}, ignorable=True))
        assert three["type"] == "job/settled"
        assert raised(three)[0]["type"] == "plugin:job/settled"

    def test_our_own_kinds_written_into_a_format_4_log_stay_ours(self) -> None:
        [made] = lowered(e("x/seal", {"turns": [1, 1]}, ignorable=True))
        assert made["type"] == "x/seal"

    @pytest.mark.parametrize(
        "data",
        [
            {"type": "user/message", "data": {}},
            {"type": "job/settled"},
            {"type": 3, "data": {}},
            {},
        ],
    )
    def test_a_forged_holder_does_not_become_an_event(self, data: Event) -> None:
        [four] = raised(e("x/dsh4", data, ignorable=True))
        assert four["type"] == "plugin:x/dsh4"
        assert four["data"] == data

    def test_unknown_required_kinds_are_refused_by_line_and_name(self) -> None:
        with pytest.raises(UnsupportedFormat, match=r"line 2 .'new/kind'.*format 4"):
            lowered(e("new/kind"))
        with pytest.raises(UnsupportedFormat, match=r"line 2 .'new/kind'.*format 3"):
            raised(e("new/kind"))

    def test_kinds_that_hosts_of_both_formats_carry_pass_the_export(self) -> None:
        event = e("working-directory/change", {"cwd": "/c"})
        assert raised(event) == [{"seq": 0, "time": 0, **event}]
        with pytest.raises(UnsupportedFormat, match="developer/message"):
            raised(e("developer/message"))

    @pytest.mark.parametrize("version", [0, 4])
    def test_only_format_3_is_exported(self, version: int) -> None:
        with pytest.raises(UnsupportedFormat, match="upgrade it to format 3 first"):
            list(export_v4(lines(version, [])))
