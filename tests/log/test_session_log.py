"""A log takes whole events, gives them back as they were, and tells when it cannot."""

import os
import stat
import threading
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logged import HEADER, answered, human, one_turn, start, written
from slicetape.errors import InvalidEvent, SessionLocked, SessionNotFound, StorageFailed
from slicetape.log.codec import encode_event, foreign
from slicetape.log.events import Event, Replace, RequestHeader
from slicetape.log.log import SessionLog
from slicetape.log.payloads import HeaderConfig, RequestEnvelope, RequestHeaderData
from slicetape.log.rules import Rules

NAMES = pytest.mark.parametrize(
    "name", ["session.v3.jsonl", "session.v3.jsonl.zstd"], ids=["plain", "zstd"]
)


def log_in(folder: Path, name: str = "session.v3.jsonl") -> SessionLog:
    return SessionLog.create(folder / "s" / name, HEADER)


@NAMES
def test_what_was_appended_is_read_again(tmp_path: Path, name: str) -> None:
    with log_in(tmp_path, name) as log:
        recorded = [log.append(event) for event in one_turn(1, "é \ud800 \u2028")]
        log.extend(one_turn(2))
    assert log.path is not None
    read = SessionLog.read(log.path)
    assert list(read.events[:8]) == recorded
    assert list(read.events) == list(log.events)
    assert [event.seq for event in read.events] == list(range(16))
    assert list(read.lines()) == list(log.lines()) == [encode_event(e) for e in read.events]
    assert read.raw(5) == encode_event(recorded[5])
    assert read.header == HEADER
    with SessionLog.open(log.path) as again:
        again.append(start(3))
        assert again.raw(16) == encode_event(again.events[16])
        assert again.raw(0) == read.raw(0)
    assert len(SessionLog.read(log.path).events) == 17


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=20), max_size=6))
def test_any_texts_are_read_again(texts: list[str]) -> None:
    log = SessionLog.in_memory(HEADER)
    recorded = [log.append(human(text)) for text in texts]
    again = SessionLog.of_lines([log.header_line, *log.lines()])
    assert list(again.events) == recorded == list(log.events)


@NAMES
def test_nothing_is_on_the_disk_before_the_first_event(tmp_path: Path, name: str) -> None:
    log = log_in(tmp_path, name)
    assert list(tmp_path.iterdir()) == []
    log.append(start(1))
    assert log.path is not None
    assert sorted(p.name for p in log.path.parent.iterdir()) == sorted([name, "session.lock"])
    log.close()


def test_a_sync_makes_the_file_of_a_log_without_events(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.sync()
    log.append(start(1))
    log.sync()
    log.close()
    assert log.path is not None
    assert len(SessionLog.read(log.path).events) == 1


def test_folders_and_files_are_private(tmp_path: Path) -> None:
    with log_in(tmp_path) as log:
        log.append(start(1))
    assert log.path is not None
    for path, mode in ((log.path.parent, 0o700), (log.path, 0o600)):
        assert stat.S_IMODE(path.stat().st_mode) == mode
    assert stat.S_IMODE((log.path.parent / "session.lock").stat().st_mode) == 0o600


def test_each_append_of_the_compressed_form_is_one_frame(tmp_path: Path) -> None:
    with log_in(tmp_path, "session.v3.jsonl.zstd") as log:
        log.append(start(1))
        log.extend([human("a"), human("b")])
    assert log.path is not None
    assert log.path.read_bytes().count(b"\x28\xb5\x2f\xfd") == 3


def test_a_log_is_never_made_over_another(tmp_path: Path) -> None:
    first, second = log_in(tmp_path), log_in(tmp_path)
    first.append(start(1))
    first.close()
    with pytest.raises(StorageFailed, match="never overwritten"):
        second.append(start(1))
    second.close()
    with pytest.raises(StorageFailed, match="never overwritten"):
        log_in(tmp_path)
    assert first.path is not None
    assert len(SessionLog.read(first.path).events) == 1


def test_a_log_that_is_not_there_is_named(tmp_path: Path) -> None:
    for way in (SessionLog.open, SessionLog.read):
        with pytest.raises(SessionNotFound, match=r"gone\.jsonl: no such log"):
            way(tmp_path / "gone.jsonl")
    with pytest.raises(StorageFailed, match="cannot be read"):
        SessionLog.read(tmp_path)


# --- one writer


def test_two_writers_of_one_program_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "session.v3.jsonl")
    with SessionLog.open(tmp_path / "session.v3.jsonl"):
        with pytest.raises(SessionLocked, match="already writes"):
            SessionLog.open(tmp_path / "session.v3.jsonl")
        assert SessionLog.read(tmp_path / "session.v3.jsonl").events
    SessionLog.open(tmp_path / "session.v3.jsonl").close()


