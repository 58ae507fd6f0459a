"""A file that was cut anywhere opens, and goes on without a gap or a copy."""

import json
import os
from pathlib import Path

import pytest

from data import GOLDEN
from logged import HEADER, human, one_turn, start, written
from slicetape.log.codec import foreign
from slicetape.log.frames import compress
from slicetape.log.log import SessionLog

HEAD = json.dumps({"type": "session", "version": 3, "id": "t", "createdAt": 1, "isSeeded": False, "delegationDepth": 0}).encode() + b"\n"  # fmt: skip


def lines_of(count: int, start: int = 0) -> list[bytes]:
    return [
        b'{"type":"x/n","seq":%d,"time":1,"data":{"n":%d},"ignorable":true}\n' % (n, n)
        for n in range(start, start + count)
    ]


REAL = GOLDEN / "sessions" / "basic.jsonl"


def real_log(folder: Path, *, compressed: bool) -> bytes:
    """The start of a real session, in frames of three lines when compressed."""
    source = SessionLog.read(REAL)
    path = folder / ("whole.jsonl.zstd" if compressed else "whole.jsonl")
    with SessionLog.create(path, source.header) as log:
        lines = list(source.lines())
        for at in range(0, len(lines), 3):
            log.extend_lines(lines[at : at + 3])
            if path.stat().st_size > 9000:
                break
    return path.read_bytes()


@pytest.mark.parametrize("name", ["cut.jsonl", "cut.jsonl.zstd"], ids=["plain", "zstd"])
def test_a_log_cut_at_every_byte_of_its_last_4_kb_opens(tmp_path: Path, name: str) -> None:
    data = real_log(tmp_path, compressed=name.endswith("zstd"))
    path = tmp_path / name
    path.write_bytes(data)
    whole = list(SessionLog.read(path).lines())
    last = len(whole)
    for size in range(len(data), len(data) - 4096, -1):
        os.truncate(path, size)
        log = SessionLog.read(path)
        assert log.damage is None
        assert list(log.lines()) == whole[: len(log.events)]
        assert last - 3 <= len(log.events) <= last, "a cut takes one batch at a time"
        last = len(log.events)
        assert path.stat().st_size == size, "a reader leaves the file alone"
    assert last < len(whole)


@pytest.mark.parametrize("name", ["cut.jsonl", "cut.jsonl.zstd"], ids=["plain", "zstd"])
def test_a_writer_goes_on_behind_every_cut(tmp_path: Path, name: str) -> None:
    data = real_log(tmp_path, compressed=name.endswith("zstd"))
    path = tmp_path / name
    for size in range(len(data) - 1500, len(data) + 1, 7):
        path.write_bytes(data[:size])
        with SessionLog.open(path) as log:
            before = list(log.lines())
            assert path.stat().st_size == size, "opening alone changes nothing"
            log.append(foreign("x/a", {}))
            log.append(foreign("x/b", {}))
            lines = list(log.lines())
        again = SessionLog.read(path)
        assert (again.torn, again.damage) == (0, None)
        assert list(again.lines()) == lines
        assert lines[:-2] == before


def test_a_torn_line_is_dropped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(HEAD + b"".join(lines_of(2)) + b'{"type":"x/n","se')
    log = SessionLog.read(path)
    assert (len(log.events), log.torn) == (2, 17)


def test_a_last_line_that_only_lacks_its_newline_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    whole = HEAD + b"".join(lines_of(2))
    path.write_bytes(whole[:-1])
    with SessionLog.open(path) as log:
        assert len(log.events) == 2
        log.append(foreign("x/n", {}))
        assert log.raw(2).startswith(b'{"type":"x/n","seq":2')
    assert path.read_bytes().startswith(whole)
    assert len(SessionLog.read(path).events) == 3


def test_nul_bytes_at_the_end_are_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(HEAD + b"".join(lines_of(2)) + b"\0" * 4096)
    with SessionLog.open(path) as log:
        assert (len(log.events), log.torn) == (2, 4096)
        log.append(foreign("x/n", {}))
    assert len(SessionLog.read(path).events) == 3
    assert b"\0" not in path.read_bytes()


def test_lines_may_go_across_frames_and_lack_the_last_newline(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zstd"
    text = b"".join(lines_of(3))[:-1]
    skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    frames = [
        compress(HEAD),
        skipped,
        compress(text[:30]),
        compress(text[30:100]),
        skipped,
        compress(text[100:]),
    ]
    path.write_bytes(b"".join(frames))
    assert list(SessionLog.read(path).lines()) == text.split(b"\n")
    with SessionLog.open(path) as log:
        log.append(foreign("x/n", {}))
        assert list(log.lines())[:3] == text.split(b"\n")
    again = SessionLog.read(path)
    assert (len(again.events), again.damage) == (4, None)


def test_a_line_with_a_carriage_return_is_given_back_with_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    whole = (HEAD + b"".join(lines_of(2))).replace(b"\n", b"\r\n")
    path.write_bytes(whole)
    log = SessionLog.read(path)
    assert log.raw(1).endswith(b"}\r")
    log.copy_to(tmp_path / "b.jsonl")
    assert (tmp_path / "b.jsonl").read_bytes() == whole


def test_opening_and_closing_a_torn_log_without_an_append_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"
    written(path)
    torn = path.read_bytes()[:-9]
    path.write_bytes(torn)
    SessionLog.open(path).close()
    assert path.read_bytes() == torn


def test_whole_turns_stay_whole_through_a_torn_append(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"
    with SessionLog.create(path, HEADER) as log:
        log.extend(one_turn(1))
        log.extend([start(2), human("cut here")])
    path.write_bytes(path.read_bytes()[:-20])
    with SessionLog.open(path) as log:
        log.extend([human("again")])
    kinds = [event.data for event in SessionLog.read(path).events]
    assert len(kinds) == 10
