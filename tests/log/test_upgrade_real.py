"""Logs that DeepSeek Harness wrote, and what its own migrations and requests say of them.

Long because it holds its own small projections: the code under test must not judge itself.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from data import shared
from slicetape.log.codec import decode_event, decode_header
from slicetape.log.log import SessionLog
from slicetape.log.upgrade import UpgradeReport, export_v4, seq_now, upgrade, upgrade_events
from slicetape.surface import Session

LOGS = "dsh-logs"
V3_LOGS = [
    "dsh-logs/appendix.jsonl",
    "dsh-logs/v0-to-v3.jsonl",
    "dsh-logs/v3-codemode.jsonl",
    "dsh-logs/v3-prune-compact.jsonl",
    "dsh-logs/v3-resumed.jsonl",
    "dsh-logs/v3-tools.jsonl",
    "wire/dsh-0.1.5-rc.1/session.v3.jsonl",
    "wire/dsh-0.1.5-rc.1/session_minimal.v3.jsonl",
]
V4_LOGS = [
    "dsh-logs/appendix4.jsonl",
    "dsh-logs/v3-to-v4.jsonl",
    "dsh-logs/v4-crash.jsonl",
    "dsh-logs/v4-prune-compact.jsonl",
    "dsh-logs/v4-tools.jsonl",
    "wire/dsh-0.2.1-rc.2/session.v4.jsonl",
    "wire/dsh-0.2.1-rc.2/session_minimal.v4.jsonl",
]


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def values(lines: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def expanded(packed: list[Any]) -> list[int]:
    pairs = [entry if isinstance(entry, list) else [entry, entry] for entry in packed]
    return [seq for first, last in pairs for seq in range(first, last + 1)]


def surface(events: list[dict[str, Any]]) -> list[int]:
    """The nodes after `events`, by the plain definition."""
    nodes: list[int] = []
    for event in events:
        match event.get("surfaceOp"):
            case "append":
                nodes.append(event["seq"])
            case {"startSeq": start, "endSeq": end}:
                i, j = nodes.index(start), nodes.index(end)
                assert set(nodes[i : j + 1]) <= set(expanded(event["sourceEventSeqs"]))
                nodes[i : j + 1] = [event["seq"]]
    return nodes


def text_of(blocks: list[dict[str, Any]], kind: str = "text") -> str:
    return "".join(block["text"] for block in blocks if block["type"] == kind)


def chat_message(event: dict[str, Any]) -> dict[str, Any] | None:
    """One message of the chat-completions wire, keys in the order sent."""
    message = event["data"].get("message", event["data"])
    content, role = message["content"], message["role"]
    if role == "system":
        return {"role": "system", "content": text_of(content)} if content else None
    if event["type"] == "tool/result":
        [block] = content
        text = text_of(block["content"]) or "(no output)"
        return {"role": "tool", "tool_call_id": block["toolCallId"], "content": text}
    if role == "user":
        return {"role": "user", "content": text_of(content)}
    out: dict[str, Any] = {"role": "assistant", "content": text_of(content)}
    if any(block["type"] == "reasoning" for block in content):
        out["reasoning_content"] = text_of(content, "reasoning")
    calls = [
        {
            "id": block["id"],
            "type": "function",
            "function": {"name": block["name"], "arguments": block["arguments"]},
        }
        for block in content
        if block["type"] == "tool-call"
    ]
    if calls:
        out["tool_calls"] = calls
    return out


def told(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Texts, calls and results in the order a model reads them, without wire detail."""
    out: list[tuple[Any, ...]] = []
    for seq in surface(events):
        event = events[seq]
        message = event["data"].get("message", event["data"])
        for block in message["content"]:
            if message["role"] == "system":
                continue
            match block["type"]:
                case "text" | "reasoning":
                    out.append((block["type"], block["text"]))
                case "tool-call":
                    out.append(("call", block["id"], block["name"], json.loads(block["arguments"])))
                case "tool-result":
                    result = text_of(block["content"]), block.get("isError", False)
                    out.append(("result", block["toolCallId"], *result))
    return out


