"""A child starts with its parent's lines and goes on by itself."""

from pathlib import Path

import msgspec
import pytest

from logged import HEADER, answered, human, one_turn, start
from slicetape.errors import InvalidEvent
from slicetape.log.events import EndSeed
from slicetape.log.fork import child_header, fork, inherited_cut
from slicetape.log.log import SessionLog
from slicetape.log.rules import Rules

CHILD = child_header(HEADER, id="child", created_at=5)


def parent_of(turns: int) -> SessionLog:
    log = SessionLog.in_memory(HEADER)
    for turn in range(1, turns + 1):
        log.extend(one_turn(turn))
    return log


def test_a_fork_has_the_lines_of_its_parent_and_a_mark(tmp_path: Path) -> None:
    parent = parent_of(2)
    with SessionLog.create(tmp_path / "c" / "session.v3.jsonl", CHILD) as child:
        fork(parent, child, time=9, end=8)
        Rules.over(child.events)
        child.extend(one_turn(2, "another way"))
    read = SessionLog.read(tmp_path / "c" / "session.v3.jsonl")
    assert list(read.lines(0, 8)) == list(parent.lines(0, 8))
    assert isinstance(read.events[8], EndSeed)
    assert read.events[8].data.inherited is True
    assert (inherited_cut(read), inherited_cut(parent)) == (8, 0)
    assert read.header.parent_session == "logged"
    assert (read.header.is_seeded, read.header.cwd, read.header.created_at) == (True, "/proj", 5)
    assert len(parent.events) == 16


@pytest.mark.parametrize("end", [None, 0, 8, 16])
def test_a_fork_may_be_made_between_turns(end: int | None) -> None:
    child = SessionLog.in_memory(CHILD)
    fork(parent_of(2), child, time=9, end=end)
    assert len(child.events) == (16 if end is None else end) + 1


@pytest.mark.parametrize(
    ("end", "says"),
    [
        (3, "turn 1 is open there; fork before event 0"),
        (15, "turn 2 is open there; fork before event 8"),
        (-1, "the parent has 16 events"),
        (17, "the parent has 16 events"),
    ],
)
def test_a_fork_within_a_turn_is_refused(end: int, says: str) -> None:
    child = SessionLog.in_memory(CHILD)
    with pytest.raises(InvalidEvent, match=says):
        fork(parent_of(2), child, time=9, end=end)
    assert len(child.events) == 0


def test_the_child_is_new_and_names_its_parent() -> None:
    parent = parent_of(1)
    with pytest.raises(InvalidEvent, match="names the parent"):
        fork(parent, SessionLog.in_memory(HEADER), time=9)
    child = SessionLog.in_memory(CHILD)
    child.append(start(1))
    with pytest.raises(InvalidEvent, match="is empty"):
        fork(parent, child, time=9)


def test_spilled_texts_go_with_a_fork(tmp_path: Path) -> None:
    with SessionLog.create(tmp_path / "p" / "session.v3.jsonl", HEADER) as parent:
        rows = [parent.blobs.put("long text", block=1, part=1)]
        gone = msgspec.structs.replace(rows[0], part=2, sha256="0" * 64)
        meta = msgspec.Raw(msgspec.json.encode({"spill": [*rows, gone]}))
        events = one_turn(1)
        result = answered(1, 1, "c1", "a view")
        data = msgspec.structs.replace(result.data, meta=meta)
        events[5] = msgspec.structs.replace(result, data=data)
        parent.extend([*events, human("x")])
        with SessionLog.create(tmp_path / "c" / "session.v3.jsonl", CHILD) as child:
            fork(parent, child, time=9)
    assert child.blobs.get(rows[0].sha256) == "long text"
    assert child.blobs.folder != parent.blobs.folder
    assert not child.blobs.has("0" * 64)
