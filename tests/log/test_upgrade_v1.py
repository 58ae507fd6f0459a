"""Format 1: deltas into messages and attempts, and the inherited cut."""

from typing import Any

import pytest

from log_rows import (
    OPEN,
    Event,
    answer,
    delta,
    e,
    finish,
    first,
    header,
    human,
    kinds,
    step,
    turn,
    upgraded,
)
from slicetape.errors import DamagedLog, UnsupportedFormat
from slicetape.log.upgrade import header_3


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
