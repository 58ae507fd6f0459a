"""Format 2: prompts onto the surface, references, restarts."""

import hashlib
from typing import Any

import pytest

from log_rows import (
    OPEN,
    Event,
    answer,
    delta,
    e,
    header,
    human,
    kinds,
    numbered,
    step,
    turn,
    upgraded,
)
from slicetape.errors import DamagedLog, UnsupportedFormat
from slicetape.log.upgrade import UpgradeReport, upgrade_events


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
