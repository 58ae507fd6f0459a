"""Logs that a real host wrote are read whole and handed on byte for byte."""

import json
from pathlib import Path

import pytest

from data import GOLDEN, shared
from slicetape.log.codec import decode_event, encode_event
from slicetape.log.events import UserMessage
from slicetape.log.log import SessionLog


def logs_of_format_3(folder: Path) -> list[Path]:
    return [
        path
        for path in sorted(folder.glob("*.jsonl"))
        if "requests" not in path.name and b'"version":3' in path.read_bytes()[:200]
    ]


def conform(path: Path, folder: Path) -> int:
    """Read a log, compare each line, write both forms; how many events it has."""
    data = path.read_bytes()
    lines = data.splitlines()
    log = SessionLog.read(path)
    assert (log.damage, log.torn) == (None, 0)
    assert [log.header_line, *log.lines()] == lines
    for event, line in zip(log.events, lines[1:], strict=True):
        assert decode_event(encode_event(event)) == event
        written = json.loads(encode_event(event))
        said = json.loads(line)
        if isinstance(event, UserMessage):  # sources hold more than is read; the line keeps it
            for value in (written, said):
                value["data"].pop("source")
        assert written == said
    log.copy_to(folder / "copy.jsonl")
    assert (folder / "copy.jsonl").read_bytes() == data
    log.copy_to(folder / "framed.jsonl.zstd")
    framed = SessionLog.read(folder / "framed.jsonl.zstd")
    assert list(framed.events) == list(log.events)
    framed.copy_to(folder / "back.jsonl")
    assert (folder / "back.jsonl").read_bytes() == data
    return len(log.events)


def test_the_logs_of_this_package_conform(tmp_path: Path) -> None:
    paths = [*logs_of_format_3(GOLDEN / "dsh-logs"), *logs_of_format_3(GOLDEN / "sessions")]
    counts = [conform(path, tmp_path / path.stem) for path in paths]
    assert len(counts) >= 4


@pytest.mark.parametrize("folder", ["dsh-logs", "golden/sessions"])
def test_every_real_log_conforms(tmp_path: Path, folder: str) -> None:
    paths = logs_of_format_3(shared(folder))
    counts = [conform(path, tmp_path / path.stem) for path in paths]
    assert len(counts) >= 6
    assert sum(counts) > 400


def test_the_frames_that_a_host_wrote_hold_the_same_events(tmp_path: Path) -> None:
    path = shared("dsh-logs/v3-prune-compact.session.v3.jsonl.zstd")
    framed = SessionLog.read(path)
    plain = SessionLog.read(shared("dsh-logs/v3-prune-compact.jsonl"))
    assert list(framed.events) == list(plain.events)
    framed.copy_to(tmp_path / "copy.jsonl.zstd")
    assert (tmp_path / "copy.jsonl.zstd").read_bytes() == path.read_bytes()
