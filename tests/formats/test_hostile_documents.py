"""A transcript that was tampered with is refused in words, or gives a session that holds."""

import copy
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import event_rules
from imported import written
from slicetape.errors import TranscriptError
from slicetape.formats.detect import open_sessions
from transcripts import WRITERS, Call, Said, Turn

TALK = (
    Turn("Go.", (Said("I look.", (Call("c1"), Call("c2", "pwd", "/w"))), Said("Done."))),
    Turn("More."),
)
ODD = (None, 0, -1, 1.5, 10**30, True, "", "x", "\ud800", "2025-13-01", [], {}, [None], {"a": 1})
JSON_FORMATS = sorted(set(WRITERS) - {"aider-md", "dsh-session"})

Place = tuple[str | int, ...]


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Where the values of a JSON document stand."""
    yield at
    items = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else items:
        yield from places(inner, (*at, key))


def changed(document: Any, place: Place, value: Any) -> Any:
    """The document with another value at a place."""
    if not place:
        return value
    document = copy.deepcopy(document)
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return document


@pytest.mark.parametrize("format", JSON_FORMATS)
@given(data=st.data())
def test_any_value_anywhere_is_refused_or_read(format, data):
    name, body = WRITERS[format](TALK)
    rows = [json.loads(line) for line in body.splitlines()]
    row = data.draw(st.integers(0, len(rows) - 1), label="row")
    place = data.draw(st.sampled_from(list(places(rows[row]))), label="place")
    rows[row] = changed(rows[row], place, data.draw(st.sampled_from(ODD), label="value"))
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), lines, name)
        _refused_or_read(path, format)


@pytest.mark.parametrize("format", sorted(WRITERS))
@given(data=st.data())
def test_a_transcript_cut_anywhere_is_refused_or_read(format, data):
    name, body = WRITERS[format](TALK)
    end = data.draw(st.integers(0, len(body)))
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), body[:end], name)
        _refused_or_read(path, format)


def _refused_or_read(path: Path, format: str) -> None:
    refusal, found = "one", []
    try:
        found = [list(session.events) for session in open_sessions(path, format=format)]
    except TranscriptError as error:
        refusal = str(error)
    assert 0 < len(refusal) <= 2000
    assert refusal.count("\n") <= 1
    for events in found:
        if format != "dsh-session" and events:
            event_rules.hold(events)
