"""Arguments against schemas: what is refused, and in which words."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from slicetape.loop.arguments import MOST_PHRASES, parse, violations

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "number"},
        "count": {"type": "integer"},
        "deep": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        "kinds": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
        "all": {"type": "boolean"},
        "fixed": {"const": 1},
        "either": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    },
    "required": ["path"],
}
CASES: dict[str, tuple[Any, list[str]]] = {
    "what fits": ({"path": "a", "limit": 1.5, "count": 2.0, "kinds": ["x"], "either": 3}, []),
    "an unknown key where more are allowed": ({"path": "a", "more": 1}, []),
    "a missing key": ({}, ['missing required property "path"']),
    "a wrong type": ({"path": 1}, ['"path" must be a string']),
    "true for a number": ({"path": "a", "limit": True}, ['"limit" must be a number']),
    "a fraction for an integer": ({"path": "a", "count": 1.5}, ['"count" must be an integer']),
    "a key inside": ({"path": "a", "deep": {}}, ['missing required property "deep.a"']),
    "an item": ({"path": "a", "kinds": ["x", "z"]}, ['"kinds[1]" must be one of ["x", "y"]']),
    "true for 1": ({"path": "a", "fixed": True}, ['"fixed" must be 1']),
    "neither kind": (
        {"path": "a", "either": []},
        ['"either" must be one of the kinds that the tool takes'],
    ),
    "several": (
        {"limit": "x", "all": 1},
        [
            'missing required property "path"',
            '"limit" must be a number',
            '"all" must be a boolean',
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_violation_is_named(case: str) -> None:
    arguments, phrases = CASES[case]
    assert violations(SCHEMA, arguments) == phrases


def test_an_unknown_key_is_refused_where_the_schema_is_closed() -> None:
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    assert violations(closed, {"x": 1}) == ['unknown property "x"']


@pytest.mark.parametrize("raw", ['{"a": ', "[1]", "7", "null", '"x"', '{"a": NaN}', "[" * 99_999])
def test_what_is_no_object_is_passed_on_and_refused(raw: str) -> None:
    assert violations(SCHEMA, parse(raw)) == ['"arguments" must be an object']


@pytest.mark.parametrize("raw", ["", "  ", "{}"])
def test_nothing_is_an_empty_object(raw: str) -> None:
    assert parse(raw) == {}


def test_hostile_keys_are_bounded() -> None:
    closed = {"type": "object", "additionalProperties": False}
    found = violations(closed, {f"{'k' * 10_000}{n}": n for n in range(100)})
    assert len(found) == MOST_PHRASES
    assert max(map(len, found)) < 130


@given(st.text())
def test_any_text_is_taken(raw: str) -> None:
    violations(SCHEMA, parse(raw))


def test_the_words_are_those_of_the_recorded_host() -> None:
    log = shared("dsh-logs/v3-tools.jsonl").read_text()
    rows = [json.loads(line) for line in log.splitlines()]
    said = [json.dumps(row) for row in rows if row["type"] == "tool/result"]
    write = {
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["file_path", "content"],
    }
    text = f"Error: invalid arguments: {'; '.join(violations(write, {'bad': 1}))}"
    assert any(json.dumps(text)[1:-1] in line for line in said)
