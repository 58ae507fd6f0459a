"""Transcripts whose values have any type: valid events or one error, never anything else."""

import json
import random

import pytest
import zstandard

import event_rules
from imported import manifest, written
from slicetape.errors import TranscriptError
from slicetape.formats.detect import open_sessions

IDS = ("cc-14", "cdx-06", "cop-02", "oc-04", "gem-01", "pi-02", "dsh-03", "swea-02", "mini-03")
IDS += ("oh-02", "chat-01", "insp-01")
ODD = (None, 5, -1.5, "", "x", "\ud800", [], {}, ["a"], {"a": 1}, [None], True, -0.0)


def bent(value, chance):
    """The value with a part of what it holds replaced or left out."""
    if chance.random() < 0.01:
        return chance.choice(ODD)
    if isinstance(value, dict):
        kept = ((key, member) for key, member in value.items() if chance.random() > 0.003)
        return {key: bent(member, chance) for key, member in kept}
    return [bent(item, chance) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("id", IDS)
def test_odd_values_give_valid_events_or_one_error(id, tmp_path):
    chance = random.Random(id)
    path, row = manifest(id)
    data = unpacked(path)
    for _ in range(4):
        if ".jsonl" in row["file"]:
            rows = data.splitlines()[:60]
            odd = b"\n".join(json.dumps(bent(json.loads(row), chance)).encode() for row in rows)
        else:
            odd = json.dumps(bent(json.loads(data), chance)).encode()
        check(written(tmp_path, odd, "odd"), row["format"])
        check(written(tmp_path, data[: chance.randrange(len(data))], "cut"), row["format"])


def check(path, format):
    said = ""
    try:
        for session in open_sessions(path, format=format):
            events = list(session.events)
            if format != "dsh-session":
                event_rules.hold(events)
    except TranscriptError as error:
        said = str(error)
    assert said == "" or said.startswith(f"'{path.name}' ")
    assert len(said) < 2100


def unpacked(path):
    return zstandard.decompress(path.read_bytes())
