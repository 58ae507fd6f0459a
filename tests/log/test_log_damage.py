"""What cannot be read is said exactly; nothing committed is dropped silently."""

from pathlib import Path

import pytest

from logged import HEADER, human, one_turn, start, step_start, written
from slicetape.errors import DamagedLog, UnsupportedFormat
from slicetape.log.codec import foreign
from slicetape.log.frames import compress
from slicetape.log.log import SessionLog


def damaged(path: Path, number: int, line: bytes, *, keep: int | None = None) -> list[bytes]:
    """Write a log of three turns whose line `number` (from 1) is `line`; its first lines."""
    lines = written(path)
    lines[number - 1] = line
    path.write_bytes(b"\n".join(lines[:keep]) + b"\n")
    return lines


BAD_LINES = pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"garbage", "not JSON"),
        (b"\0" * 40, "40 NUL bytes where an event is due"),
        (b"", "not JSON"),
        (b'{"type":"turn/end","seq":9,"time":1,"data":{"turn":"one"}}', r"\$\.data\.turn"),
        (b'{"type":"x/n","seq":8,"time":1,"data":{},"ignorable":true}', "seq 8 a second time"),
        (
            b'{"type":"x/n","seq":11,"time":1,"data":{},"ignorable":true}',
            "seq 11 where 9 is due: 2",
        ),
        (b'{"type":"x/n","time":1,"data":{},"seq":-1,"ignorable":true}', "without a seq"),
    ],
)


@BAD_LINES
def test_a_damaged_middle_is_named_with_what_lies_behind_it(
    tmp_path: Path, line: bytes, says: str
) -> None:
    path = tmp_path / "session.v3.jsonl"
    lines = damaged(path, 11, line)
    before = path.read_bytes()
    for way in (SessionLog.read, SessionLog.open):
        with pytest.raises(DamagedLog, match=says) as caught:
            way(path)
        text = str(caught.value)
        at = sum(len(line) + 1 for line in lines[:10])
        assert f"line 11 (byte {at})" in text
        turns = 3 if b"turn/end" in line else 2
        assert f"14 more lines, 14 of them events (up to seq 23, {turns} ends of turns)" in text
        assert "events 0 to 8 can still be read" in text
        assert len(text.splitlines()) == 2
    assert path.read_bytes() == before


def test_a_damaged_log_can_be_read_up_to_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"
    lines = damaged(path, 11, b"garbage")
    log = SessionLog.read(path, to_damage=True)
    assert [log.header_line, *log.lines()] == lines[:10]
    assert log.damage is not None
    damage = log.damage
    assert (damage.line, damage.lines_behind, damage.turns_behind, damage.last_seq) == (
        11,
        14,
        2,
        23,
    )


