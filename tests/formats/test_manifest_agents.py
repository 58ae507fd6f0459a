"""The manifest's counts hold for the events of every shared session of the agent programs."""

import json

import pytest

import event_rules
from data import shared
from imported import accepted, expected, figures, manifest
from slicetape.formats.counts import count
from slicetape.formats.detect import detect, open_sessions
from slicetape.formats.source import Transcript
from slicetape.log.codec import decode_event, encode_event
from slicetape.log.rules import Rules
from slicetape.log.seqs import unpack

IDS = (
    *(f"cc-{n:02}" for n in range(1, 15)),
    *(f"cdx-{n:02}" for n in range(1, 7)),
    *("cop-01", "cop-02", "oc-01", "oc-02", "oc-03", "oc-04", "gem-01", "gem-02"),
    *("pi-01", "pi-02", "dsh-01", "dsh-02", "dsh-03", "dsh-04"),
)


@pytest.mark.parametrize("id", IDS)
def test_the_events_of_a_shared_session_hold_everything_and_keep_the_rules(id):
    path, row = manifest(id)
    (session,) = open_sessions(path)
    events = list(session.events)
    assert (session.id, session.header.id, session.format) == (id, id, row["format"])
    assert session.notes == []
    assert figures(count(events, session.format)) == expected(row)
    assert all(decode_event(encode_event(event)) == event for event in events)
    accepted(session.header, events)
    Rules.over(events)
    if session.format != "dsh-session":
        event_rules.hold(events)


def test_every_shared_transcript_is_recognised_by_its_content():
    rows = json.loads(shared("transcripts/manifest.json").read_bytes())["sessions"]
    for row in rows:
        transcript = Transcript(shared(f"transcripts/{row['file']}"))
        assert detect(transcript.head(1 << 23), "some name") == row["format"], row["id"]


@pytest.mark.parametrize("name", ["v0-tools", "v3-prune-compact", "v4-prune-compact"])
def test_framed_logs_of_every_version_are_recognised_and_read(name):
    ending = {"v0-tools": "", "v3-prune-compact": ".v3", "v4-prune-compact": ".v4"}[name]
    path = shared(f"dsh-logs/{name}.session{ending}.jsonl.zstd")
    (session,) = open_sessions(path)
    assert session.format == "dsh-session"
    assert session.id == session.header.id
    events = list(session.events)
    assert [event.seq for event in events] == list(range(len(events)))
    assert session.notes == []
    assert all(unpack(event.source_event_seqs or ()) == event.sources for event in events)
