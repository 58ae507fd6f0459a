import gzip
import json

import pytest
import zstandard

from imported import written
from slicetape.errors import TranscriptError
from slicetape.formats.decoding import Damaged, decoder
from slicetape.formats.detect import open_sessions
from slicetape.formats.source import Transcript, stem

DATA = b"".join(json.dumps({"n": n, "pad": "x" * n}).encode() + b"\n" for n in range(2000))


def damaged(packed):
    return packed[:3000] + bytes([packed[3000] ^ 1]) + packed[3001:]


def frames(data, size):
    pack = zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress
    return b"".join(pack(data[at : at + size]) for at in range(0, len(data), size))


@pytest.mark.parametrize(
    "packed",
    [DATA, zstandard.compress(DATA), gzip.compress(DATA), frames(DATA, 70_001)],
    ids=["plain", "zstd", "gzip", "framed"],
)
def test_lines_are_those_of_the_unpacked_file(tmp_path, packed):
    transcript = Transcript(written(tmp_path, packed, "t.jsonl"))
    assert b"".join(transcript.lines()) == DATA
    assert list(transcript.lines()) == DATA.splitlines(keepends=True)
    assert transcript.head(10) == DATA[:10]


@pytest.mark.parametrize(
    "cut",
    [
        zstandard.compress(DATA)[:-9],
        gzip.compress(DATA)[:-20],
        damaged(frames(DATA, 70_001)),
        frames(DATA, 70_001) + b"garbage behind the last frame",
    ],
    ids=["cut zstd", "cut gzip", "damaged zstd", "garbage"],
)
def test_a_cut_or_damaged_packing_is_never_silent(tmp_path, cut):
    transcript = Transcript(written(tmp_path, cut, "t.jsonl"))
    read = []
    with pytest.raises(Damaged, match="the compressed file is cut or damaged here"):
        read.extend(transcript.lines())
    with pytest.raises(TranscriptError, match=r"'t.jsonl' cannot be unpacked"):
        transcript.document(decoder(object))
    whole = transcript.head(1 << 30)
    assert whole
    assert DATA.startswith(whole)


def test_a_packing_without_one_readable_byte_is_refused(tmp_path):
    transcript = Transcript(written(tmp_path, gzip.compress(DATA)[:20], "t.jsonl"))
    with pytest.raises(TranscriptError, match="cannot be unpacked"):
        transcript.head(10)


def test_a_cut_packed_transcript_is_imported_as_far_as_it_goes(tmp_path):
    lines = [b'{"type":"session","id":"i","timestamp":"2026-02-01T10:00:00Z"}\n']
    for n in range(3000):
        said = {"role": "user", "content": f"message {n * 7919 % 3001}"}
        lines.append(json.dumps({"type": "message", "message": said}).encode() + b"\n")
    path = written(tmp_path, gzip.compress(b"".join(lines))[:-4000], "t.jsonl.gz")
    (session,) = open_sessions(path)
    events = list(session.events)
    assert 1000 < len(events) < 9000
    (note,) = session.notes
    assert "the compressed file is cut or damaged here" in note


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("cc-01.jsonl.zst", "cc-01"),
        ("mini-01.traj.json.zst", "mini-01"),
        ("swea-01.traj", "swea-01"),
        ("a.md.GZ", "a"),
        ("session.v3.jsonl.zstd", "session.v3"),
        (".aider.chat.history.md", "aider.chat.history"),
        ("plain", "plain"),
        (".zst", "zst"),
    ],
)
def test_a_session_is_named_after_its_file(name, id):
    assert stem(name) == id
