"""Formats 0, 1 and 2: each rule on the smallest log that needs it."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import pytest

from slicetape.errors import DamagedLog, UnsupportedFormat
from slicetape.log.upgrade import UpgradeReport, header_3, upgrade, upgrade_events

Event = dict[str, Any]


def header(version: int, **more: Any) -> Event:
    head = {"type": "session", "version": version, "id": "s", "createdAt": 5, "delegationDepth": 0}
    if version >= 2:
        head["isSeeded"] = False
    return head | more


def numbered(events: Sequence[Event]) -> list[Event]:
    out = []
    seq = 0
    for event in events:
        if event["type"].endswith("-chunks"):
            key = "args" if event["type"].startswith("tool") else "texts"
            out.append({"seq0": seq, "time0": 100 + seq, **event})
            seq += len(event["data"][key])
        else:
            out.append({"seq": seq, "time": 100 + seq, **event})
            seq += 1
    return out


def upgraded(version: int, *events: Event, **more: Any) -> list[Event]:
    head = header(version, **more)
    lines = [json.dumps(row).encode() for row in [head, *numbered(events)]]
    made = [json.loads(line) for line in upgrade(lines)]
    assert made[0] == header_3(head)
    assert [event["seq"] for event in made[1:]] == list(range(len(made) - 1))
    assert made[-1]["type"] == "x/import"
    return made[1:-1]


def e(kind: str, data: Event | None = None, **more: Any) -> Event:
    return {"type": kind, "data": {} if data is None else data, **more}


def step(kind: str, turn: int = 1, number: int = 1) -> Event:
    return e(f"step/{kind}", {"turn": turn, "step": number})


def turn(kind: str, number: int = 1, **more: Any) -> Event:
    reason = {"reason": {"kind": "completed"}} if kind == "end" else {}
    return e(f"turn/{kind}", {"turn": number, **reason, **more})


def delta(text: str, number: int = 1) -> Event:
    chunk = {"type": "text-delta", "index": 0, "text": text}
    return e("assistant/chunk", {"turn": 1, "step": number, "chunk": chunk})


def finish(kind: str = "stop", number: int = 1) -> Event:
    chunk = {"type": "finish", "reason": {"kind": kind}}
    return e("assistant/chunk", {"turn": 1, "step": number, "chunk": chunk})


def answer(sources: list[Any] | None, number: int = 1) -> Event:
    message = {"id": "a", "role": "assistant", "content": [], "source": {"kind": "model"}}
    more = {} if sources is None else {"sourceEventSeqs": sources}
    data = {"turn": 1, "step": number, "message": message}
    return e("assistant/message", data, surfaceOp="append", **more)


def human(identity: str = "u", **more: Any) -> Event:
    content = [{"type": "text", "text": "see seq 3"}]
    data = {"id": identity, "role": "user", "content": content, "source": {"kind": "user"}}
    return e("user/message", data, **({"surfaceOp": "append"} | more))


def kinds(events: Sequence[Event]) -> list[str]:
    return [event["type"] for event in events]


def first(events: Sequence[Event], kind: str) -> Event:
    return next(event for event in events if event["type"] == kind)


OPEN = [turn("start"), step("start")]


class TestNamesOfTheFirstBuilds:
    def test_steering_messages_become_user_messages(self) -> None:
        bare = {"turn": 1, "content": [], "source": {"kind": "user"}}
        whole = {"turn": 1, "message": human("kept")["data"]}
        made = upgraded(
            0,
            *OPEN,
            e("steering/message", bare, surfaceOp="append"),
            e("steering/message", whole, surfaceOp="append"),
        )
        assert made[3]["data"] == {
            "content": [],
            "source": {"kind": "user"},
            "id": "legacy-message:s:2",
            "role": "user",
        }
        assert made[4]["data"]["id"] == "kept"
        assert kinds(made)[3:] == ["user/message", "user/message"]

    def test_messages_without_identity_get_a_derived_one(self) -> None:
        said = {"content": [], "source": {"kind": "user"}}
        replied = {
            "turn": 1,
            "step": 1,
            "content": [],
            "provenance": {"provider": "p", "model": "m"},
        }
        result = {"turn": 1, "step": 1, "callId": "c", "content": [], "isError": False, "meta": 1}
        made = upgraded(
            0,
            *OPEN,
            e("user/message", said, surfaceOp="append"),
            e("assistant/message", replied, surfaceOp="append"),
            e("tool/result", result, surfaceOp="append"),
        )
        assert made[3]["data"]["id"] == "legacy-message:s:2"
        assert made[4]["data"]["message"] == {
            "id": "legacy-message:s:3",
            "role": "assistant",
            "content": [],
            "source": {"provider": "p", "model": "m", "kind": "model"},
        }
        assert made[5]["data"] == {
            "turn": 1,
            "step": 1,
            "meta": 1,
            "message": {
                "id": "legacy-message:s:4",
                "role": "user",
                "content": [
                    {"type": "tool-result", "toolCallId": "c", "content": [], "isError": False}
                ],
                "source": {"kind": "tool", "callId": "c"},
            },
        }

    def test_messages_of_other_shapes_are_left_alone(self) -> None:
        odd = [
            e("assistant/message", {"turn": 1, "step": 1}, surfaceOp="append"),
            e("tool/result", {"turn": 1, "step": 1, "message": 4}, surfaceOp="append"),
            e("request/header", {"header": {"config": {}}, "reason": "initial"}),
        ]
        made = upgraded(0, *OPEN, *odd)
        assert made[3]["data"] == {"turn": 1, "step": 1, "stream": []}
        assert made[4]["data"] == odd[1]["data"]
        assert made[5]["data"] == odd[2]["data"]
        with pytest.raises(DamagedLog, match="provenance"):
            upgraded(0, *OPEN, e("assistant/message", {"content": [], "provenance": 4}))

    def test_a_pruned_result_keeps_the_derived_id_of_its_original(self) -> None:
        data = {"turn": 1, "step": 1, "callId": "c", "content": [], "isError": False}
        swap = {"op": "replace", "start": 2, "end": 2}
        made = upgraded(
            0,
            *OPEN,
            e("tool/result", data, surfaceOp="append"),
            e("tool/result", data, surfaceOp=swap, sourceEventSeqs=[2]),
        )
        assert made[4]["data"]["message"]["id"] == "legacy-message:s:2"
        assert made[4]["surfaceOp"] == {"op": "replace", "startSeq": 3, "endSeq": 3}
        assert made[4]["sourceEventSeqs"] == [3]

    def test_a_pruned_result_whose_original_is_unknown_is_damage(self) -> None:
        data = {"turn": 1, "step": 1, "callId": "c", "content": [], "isError": False}
        swap = {"op": "replace", "start": 0, "end": 0}
        with pytest.raises(DamagedLog, match=r"line 4 .*has no id"):
            upgraded(0, *OPEN, e("tool/result", data, surfaceOp=swap))

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ({"kind": "aborted"}, {"kind": "aborted", "reason": {"kind": "legacy"}}),
            ({"kind": "aborted", "reason": {"kind": "user"}}, None),
            ({"kind": "disposed"}, {"kind": "aborted", "reason": {"kind": "disposed"}}),
            (
                {"kind": "error", "step": 1, "message": "m"},
                {"kind": "error", "error": {"message": "m", "code": "UNKNOWN"}},
            ),
            (
                {"kind": "error", "step": 1, "failure": {"message": "m", "code": "C"}},
                {"kind": "error", "error": {"message": "m", "code": "C"}},
            ),
            ({"kind": "error", "error": {"message": "m", "code": "C"}}, None),
            ({"kind": "completed"}, None),
        ],
    )
    def test_retired_end_reasons_are_mapped(self, old: Event, new: Event | None) -> None:
        made = upgraded(0, turn("start"), turn("end", reason=old))
        assert made[1]["data"] == {"turn": 1, "reason": new or old}

    @pytest.mark.parametrize("reason", [None, {"kind": "error", "message": 3}])
    def test_an_end_without_a_reason_is_damage(self, reason: Any) -> None:
        with pytest.raises(DamagedLog, match=r"line 3"):
            upgraded(0, turn("start"), turn("end", reason=reason))

    def test_triggers_and_message_prefixes_go(self) -> None:
        head = {"config": {}, "messagePrefix": []}
        made = upgraded(
            0,
            turn("start", trigger={"kind": "user"}),
            step("start"),
            e("request/header", {"header": head, "reason": "initial"}),
        )
        assert made[0]["data"] == {"turn": 1}
        assert made[3]["data"]["header"] == {"config": {}}

    def test_compactions_get_their_new_name_and_one_id(self) -> None:
        note = {"id": "n", "role": "user", "content": [], "source": {"kind": "plugin"}}
        note["source"] = {"kind": "plugin", "plugin": "compact"}
        shadowed = {"shadowedRange": {"start": 2, "end": 2}, "shadowedSeqs": [2]}
        swap = {"op": "replace", "start": 2, "end": 2}
        made = upgraded(
            0,
            *OPEN,
            human(),
            e("compact/start", {"turn": 1}),
            e("compact/summary", shadowed),
            e("user/message", note, surfaceOp=swap, sourceEventSeqs=[2, 3]),
            e("compact/end", {"turn": 1}),
            e("compact/prune", shadowed),
            e("compaction/start", {"turn": 1, "compactionId": "own"}),
            e("session/end-seed"),
            e("compaction/end", {"turn": 1, "compactionId": "own"}),
        )
        identity = "legacy-compaction:s:3"
        assert [event["data"].get("compactionId") for event in made[4:6]] == [identity] * 2
        assert made[6]["data"]["source"]["compactionId"] == identity
        assert made[7]["data"]["compactionId"] == identity
        assert kinds(made)[8] == "compaction/prune"
        assert made[5]["data"]["shadowedRange"] == {"start": 3, "end": 3}
        assert made[5]["data"]["shadowedSeqs"] == [3]
        assert made[6]["sourceEventSeqs"] == [3, 4]

    def test_retries_of_one_chain_share_an_id(self) -> None:
        retry = {"turn": 1, "step": 1, "provider": "p", "policyKey": "k"}
        made = upgraded(
            0,
            *OPEN,
            e("llm/retry", retry),
            e("llm/retry", retry),
            e("llm/retry", {**retry, "retryId": "own"}),
            e("llm/retry", retry),
        )
        ids = [event["data"]["retryId"] for event in made[3:]]
        assert ids == ["legacy-retry:s:2"] * 2 + ["own"] * 2

    @pytest.mark.parametrize("kind", ["request/header-delta", "mode/set"])
    def test_kinds_that_cannot_be_rebuilt_are_refused_by_line_and_name(self, kind: str) -> None:
        with pytest.raises(UnsupportedFormat, match=f"line 4 .'{kind}'"):
            upgraded(0, *OPEN, e(kind))

    def test_a_header_logged_as_a_fallback_is_refused(self) -> None:
        with pytest.raises(UnsupportedFormat, match=r"line 4 .*fallback"):
            upgraded(0, *OPEN, e("request/header", {"header": {}, "reason": "fallback"}))


class TestStreams:
    def test_deltas_move_into_the_message_that_cites_them(self) -> None:
        packed = {"turn": 1, "step": 1, "index": 0, "dt": [2, -1], "texts": ["b", "c", "d"]}
        call = {"turn": 1, "step": 1, "index": 1, "dt": [], "id": "c", "args": ["{}"]}
        made = upgraded(
            1, *OPEN, delta("a"), e("text-chunks", packed), e("tool-call-chunks", call), finish(),
            answer([[2, 7]]),
        )  # fmt: skip
        message = first(made, "assistant/message")
        assert "sourceEventSeqs" not in message
        assert message["data"]["stream"] == [
            {
                "type": "text-chunks",
                "time0": 102,
                "index": 0,
                "dt": [1, 2, -1],
                "texts": ["a", "b", "c", "d"],
            },
            {
                "type": "tool-call-chunks",
                "time0": 106,
                "index": 1,
                "dt": [],
                "id": "c",
                "args": ["{}"],
            },
            {
                "type": "chunk",
                "time": 107,
                "chunk": {"type": "finish", "reason": {"kind": "stop"}},
            },
        ]

    def test_deltas_of_other_blocks_or_names_are_not_joined(self) -> None:
        def call(**more: Any) -> Event:
            chunk = {"type": "tool-call-delta", "index": 0, "id": "c", "argumentsDelta": "x"}
            return e("assistant/chunk", {"turn": 1, "step": 1, "chunk": chunk | more})

        odd = {"type": "text-delta", "index": 0, "text": "x", "extra": 1}
        made = upgraded(
            1,
            *OPEN,
            call(name="n"),
            call(name="n"),
            call(),
            call(index=1),
            e("assistant/chunk", {"turn": 1, "step": 1, "chunk": odd}),
            e("assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": 4}}),
            answer([[2, 7]]),
        )  # fmt: skip
        stream = first(made, "assistant/message")["data"]["stream"]
        assert [record["type"] for record in stream] == ["tool-call-chunks"] * 3 + ["chunk"] * 2
        assert [record.get("args") for record in stream[:3]] == [["x", "x"], ["x"], ["x"]]
        assert stream[3]["chunk"] == odd

    def test_a_failed_call_becomes_an_attempt_where_its_last_delta_stood(self) -> None:
        made = upgraded(
            1,
            *OPEN,
            delta("a"),
            e("todo/write"),
            finish("error"),
            e("plan/mode"),
            e("llm/retry", {"turn": 1, "step": 1}),
            delta("b"),
            answer([7]),
        )
        assert kinds(made)[3:] == [
            "todo/write", "assistant/attempt", "plan/mode", "llm/retry", "assistant/message",
        ]  # fmt: skip
        attempt = first(made, "assistant/attempt")
        assert attempt["time"] == 104
        assert attempt["data"]["turn"] == attempt["data"]["step"] == 1
        assert [record["type"] for record in attempt["data"]["stream"]] == ["text-chunks", "chunk"]

    def test_a_second_call_of_one_step_is_an_attempt_of_its_own(self) -> None:
        made = upgraded(1, *OPEN, delta("a"), finish("error"), delta("b"), answer([4]))
        assert kinds(made)[3:] == ["assistant/attempt", "assistant/message"]

    def test_an_open_call_at_the_end_of_the_file_is_an_attempt(self) -> None:
        assert kinds(upgraded(1, *OPEN, delta("a")))[-1] == "assistant/attempt"

    @pytest.mark.parametrize("sources", [None, [2]])
    def test_a_message_that_cites_nothing_claims_the_open_call(self, sources: Any) -> None:
        made = upgraded(1, *OPEN, delta("a"), answer(sources))
        assert kinds(made)[3:] == ["assistant/message"]
        assert made[3]["data"]["stream"][0]["texts"] == ["a"]

    def test_a_message_that_says_it_owns_no_deltas_has_an_empty_stream(self) -> None:
        made = upgraded(1, *OPEN, delta("a"), answer([]))
        assert kinds(made)[3:] == ["assistant/attempt", "assistant/message"]
        assert made[4]["data"]["stream"] == []

    def test_a_message_of_another_step_leaves_the_open_call_alone(self) -> None:
        made = upgraded(1, *OPEN, delta("a"), answer(None, number=2))
        assert kinds(made)[3:] == ["assistant/attempt", "assistant/message"]

    @pytest.mark.parametrize("sources", [[2], [1, 2, 3], [[1, 3]]])
    def test_a_message_that_cites_other_deltas_is_refused(self, sources: Any) -> None:
        with pytest.raises(UnsupportedFormat, match=r"line 6 .*one whole model call"):
            upgraded(1, *OPEN, delta("a"), delta("b"), answer(sources))

    def test_an_event_that_cites_a_delta_is_refused(self) -> None:
        with pytest.raises(UnsupportedFormat, match="cites seq 2, which became part of another"):
            upgraded(1, *OPEN, delta("a"), answer([2]), human(sourceEventSeqs=[2]))

    def test_an_ignorable_event_that_cites_a_delta_loses_the_citation(self) -> None:
        note = e("x/note", {"seq": 3}, ignorable=True, sourceEventSeqs=[2, 3])
        lost = e("x/note", {}, ignorable=True, sourceEventSeqs=[2])
        made = upgraded(1, *OPEN, delta("a"), answer([2]), note, lost)
        assert made[4] == {
            "type": "x/note",
            "seq": 4,
            "time": 104,
            "data": {"seq": 3},
            "ignorable": True,
            "sourceEventSeqs": [3],
        }
        assert "sourceEventSeqs" not in made[5]

    def test_a_chunk_that_is_no_object_is_damage(self) -> None:
        with pytest.raises(DamagedLog, match=r"line 4"):
            upgraded(1, *OPEN, e("assistant/chunk", {"turn": 1, "step": 1, "chunk": 3}))

    def test_a_message_that_set_a_goal_becomes_a_goal_and_a_message(self) -> None:
        goal = human()
        goal["data"]["source"] = {"kind": "goal", "change": {"set": "x"}}
        plain = human()
        plain["data"]["source"] = {"kind": "goal"}
        made = upgraded(1, *OPEN, goal, plain)
        assert kinds(made)[3:] == ["goal/change", "user/message", "user/message"]
        assert made[3]["data"] == {"set": "x"}
        assert made[4]["data"]["source"] == {"kind": "plugin", "plugin": "goal"}
        assert made[5]["data"]["source"] == {"kind": "goal"}


class TestInheritedHistory:
    def test_the_cut_becomes_a_mark(self) -> None:
        made = upgraded(1, *OPEN, step("end"), turn("end"), turn("start", 2), seedLength=4)
        assert kinds(made)[-2:] == ["session/end-seed", "turn/start"]
        assert made[-2]["data"] == {"inherited": True}

    def test_a_mark_that_stands_at_the_cut_is_used(self) -> None:
        made = upgraded(
            1,
            *OPEN,
            step("end"),
            turn("end"),
            e("session/end-seed"),
            turn("start", 2),
            seedLength=4,
        )
        assert kinds(made)[-2:] == ["session/end-seed", "turn/start"]
        assert made[-2]["data"] == {"inherited": True}

    def test_a_session_that_only_inherited_ends_with_the_mark(self) -> None:
        made = upgraded(1, turn("start"), turn("end"), seedLength=2)
        assert made[-1]["data"] == {"inherited": True}
        assert made[-1]["time"] == 101

    def test_headers_say_that_they_are_seeded(self) -> None:
        head = header(1, seedLength=0, parentSession="p", cwd="/c", agentPreset="code")
        assert list(header_3(head).items()) == [
            ("type", "session"),
            ("version", 3),
            ("id", "s"),
            ("createdAt", 5),
            ("cwd", "/c"),
            ("parentSession", "p"),
            ("isSeeded", True),
            ("delegationDepth", 0),
            ("agentPreset", "ptc"),
        ]

    def test_a_cut_inside_a_call_is_damage(self) -> None:
        with pytest.raises(DamagedLog, match="splits a model call"):
            upgraded(1, *OPEN, delta("a"), delta("b"), seedLength=3)
        with pytest.raises(DamagedLog, match="splits a model call"):
            upgraded(1, *OPEN, delta("a"), answer([2]), seedLength=3)

    @pytest.mark.parametrize("length", [-1, 1.0, "2"])
    def test_a_cut_that_is_no_count_is_damage(self, length: Any) -> None:
        with pytest.raises(DamagedLog, match="seedLength"):
            upgraded(1, *OPEN, seedLength=length)


class TestSystemPrompts:
    def headed(self, system: str | None, **more: Any) -> Event:
        head = {"config": {}, **more} | ({} if system is None else {"system": system})
        return e("request/header", {"header": head, "reason": "initial"})

    def test_the_prompt_moves_onto_the_surface_each_time_it_changes(self) -> None:
        made = upgraded(
            2, *OPEN, human(), self.headed("p"), self.headed("p"), self.headed(None), step("end"),
        )  # fmt: skip
        assert kinds(made)[2:-1] == [
            "system/message", "user/message", "system/message", "request/header", "request/header",
            "system/message", "request/header",
        ]  # fmt: skip
        empty, prompt, cleared = (event for event in made if event["type"] == "system/message")
        assert (empty["surfaceOp"], empty["data"]["message"]["content"]) == ("append", [])
        assert "sourceEventSeqs" not in empty
        assert prompt["data"]["message"]["content"] == [{"type": "text", "text": "p"}]
        assert prompt["surfaceOp"] == {"op": "replace", "startSeq": 2, "endSeq": 2}
        assert prompt["sourceEventSeqs"] == [2]
        assert (prompt["data"]["turn"], prompt["data"]["step"]) == (1, 1)
        assert cleared["surfaceOp"]["startSeq"] == prompt["seq"]
        assert not any("system" in event["data"].get("header", {}) for event in made)

    def test_ids_of_prompts_are_derived_from_where_they_come_from(self) -> None:
        made = upgraded(2, *OPEN)
        key = b'["session-format-v2-to-v3","s",1,"step/start"]'
        digest = hashlib.sha256(key).hexdigest()
        assert made[2]["data"]["message"]["id"] == f"v2-to-v3-system-{digest}"

    def test_empty_tools_and_defaults_go_and_others_stay(self) -> None:
        made = upgraded(
            2,
            *OPEN,
            self.headed(None, tools=[], adapterDefaults={}),
            self.headed(None, tools=[{"name": "t"}], stop=[]),
        )
        assert made[3]["data"]["header"] == {"config": {}}
        assert made[4]["data"]["header"] == {"config": {}, "tools": [{"name": "t"}], "stop": []}

    def test_code_mode_gets_its_new_name_where_it_is_a_name(self) -> None:
        source = {"kind": "plugin", "plugin": "tools-code-mode"}
        message = {"id": "m", "role": "user", "content": [], "source": source}
        other = {**message, "source": {"kind": "plugin", "plugin": "tools-code-mode-2"}}
        made = upgraded(
            2,
            e("agent/inbox/spliced", {"inserted": [message, other]}),
            e("agent-preset/selected", {"agentPreset": "code"}),
            e("agent-preset/selected", {"agentPreset": "codex"}),
            *OPEN,
            e("user/message", message, surfaceOp="append"),
            e("session/title-llm-request", {"messages": [message], "messageSeqs": [5]}),
            e("tool/code-dispatch-start", {"name": "tools-code-mode"}),
            e("tool/code-dispatch", {"content": []}),
            agentPreset="code",
        )
        renamed = {**message, "source": {"kind": "plugin", "plugin": "tools-ptc"}}
        assert made[0]["data"]["inserted"] == [renamed, other]
        assert [event["data"]["agentPreset"] for event in made[1:3]] == ["ptc", "codex"]
        assert made[6]["data"] == renamed
        assert made[7]["data"] == {"messages": [renamed], "messageSeqs": [6]}
        assert kinds(made)[8:] == ["tool/ptc-dispatch-start", "tool/ptc-dispatch"]
        assert made[8]["data"] == {"name": "tools-code-mode"}

    def test_messages_logged_just_ahead_of_the_first_step_move_into_it(self) -> None:
        report = UpgradeReport()
        title = e("session/title", {"messageSeqs": [1]})
        events = numbered([turn("start"), human(), title, step("start"), human("v")])
        made = list(upgrade_events(header(2), events, report))
        assert kinds(made) == [
            "turn/start", "step/start", "system/message", "user/message", "session/title",
            "user/message",
        ]  # fmt: skip
        assert made[4]["data"]["messageSeqs"] == [3]
        assert [report.seqs.get(seq) for seq in range(6)] == [0, 3, 4, 1, 5, None]
        assert report.seqs.runs() == [[0, 0, 0], [1, 1, 3], [2, 2, 4], [3, 3, 1], [4, 4, 5]]

    def test_a_log_that_ends_before_its_first_step_keeps_its_message(self) -> None:
        assert kinds(upgraded(2, turn("start"), human())) == ["turn/start", "user/message"]

    def test_a_turn_that_spoke_without_a_step_is_refused(self) -> None:
        with pytest.raises(UnsupportedFormat, match=r"line 3 .*before the first step"):
            upgraded(2, turn("start"), human(), turn("end"))

    def test_a_prompt_outside_a_step_is_refused(self) -> None:
        with pytest.raises(UnsupportedFormat, match="outside a step"):
            upgraded(2, *OPEN, step("end"), self.headed("p"))

    @pytest.mark.parametrize("head", [None, {"system": 4}])
    def test_a_header_of_another_shape_is_damage(self, head: Any) -> None:
        with pytest.raises(DamagedLog, match=r"line 4 .'request/header'.*must be"):
            upgraded(2, *OPEN, e("request/header", {"header": head}))


class TestReferences:
    def test_every_declared_reference_is_mapped_and_text_never(self) -> None:
        shadowed = {"shadowedRange": {"start": 3, "end": 2}, "shadowedSeqs": [2, 3]}
        made = upgraded(
            2,
            *OPEN,
            human("u"),
            human("v"),
            e("command/done", {"sourceEventSeq": 2, "text": "seq 2"}),
            e("command/done", {"runId": "r"}),
            e("compaction/prune", shadowed),
            e("session/title", {"messageSeqs": [2, 3]}),
            e("session/title", {"title": "t"}),
            e("image/offload", {"targets": [{"seq": 2, "block": 1}, {"path": "x"}, 4]}),
            e("image/offload", {"other": 2}),
            human("w", surfaceOp={"op": "replace", "start": 2, "end": 3}, sourceEventSeqs=[[0, 3]]),
        )
        assert made[5]["data"] == {"sourceEventSeq": 3, "text": "seq 2"}
        assert made[6]["data"] == {"runId": "r"}
        assert made[7]["data"] == {"shadowedRange": {"start": 4, "end": 3}, "shadowedSeqs": [3, 4]}
        assert made[8]["data"]["messageSeqs"] == [3, 4]
        assert made[10]["data"]["targets"] == [{"seq": 3, "block": 1}, {"path": "x"}, 4]
        assert made[12]["surfaceOp"] == {"op": "replace", "startSeq": 3, "endSeq": 4}
        assert made[12]["sourceEventSeqs"] == [0, 1, 3, 4]
        assert made[12]["data"]["content"] == [{"type": "text", "text": "see seq 3"}]

    def test_case_72_entry_text_stays_identical_while_its_citations_move(self) -> None:
        entry = human("e", surfaceOp={"op": "replace", "start": 3, "end": 3}, sourceEventSeqs=[3])
        text = '[slice tape v1 …] expand_result({"seq":3,"formatVersion":1})'
        entry["data"] |= {
            "content": [{"type": "text", "text": text}],
            "source": {"kind": "plugin", "plugin": "slice:history"},
        }
        made = upgraded(1, *OPEN, delta("a"), answer([2]), entry)
        assert made[4]["data"] == entry["data"]
        assert made[4]["sourceEventSeqs"] == [3]
        assert made[4]["surfaceOp"] == {"op": "replace", "startSeq": 3, "endSeq": 3}

    @pytest.mark.parametrize(
        "sources", [[2], [[0, 9]], [[1, 0]], ["1"], [1.0], [True], [[0, 1, 1]], 7, [-1]]
    )
    def test_citations_that_are_no_earlier_seqs_are_damage(self, sources: Any) -> None:
        with pytest.raises(DamagedLog, match=r"line 4"):
            upgraded(2, *OPEN, human(sourceEventSeqs=sources))

    def test_a_hostile_range_costs_nothing(self) -> None:
        with pytest.raises(DamagedLog, match=r"line 4"):
            upgraded(2, *OPEN, human(sourceEventSeqs=[[0, 10**15]]))
        with pytest.raises(DamagedLog, match="more seqs are cited"):
            upgraded(2, *OPEN, human(sourceEventSeqs=[0, 1] * 4))

    @pytest.mark.parametrize(
        "operation", [{"op": "replace", "start": 2, "end": 7}, {"op": "replace", "start": 2}]
    )
    def test_a_broken_replacement_is_damage(self, operation: Event) -> None:
        with pytest.raises(DamagedLog, match=r"line 5"):
            upgraded(2, *OPEN, human(), human("v", surfaceOp=operation))

    def test_a_compaction_without_its_range_is_damage(self) -> None:
        with pytest.raises(DamagedLog, match="shadowedRange"):
            upgraded(2, *OPEN, e("compaction/prune", {"shadowedSeqs": []}))


class TestRestarts:
    QUEUED = e(
        "agent/inbox/spliced", {"target": "next-turn", "start": 0, "inserted": [{"id": "q"}]}
    )

    @pytest.mark.parametrize("version", [0, 1, 2])
    def test_a_turn_that_a_restart_left_open_is_closed(self, version: int) -> None:
        made = upgraded(version, *OPEN, step("end"), self.QUEUED, turn("start", 2))
        assert kinds(made)[-2:] == ["turn/end", "turn/start"]
        assert made[-2]["data"] == {"turn": 1, "reason": {"kind": "interrupted"}}
        assert made[-2]["time"] == made[-1]["time"]

    @pytest.mark.parametrize(
        "between",
        [[QUEUED], [step("end")], [step("end"), QUEUED, e("todo/write")], [step("end"), turn("end"), QUEUED]],
    )  # fmt: skip
    def test_nothing_is_invented_elsewhere(self, between: list[Event]) -> None:
        made = upgraded(2, *OPEN, *between, turn("start", 2))
        assert len(made) == len(between) + 4


class TestKinds:
    @pytest.mark.parametrize(
        ("version", "kind"),
        [(0, "new/kind"), (1, "assistant/attempt"), (2, "assistant/chunk"), (2, "system/message"),
         (2, "tool/ptc-dispatch")],
    )  # fmt: skip
    def test_unknown_required_kinds_are_refused(self, version: int, kind: str) -> None:
        with pytest.raises(UnsupportedFormat, match=f"line 4 .'{kind}'.*not ignorable"):
            upgraded(version, *OPEN, e(kind, {"turn": 1, "step": 1}))

    def test_an_ignorable_event_may_not_become_a_known_one(self) -> None:
        with pytest.raises(UnsupportedFormat, match=r"line 4 .*may not become"):
            upgraded(2, *OPEN, e("system/message", {}, ignorable=True))

    def test_only_old_events_are_renumbered(self) -> None:
        with pytest.raises(UnsupportedFormat, match="formats 0 to 2"):
            list(upgrade_events(header(3), []))
