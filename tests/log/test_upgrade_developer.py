"""Format 4 to 3 where nodes leave the surface, and export where a restart lost a turn end."""

from typing import Any

import pytest

from log_rows import Event, e, lowered, raised, said, user
from slicetape.errors import DamagedLog
from slicetape.log.upgrade import UpgradeReport


class TestDeveloperMessages:
    @staticmethod
    def developer(**more: Any) -> Event:
        message = {"id": "d", "role": "developer", "content": [], "source": {"kind": "x"}}
        data = {"turn": 1, "step": 1, "message": message}
        return e("developer/message", data, **({"surfaceOp": "append"} | more))

    @staticmethod
    def swap(start: int, end: int, *cited: int) -> Event:
        operation = {"op": "replace", "startSeq": start, "endSeq": end}
        return user({"kind": "user"}, sourceEventSeqs=list(cited)) | {"surfaceOp": operation}

    def test_they_leave_the_surface_and_make_the_log_view_only(self) -> None:
        report = UpgradeReport()
        made = lowered(user({"kind": "user"}), self.developer(), self.developer(), report=report)
        assert made[1]["type"] == "x/dsh4"
        assert "surfaceOp" not in made[1]
        assert made[1]["data"]["surfaceOp"] == "append"
        assert report.view_only
        assert report.view_only_from == 1
        assert raised(*made)[1] == {"seq": 1, "time": 1, **self.developer()}

    def test_a_log_without_them_may_go_on(self) -> None:
        report = UpgradeReport()
        lowered(user({"kind": "user"}), report=report)
        assert not report.view_only
        assert report.from_version == 4

    @pytest.mark.parametrize(
        ("start", "end", "wanted"),
        [(1, 3, (2, 2)), (0, 1, (0, 0)), (3, 4, (4, 4)), (0, 4, (0, 4)), (2, 2, (2, 2))],
    )
    def test_replacements_name_only_nodes_that_are_left(
        self, start: int, end: int, wanted: tuple[int, int]
    ) -> None:
        human = user({"kind": "user"})
        made = lowered(
            human,
            self.developer(),
            human,
            self.developer(),
            human,
            self.swap(start, end, 0, 1, 2, 3, 4),
        )
        operation = made[-1]["surfaceOp"]
        assert (operation["startSeq"], operation["endSeq"]) == wanted
        assert made[-1]["sourceEventSeqs"] == [0, 1, 2, 3, 4]

    def test_a_replacement_of_nothing_else_is_appended(self) -> None:
        made = lowered(self.developer(), self.swap(0, 0, 0), self.swap(1, 1, 1))
        assert made[1]["surfaceOp"] == "append"
        assert made[2]["surfaceOp"] == {"op": "replace", "startSeq": 1, "endSeq": 1}

    def test_a_replaced_developer_message_stays_hidden(self) -> None:
        human = user({"kind": "user"})
        operation = {"op": "replace", "startSeq": 1, "endSeq": 1}
        again = self.developer(surfaceOp=operation, sourceEventSeqs=[1])
        made = lowered(
            human, self.developer(), human, again, self.swap(3, 2, 2, 3), self.swap(0, 4, 0, 4)
        )
        assert made[3]["data"]["surfaceOp"] == operation
        assert made[4]["surfaceOp"] == {"op": "replace", "startSeq": 2, "endSeq": 2}
        assert made[5]["surfaceOp"] == {"op": "replace", "startSeq": 0, "endSeq": 4}

    @pytest.mark.parametrize(
        "operation",
        [None, {"op": "replace"}, {"startSeq": 7, "endSeq": 7}, {"startSeq": [], "endSeq": 0}],
    )
    def test_a_replacement_of_something_else_is_damage(self, operation: Any) -> None:
        with pytest.raises(DamagedLog, match=r"line 2 .*nodes of the surface"):
            lowered(e("user/message", said({"kind": "user"}), surfaceOp=operation))


class TestExportAfterARestart:
    def test_a_missing_turn_end_is_put_in_and_references_move(self) -> None:
        queued = {"target": "next-turn", "start": 0, "inserted": [said({"kind": "user"})]}
        made = raised(
            e("turn/start", {"turn": 1}),
            e("step/start", {"turn": 1, "step": 1}),
            user({"kind": "user"}),
            e("step/end", {"turn": 1, "step": 1}),
            e("agent/inbox/spliced", queued),
            e("turn/start", {"turn": 2}),
            user({"kind": "user"}),
            user({"kind": "user"}, sourceEventSeqs=[2, 6])
            | {"surfaceOp": {"op": "replace", "startSeq": 2, "endSeq": 6}},
        )
        assert made[5] == {
            "type": "turn/end",
            "seq": 5,
            "time": 5,
            "data": {"turn": 1, "reason": {"kind": "interrupted"}},
        }
        assert [event["seq"] for event in made] == list(range(9))
        assert made[8]["surfaceOp"] == {"op": "replace", "startSeq": 2, "endSeq": 7}
        assert made[8]["sourceEventSeqs"] == [2, 7]