def test_a_reader_cannot_append_and_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    written(path)
    before = path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir())
    log = SessionLog.read(path)
    with pytest.raises(StorageFailed, match="reading only"):
        log.append(start(4))
    log.sync()
    log.close()
    assert before == (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir()))


def test_a_closed_log_takes_no_events(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.append(start(1))
    log.close()
    with pytest.raises(StorageFailed):
        log.append(human("late"))
    assert len(log.events) == 1


def test_a_file_that_something_else_wrote_to_is_refused(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.append(start(1))
    assert log.path is not None
    with log.path.open("ab") as other:
        other.write(b"{}\n")
    size = log.path.stat().st_size
    with pytest.raises(StorageFailed, match="something else wrote"):
        log.append(human("x"))
    assert (log.path.stat().st_size, len(log.events)) == (size, 1)
    log.close()


def test_a_file_that_was_removed_is_noticed(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.append(start(1))
    assert log.path is not None
    log.path.unlink()
    with pytest.raises(StorageFailed, match="removed"):
        log.append(human("x"))
    log.close()


def test_a_forked_process_does_not_write_its_parents_log(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.append(start(1))
    pid = os.fork()
    if pid == 0:
        try:
            log.append(human("child"))
        except StorageFailed as error:
            os._exit(0 if "another process" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    log.append(human("parent"))
    log.close()


def test_threads_take_turns() -> None:
    log = SessionLog.in_memory(HEADER)
    threads = [
        threading.Thread(target=lambda: [log.append(human("x")) for _ in range(50)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [event.seq for event in log.events] == list(range(200))


# --- what may be appended


class Asking:
    """A guard that appends while it is told of an append."""

    def __init__(self, log: SessionLog) -> None:
        self.log = log
        self.refused = 0

    def check(self, event: Event) -> None:
        pass

    def copy(self) -> "Asking":
        return self

    def advance(self, event: Event) -> None:
        try:
            self.log.append(human("again"))
        except InvalidEvent:
            self.refused += 1


def test_an_append_within_an_append_is_refused() -> None:
    log = SessionLog.in_memory(HEADER)
    guard = Asking(log)
    log.attach(guard)
    log.append(human("once"))
    assert (guard.refused, len(log.events)) == (1, 1)
    log.append(human("twice"))
    assert len(log.events) == 2


def test_a_guard_is_asked_for_each_event_of_a_batch(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.attach(Rules.over(log.events))
    log.extend(one_turn(1))
    with pytest.raises(InvalidEvent, match="of turn 4 where 3 is due"):
        log.extend([*one_turn(2), start(4)])
    with pytest.raises(InvalidEvent, match="of turn 7 where 2 is due"):
        log.append(start(7))
    log.extend(one_turn(2))
    log.close()
    assert len(log.events) == 16
    assert log.path is not None
    assert len(SessionLog.read(log.path).events) == 16


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (human("x", object()), "cannot be written"),  # type: ignore[arg-type]
        (msgspec.structs.replace(human("x"), surface_op=None), "needs a surfaceOp"),
        (msgspec.structs.replace(start(1), surface_op="append"), "has no surfaceOp"),
        (msgspec.structs.replace(start(1), source_event_seqs=(5,)), "not before it"),
        (msgspec.structs.replace(foreign("x/a", {}), surface_op="append"), "on no surface"),
        (msgspec.structs.replace(foreign("x/a", {}), ignorable=None), "unknown"),
        (msgspec.structs.replace(foreign("x/a", {}), data=msgspec.Raw(b"{")), "not JSON"),
        (msgspec.structs.replace(human("x"), surface_op=Replace(0, 9)), "not before it"),
    ],
)
def test_a_refused_event_leaves_the_log_as_it_was(event: Event, says: str) -> None:
    log = SessionLog.in_memory(HEADER)
    log.append(human("first"))
    with pytest.raises(Exception, match=says):
        log.append(event)
    with pytest.raises(Exception, match=says):
        log.extend([human("ok"), event])
    assert len(log.events) == 1
    log.append(human("second"))


def test_a_number_that_would_be_lost_is_refused() -> None:
    config = HeaderConfig("p", "m", temperature=float("nan"))
    data = RequestHeaderData(RequestEnvelope(config), "initial")
    with pytest.raises(InvalidEvent, match="does not give back"):
        SessionLog.in_memory(HEADER).append(RequestHeader(data=data, time=1))


def test_a_list_is_recorded_as_the_tuple_that_is_read() -> None:
    log = SessionLog.in_memory(HEADER)
    event = answered(1, 1, "c")
    blocks = event.data.message.content
    message = msgspec.structs.replace(event.data.message, content=list(blocks))
    listed = msgspec.structs.replace(
        event, data=msgspec.structs.replace(event.data, message=message)
    )
    assert log.append(listed) == msgspec.structs.replace(event, seq=0)


# --- lines


def test_lines_of_another_log_are_taken_as_they_are() -> None:
    line = b'{ "seq":0, "type":"turn/start","time":1,"data":{"turn":1,"why":"more"}}'
    log = SessionLog.in_memory(HEADER)
    log.extend_lines([line])
    assert log.raw(0) == line
    assert encode_event(log.append(human("x"))) == log.raw(1)
    for wrong, says in ((line, "a second time"), (b"{}\n{}", "newline"), (b"{}", "not an event")):
        with pytest.raises(InvalidEvent, match=says):
            log.extend_lines([wrong])


@NAMES
def test_lines_given_to_a_file_are_read_as_they_are(tmp_path: Path, name: str) -> None:
    lines = [b'{"seq":%d, "type":"x/a","time":1,"data":{},"ignorable":true}' % n for n in range(9)]
    with log_in(tmp_path, name) as log:
        log.extend_lines(lines)
        assert list(log.lines(2, 5)) == lines[2:5]
    assert log.path is not None
    assert list(SessionLog.read(log.path).lines()) == lines


def test_a_log_of_lines_can_be_for_reading_only() -> None:
    log = SessionLog.of_lines(
        [
            b'{"type":"session","version":3,"id":"a","createdAt":1,"isSeeded":false,"delegationDepth":0,"new":1}'
        ],
        writable=False,
    )
    assert not log.writable
    assert b'"new":1' in log.header_line
    with pytest.raises(InvalidEvent):
        SessionLog.of_lines([])


@NAMES
@pytest.mark.parametrize("target", ["copy.jsonl", "copy.jsonl.zstd"])
def test_a_copy_has_the_same_lines_in_either_form(tmp_path: Path, name: str, target: str) -> None:
    lines = written(tmp_path / name, turns=40, text="z" * 5000)
    log = SessionLog.read(tmp_path / name)
    log.copy_to(tmp_path / "c" / target)
    copy = SessionLog.read(tmp_path / "c" / target)
    assert [copy.header_line, *copy.lines()] == lines
    if Path(name).suffix == Path(target).suffix:
        assert (tmp_path / "c" / target).read_bytes() == (tmp_path / name).read_bytes()
    with pytest.raises(StorageFailed, match="already there"):
        log.copy_to(tmp_path / "c" / target)
    SessionLog.of_lines(lines).copy_to(tmp_path / "m" / target)
    copied = SessionLog.read(tmp_path / "m" / target)
    assert [copied.header_line, *copied.lines()] == lines


def test_a_file_that_changed_under_a_reader_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    written(path)
    log = SessionLog.read(path)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(Exception, match="changed since it was read"):
        list(log.lines())
