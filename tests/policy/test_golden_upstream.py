"""Entries that the original authors recorded, in a log rebuilt with their sequence numbers."""

import json
from typing import Any

import pytest

from data import shared
from sealing_cases import messages_of, session_of
from slicetape.log.events import Replace
from slicetape.log.messages import text_of
from slicetape.loop.prestep import Prestep
from slicetape.policy.settings import HistorySettings

FIXTURE = json.loads(shared("golden/seal/upstream-fixture.json").read_text())
ENTRIES = {
    event["seq"]: event
    for event in FIXTURE["events"]
    if event["data"].get("source", {}).get("plugin") == "slice:history"
}
SNAPSHOTS = [
    event["data"]
    for event in FIXTURE["events"]
    if event["data"].get("source", {}).get("plugin") == "@deepseek-ai/dsh-system-prompt"
]


@pytest.mark.parametrize("seq", ENTRIES)
def test_the_recorded_entry_is_what_sealing_appends_there(seq: int) -> None:
    session = session_of(FIXTURE["events"][:seq])
    prestep = Prestep(session, HistorySettings(seal_only_if_shorter=False))
    # Every step of that recording was about to append a newer runtime snapshot.
    (entry,) = prestep.before_step(1, time=0, pending=messages_of(SNAPSHOTS[:1])).entries
    golden = ENTRIES[seq]
    assert entry.seq == seq
    assert entry.sources == tuple(golden["sourceEventSeqs"])
    op = golden["surfaceOp"]
    assert entry.surface_op == Replace(op["startSeq"], op["endSeq"])
    assert text_of(entry.data.content) == golden["data"]["content"][0]["text"]


def test_every_recorded_entry_is_compared() -> None:
    recorded: list[dict[str, Any]] = [row for row in FIXTURE["expected"] if "op" in row]
    assert sorted(ENTRIES) == [22, 40, 81]
    for row in recorded:
        assert ENTRIES[row["seq"]]["data"]["content"][0]["text"] == row["text"]
