"""Format 0: each retired shape on the smallest log that has it."""

from typing import Any

import pytest

from log_rows import OPEN, Event, e, header, human, kinds, step, turn, upgraded
from slicetape.errors import DamagedLog, UnsupportedFormat
from slicetape.log.upgrade import upgrade_events


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