def test_a_damage_that_no_finished_turn_follows_is_cut_off_but_kept(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"
    with SessionLog.create(path, HEADER) as log:
        log.extend(one_turn(1))
        log.extend([start(2), human("lost"), step_start(2, 1)])
    lines = path.read_bytes().split(b"\n")
    lines[10] = b"garbage"
    path.write_bytes(b"\n".join(lines))
    read = SessionLog.read(path)
    assert len(read.events) == 9
    assert "behind it: 1 more line, 1 of them events (up to seq 10" in str(read.damage)
    with SessionLog.open(path) as log:
        log.append(human("again"))
    again = SessionLog.read(path)
    assert (len(again.events), again.damage) == (10, None)
    kept = list(tmp_path.glob("session.v3.jsonl.cut-*"))
    assert [file.read_bytes() for file in kept] == [b"\n".join(lines[10:])]
    path.write_bytes(b"\n".join([*lines[:10], b"other"]) + b"\n")
    with SessionLog.open(path) as log:
        log.append(human("again"))
    assert len(list(tmp_path.glob("session.v3.jsonl.cut-*"))) == 2


def test_a_damaged_last_line_is_told(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"
    damaged(path, 25, b"garbage")
    log = SessionLog.read(path)
    assert str(log.damage).endswith("nothing is behind it")


def test_a_finished_turn_that_does_not_fit_is_not_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"
    damaged(path, 25, b'{"type":"turn/end","seq":2,"time":1,"data":{}}')
    with pytest.raises(DamagedLog, match=r"that does not fit"):
        SessionLog.open(path)


def test_an_unknown_kind_is_not_a_damage(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"
    damaged(path, 5, b'{"type":"later/kind","seq":3,"time":1,"data":{}}')
    with pytest.raises(UnsupportedFormat, match=r"jsonl, line 5: .*'later/kind'"):
        SessionLog.read(path)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "the file is empty"),
        (b"\0" * 5000, "filled with NUL bytes"),
        (b"\0" * 50 + b"\n", "filled with NUL bytes"),
        (bytes(range(256)) * 20, "not a session log"),
        (b"hello\nworld\n", "not a session log"),
        (b'{"type":"session","version":3,"id', "not a session log"),
        (b'{"type":"session","version":3}\n', "not a session log"),
        (b"\x28\xb5\x2f\xfdxx", "not a session log"),
    ],
)
def test_what_is_no_log_is_refused_in_one_line(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    for way in (SessionLog.read, SessionLog.open):
        with pytest.raises(DamagedLog, match=says) as caught:
            way(path)
        assert str(caught.value).startswith(str(path))
        assert len(str(caught.value)) < 400
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    "data", [b"", b"hello\nworld", b"\0" * 100, compress(b"hello\n"), b"\x28\xb5\x2f\xfd"]
)
def test_what_is_no_compressed_log_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.jsonl.zstd"
    path.write_bytes(data)
    with pytest.raises(DamagedLog, match=r"a\.jsonl\.zstd"):
        SessionLog.read(path)


@pytest.mark.parametrize("version", [0, 1, 2, 4, 5])
def test_another_format_is_refused_before_any_event_is_read(tmp_path: Path, version: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"type":"session","version":%d}\ngarbage\n' % version)
    with pytest.raises(UnsupportedFormat, match=rf"a\.jsonl: the log has format {version}"):
        SessionLog.read(path)


# --- the compressed form


def framed(path: Path) -> list[int]:
    """Write a compressed log of three turns, one frame each; where its frames start."""
    with SessionLog.create(path, HEADER) as log:
        for turn in (1, 2, 3):
            log.extend(one_turn(turn))
    data = path.read_bytes()
    return [at for at in range(len(data)) if data[at : at + 4] == b"\x28\xb5\x2f\xfd"]


def test_a_damaged_frame_is_named(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl.zstd"
    starts = framed(path)
    data = bytearray(path.read_bytes())
    data[starts[2] + 40] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DamagedLog, match=rf"cannot be decompressed .* at byte {starts[2]}"):
        SessionLog.open(path)
    log = SessionLog.read(path, to_damage=True)
    assert len(log.events) == 8
    assert log.damage is not None
    assert (log.damage.lines_behind, log.damage.turns_behind) == (8, 1)


def test_a_damaged_last_frame_is_damage_and_no_torn_end(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl.zstd"
    framed(path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DamagedLog, match="cannot be decompressed"):
        SessionLog.open(path)


def test_bytes_behind_the_frames_are_cut_off_but_kept(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl.zstd"
    framed(path)
    whole = path.read_bytes()
    path.write_bytes(whole + b"no frame at all")
    with SessionLog.open(path) as log:
        assert "no zstd frame" in str(log.damage)
        log.append(foreign("x/a", {}))
    assert [f.read_bytes() for f in tmp_path.glob("*.cut-*")] == [b"no frame at all"]
    assert path.read_bytes().startswith(whole)
    assert len(SessionLog.read(path).events) == 25


def test_a_damaged_line_within_a_frame_is_cut_out(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl.zstd"
    with SessionLog.create(path, HEADER) as log:
        log.extend(one_turn(1))
    good = b'{"type":"x/n","seq":8,"time":1,"data":{},"ignorable":true}\n'
    with path.open("ab") as file:
        file.write(compress(good + b"garbage\n" + good))
    with SessionLog.open(path) as log:
        assert len(log.events) == 9
        log.append(foreign("x/a", {}))
        assert log.raw(8) == good[:-1]
    again = SessionLog.read(path)
    assert (len(again.events), again.damage) == (10, None)