def sent(body: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The same of a request on the Messages wire."""
    out: list[tuple[Any, ...]] = []
    for message in body["messages"]:
        for block in message["content"]:
            match block["type"]:
                case "text":
                    out.append(("text", block["text"]))
                case "thinking":
                    out.append(("reasoning", block["thinking"]))
                case "tool_use":
                    out.append(("call", block["id"], block["name"], block["input"]))
                case "tool_result":
                    result = text_of(block["content"]), block.get("is_error", False)
                    out.append(("result", block["tool_use_id"], *result))
    return out


def test_format_0_becomes_what_the_original_chain_makes_of_it() -> None:
    made = values(list(upgrade(lines_of(shared(f"{LOGS}/v0-tools.jsonl")))))
    wanted = values(lines_of(shared(f"{LOGS}/v0-to-v3.jsonl")))
    assert made[:-1] == wanted
    assert made[-1]["type"] == "x/import"


def test_a_framed_format_0_file_gives_the_same_log() -> None:
    raw = shared(f"{LOGS}/v0-tools.session.jsonl.zstd").read_bytes()
    reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
    framed = list(upgrade(reader.read().splitlines()))
    assert framed == list(upgrade(lines_of(shared(f"{LOGS}/v0-tools.jsonl"))))


def test_an_upgraded_format_0_log_derives_all_fourteen_requests() -> None:
    events = values(list(upgrade(lines_of(shared(f"{LOGS}/v0-tools.jsonl")))))[1:]
    requests = values(lines_of(shared(f"{LOGS}/v0-tools.requests.jsonl")))
    derived = []
    for seq, event in enumerate(events):
        if event["type"] == "assistant/message":
            chat = [chat_message(events[node]) for node in surface(events[:seq])]
            derived.append([message for message in chat if message is not None])
    assert len(derived) == len(requests) == 14
    for mine, request in zip(derived, requests, strict=True):
        assert json.dumps(mine) == json.dumps(request["body"]["messages"])


def test_the_seq_map_explains_every_old_number() -> None:
    old = values(lines_of(shared(f"{LOGS}/v0-tools.jsonl")))[1:]
    report = UpgradeReport()
    new = values(list(upgrade(lines_of(shared(f"{LOGS}/v0-tools.jsonl")), report=report)))[1:]
    note = new[-1]
    assert note["ignorable"] is True
    assert note["data"]["fromVersion"] == report.from_version == 0
    seq_map = note["data"]["seqMap"]
    explained = 0
    for event in old:
        if "seq" not in event or event["type"] == "assistant/chunk":
            gone = event.get("seq", event.get("seq0"))
            assert seq_now(seq_map, gone) is report.seqs.get(gone) is None
            continue
        now = seq_now(seq_map, event["seq"])
        assert now is not None
        assert now == report.seqs.get(event["seq"])
        assert new[now]["type"] == event["type"]
        assert new[now]["time"] == event["time"]
        explained += 1
    assert explained == 107
    assert seq_now(seq_map, -1) is seq_now(seq_map, 439) is None


def test_the_note_carries_the_fingerprint_it_was_given() -> None:
    lines = lines_of(shared(f"{LOGS}/v0-tools.jsonl"))
    *_, given = values(list(upgrade(lines, sha256="ab" * 32)))
    *_, own = values(list(upgrade(lines)))
    assert given["data"]["sha256"] == "ab" * 32
    assert own["data"]["sha256"] != given["data"]["sha256"]
    assert len(own["data"]["sha256"]) == 64


def test_format_3_is_exported_as_the_original_migration_does_byte_for_byte() -> None:
    made = list(export_v4(lines_of(shared(f"{LOGS}/v3-codemode.jsonl"))))
    assert made == lines_of(shared(f"{LOGS}/v3-to-v4.jsonl"))


def test_the_worked_log_is_exported_as_the_original_migration_does() -> None:
    made = values(list(export_v4(lines_of(shared(f"{LOGS}/appendix.jsonl")))))
    assert made == values(lines_of(shared(f"{LOGS}/appendix4.jsonl")))


@pytest.mark.parametrize("name", V3_LOGS)
def test_format_3_passes_byte_for_byte(name: str) -> None:
    lines = lines_of(shared(name))
    assert list(upgrade(lines)) == lines


@pytest.mark.parametrize("name", V3_LOGS)
def test_a_log_that_went_to_format_4_and_back_has_equal_values(name: str) -> None:
    lines = lines_of(shared(name))
    report = UpgradeReport()
    assert values(list(upgrade(export_v4(lines), report=report))) == values(lines)
    assert not report.view_only


def test_golden_sessions_survive_format_4() -> None:
    names = sorted(shared("golden/sessions").glob("*.jsonl"))
    assert names
    for name in names:
        lines = lines_of(name)
        assert values(list(upgrade(export_v4(lines)))) == values(lines), name.name


@pytest.mark.parametrize("name", V4_LOGS)
def test_a_format_4_log_that_went_to_format_3_and_back_has_equal_values(name: str) -> None:
    lines = lines_of(shared(name))
    assert values(list(export_v4(upgrade(lines)))) == values(lines)


@pytest.mark.parametrize("name", V4_LOGS)
def test_format_4_keeps_its_seqs_and_knows_only_format_3_kinds(name: str) -> None:
    old = values(lines_of(shared(name)))[1:]
    new = values(list(upgrade(lines_of(shared(name)))))
    assert new[0]["version"] == 3
    assert [event["seq"] for event in new[1:]] == [event["seq"] for event in old]
    kinds = {event["type"] for event in new[1:]}
    assert not any(kind.startswith(("plugin:", "job/", "developer/")) for kind in kinds)
    held = [event for event in new[1:] if event["type"] == "x/dsh4"]
    assert all(event["ignorable"] is True for event in held)
    assert [event["data"]["type"] for event in held] == [
        event["type"] for event in old if event["type"].startswith("job/")
    ]


@pytest.mark.parametrize(
    ("name", "settled", "requests"),
    [("v4-tools", "assistant/attempt", 18), ("v4-prune-compact", "assistant/message", 24)],
)
def test_an_upgraded_format_4_log_says_what_was_sent(
    name: str, settled: str, requests: int
) -> None:
    events = values(list(upgrade(lines_of(shared(f"{LOGS}/{name}.jsonl")))))[1:]
    bodies = values(lines_of(shared(f"{LOGS}/{name}.requests.jsonl")))
    mine = [told(events[:seq]) for seq, event in enumerate(events) if event["type"] == settled]
    assert len(mine) == requests
    assert mine == [sent(request["body"]) for request in bodies]


def test_an_upgraded_log_of_a_killed_process_says_what_was_sent_after_the_crash() -> None:
    events = values(list(upgrade(lines_of(shared(f"{LOGS}/v4-crash.jsonl")))))[1:]
    bodies = values(lines_of(shared(f"{LOGS}/v4-crash.requests.jsonl")))
    recorded = [sent(request["body"]) for request in bodies]
    mine = [
        told(events[:seq])
        for seq, event in enumerate(events)
        if event["type"] == "assistant/message"
    ]
    assert len(mine) == 9
    assert [request for request in recorded if request in mine] == mine


@pytest.mark.parametrize("name", ["dsh-logs/v0-tools.jsonl", *V4_LOGS])
def test_upgraded_logs_keep_every_rule_of_log_and_surface(name: str) -> None:
    first, *rest = upgrade(lines_of(shared(name)))
    session = Session(SessionLog.in_memory(decode_header(first)), strict=False)
    for line in rest:
        session.append(decode_event(line))
    assert len(session.log.events) == len(rest)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("dsh-01", 2098, 83), ("dsh-02", 1814, 32), ("dsh-03", 74, 46), ("dsh-04", 31, 23)],
)
def test_template_logs_upgrade_once_their_events_are_numbered(
    name: str, old: int, new: int
) -> None:
    raw = zstandard.ZstdDecompressor().stream_reader(
        shared(f"transcripts/dsh-session/{name}.jsonl.zst").read_bytes()
    )
    header, *events = values(raw.read().splitlines())
    seq = 0
    for line, event in enumerate(events):
        packed = event["type"].endswith("-chunks")
        event |= {("seq0" if packed else "seq"): seq, ("time0" if packed else "time"): line}
        texts = event["data"].get("args" if event["type"].startswith("tool") else "texts")
        if packed:
            event["data"].setdefault("dt", [0] * (len(texts) - 1))
        seq += len(texts) if packed else 1
    assert seq == old
    report = UpgradeReport()
    made = list(upgrade_events(header, events, report))
    assert [event["seq"] for event in made] == list(range(new))
    nodes = surface(made)
    assert made[nodes[0]]["type"] == "system/message"
    assert made[nodes[0]]["data"]["message"]["content"]
