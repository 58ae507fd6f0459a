import gzip
import json

import pytest
import zstandard

from imported import written
from slicetape.errors import TranscriptError
from slicetape.formats.detect import MODULES, detect, open_sessions

HEADS = {
    "claude-code": [
        b'{"type":"summary","summary":"s","leafUuid":"u"}\n',
        b'{"type":"file-history-snapshot","messageId":"m","snapshot":{}}\n',
        b'{"parentUuid":null,"isSidechain":false,"type":"user","message":{"content":"hi"}}\n',
        b'\xef\xbb\xbf\r\n{"type":"user","sessionId":"s","message":{"content":"hi"}}\r\n',
        b'not json\n{"type":"user","sessionId":"s"}\n'[9:],
    ],
    "codex-rollout": [b'{"timestamp":"t","type":"session_meta","payload":{"id":"i"}}\n'],
    "copilot-cli": [b'{"type":"session.start","data":{"sessionId":"s"},"id":"i"}\n'],
    "opencode": [
        b'{"info":{"id":"ses_1"},"messages":[{"info":{"role":"user"},"parts":[]}]}',
        b'{"info":{"id":"s","slug":"x","projectID":"p"},"mess',
    ],
    "gemini-cli": [b'{"sessionId":"s","projectHash":"h","messages":[{"id":"1","type":"user"'],
    "pi": [b'{"type":"session","id":"i","timestamp":"t","cwd":"/w"}\n'],
    "dsh-session": [b'{"type":"session","version":3,"id":"i","createdAt":1,"isSeeded":false}\n'],
    "swe-agent": [b'{"environment":"m","trajectory":[{"action":"ls","observation":""}]'],
    "mini-swe-agent": [b'{"info":{"mini_version":"1"},"messages":[{"role":"system"'],
    "openhands": [b'{"instance_id":"i","history":[{"id":0,"action":"message"'],
    "openai-chat": [
        b'{"messages":[{"role":"system","content":"s"}]}',
        b'[{"role":"user","content":"hi"}]',
    ],
    "anthropic-messages": [b'[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"'],
    "inspect": [b'{"version":2,"status":"success","eval":{"task":"t"}'],
    "aider-md": [b"\n# aider chat started at 2024-05-20 16:09:50\n\n#### hi\n"],
}


@pytest.mark.parametrize(
    ("format", "head"), [(format, head) for format, heads in HEADS.items() for head in heads]
)
def test_a_format_shows_in_the_content(format, head):
    assert detect(head, "renamed") == format


def test_every_format_has_a_reader():
    assert set(HEADS) == set(MODULES)


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        (b"", "is empty"),
        (b" \r\n\n", "is empty"),
        (b"\0" * 4096, "is binary or damaged: it has NUL bytes"),
        (b'{"a":\0\0\0', "is damaged: it has NUL bytes"),
        (b"\x7fELF\x02\x01\x01\x00", "is binary or damaged"),
        (b"PK\x03\x04rest", "is a zip archive; unpack it"),
        (b"Dear diary,\n", "is no transcript of a known format"),
        (b'{"a": 1}', "is JSON, but no transcript of a known format"),
        (b'{"type":"user"}\n{"type":5}\n[]\n', "is JSON, but no transcript"),
        (b"[" * 100_000, "is JSON, but no transcript"),
        (b"]}" * 10, "is no transcript"),
    ],
)
def test_content_of_no_format_is_refused_in_one_message(head, problem):
    with pytest.raises(TranscriptError) as caught:
        detect(head, "x.bin")
    said = str(caught.value)
    assert said.startswith(f"'x.bin' {problem}")
    assert "Looked for aider-md, " in said
    assert said.endswith("name the right one with --format.")
    assert said.count("\n") == 1


def test_a_document_is_recognised_by_a_key_behind_a_long_value(tmp_path):
    long = {"info": {"submission": "x" * 100_000, "mini_version": "1"}, "messages": []}
    path = written(tmp_path, long, "long.json")
    with pytest.raises(TranscriptError):
        detect(path.read_bytes()[: 1 << 16], "long.json")
    assert [session.format for session in open_sessions(path)] == ["mini-swe-agent"]
    odd = written(tmp_path, {"info": {"submission": "x" * 100_000}}, "odd.json")
    with pytest.raises(TranscriptError, match="is JSON, but no transcript"):
        open_sessions(odd)


def test_a_named_format_is_not_guessed(tmp_path):
    path = written(tmp_path, b'{"type":"session","id":"i"}\n', "a.jsonl")
    (session,) = open_sessions(path, format="pi")
    assert (session.format, list(session.events)) == ("pi", [])
    with pytest.raises(TranscriptError, match="unknown format 'pie'; known formats: aider-md, "):
        open_sessions(path, format="pie")


@pytest.mark.parametrize("packing", ["", ".zst", ".zstd", ".gz"])
def test_packed_files_are_read_whatever_their_name(tmp_path, packing):
    data = b'{"type":"session","id":"i","timestamp":"2026-02-01T10:00:00Z"}\n' + (
        json.dumps({"type": "message", "message": {"role": "user", "content": "hi"}}).encode()
    )
    pack = {"": bytes, ".gz": gzip.compress}.get(packing, zstandard.compress)
    for name in (f"a.jsonl{packing}", "b"):
        path = written(tmp_path, pack(data), name)
        (session,) = open_sessions(path)
        assert (session.id, session.format) == (name[0], "pi")
        assert len(list(session.events)) == 3


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TranscriptError, match=r"'nope.jsonl' cannot be opened: No such file"):
        open_sessions(tmp_path / "nope.jsonl")
    with pytest.raises(TranscriptError, match="cannot be opened: Is a directory"):
        open_sessions(tmp_path)
