"""A log of any format is read as format 3."""

from pathlib import Path

import pytest

from data import shared
from logged import written
from slicetape.errors import DamagedLog, SessionNotFound, StorageFailed, UnsupportedFormat
from slicetape.log.frames import compress
from slicetape.log.log import SessionLog
from slicetape.log.older import file_version, read_any


def test_a_log_of_format_3_is_read_from_its_file(tmp_path: Path) -> None:
    written(tmp_path / "a.jsonl")
    log = read_any(tmp_path / "a.jsonl")
    assert log.path == tmp_path / "a.jsonl"
    assert not log.writable


@pytest.mark.parametrize("name", ["v0-tools.jsonl", "v0-tools.session.jsonl.zstd"])
def test_a_log_of_format_0_reads_as_its_migration(name: str) -> None:
    log = read_any(shared(f"dsh-logs/{name}"))
    expected = SessionLog.read(shared("dsh-logs/v0-to-v3.jsonl"))
    assert file_version(shared(f"dsh-logs/{name}")) == 0
    assert log.path is None
    assert [e.seq for e in log.events] == list(range(len(log.events)))
    assert list(log.events[: len(expected.events)]) == list(expected.events)


@pytest.mark.parametrize(
    "name", ["v4-tools.jsonl", "v4-prune-compact.session.v4.jsonl.zstd", "appendix4.jsonl"]
)
def test_a_log_of_format_4_keeps_its_seqs(name: str) -> None:
    log = read_any(shared(f"dsh-logs/{name}"))
    assert log.header.version == 3
    assert [event.seq for event in log.events] == list(range(len(log.events)))


def test_a_torn_end_of_an_older_log_is_dropped(tmp_path: Path) -> None:
    data = shared("dsh-logs/v0-tools.jsonl").read_bytes()
    path = tmp_path / "a.jsonl"
    path.write_bytes(data[:-10])
    short = read_any(path)
    path.write_bytes(data)
    assert len(read_any(path).events) >= len(short.events) > 0


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"\0\0\n", "NUL"),
        (b"junk\n", "not a session log"),
        (b'{"type":"session","version":4}\n', "id"),
        (
            b'{"type":"session","version":0,"id":"a","createdAt":1,"delegationDepth":0}\nx\n',
            "line 2",
        ),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    with pytest.raises(DamagedLog, match=rf"a\.jsonl: .*{says}"):
        read_any(path)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"type":"session","version":9,"id":"a","createdAt":1}\n')
    with pytest.raises(UnsupportedFormat, match="newer"):
        read_any(path)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SessionNotFound):
        read_any(tmp_path / "gone.jsonl")
    with pytest.raises(StorageFailed):
        read_any(tmp_path)
    (tmp_path / "a.jsonl.zstd").write_bytes(b"plain")
    with pytest.raises(DamagedLog, match="not zstd frames"):
        read_any(tmp_path / "a.jsonl.zstd")
    header = compress(b'{"type":"session","version":0,"id":"a","createdAt":1}\n')
    (tmp_path / "a.jsonl.zstd").write_bytes(header + b"junk!")
    with pytest.raises(DamagedLog, match="no zstd frame"):
        read_any(tmp_path / "a.jsonl.zstd")
