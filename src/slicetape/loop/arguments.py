"""Arguments of a call against the schema of its tool: every violation, one phrase each.

Schemas are of the subset that tools may use: `type`, `oneOf`, `properties`, `required`,
`additionalProperties` (true or false), `items`, `enum`, `const`; annotations are passed over.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MOST_PHRASES = 20
_LONGEST = 80

Schema = Mapping[str, Any]


def parse(raw: str) -> Mapping[str, Any] | str:
    """The arguments of a call, none for an empty text; `raw` itself when it is no JSON object."""
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return raw
    return value if isinstance(value, dict) else raw


def violations(schema: Schema, arguments: Mapping[str, Any] | str) -> list[str]:
    """What is wrong with `arguments`, at most twenty phrases; none when they fit."""
    found: list[str] = []
    for phrase in _wrong(schema, "arguments", arguments):
        found.append(phrase)
        if len(found) == MOST_PHRASES:
            break
    return found


def _wrong(schema: Schema, name: str, value: object) -> Iterator[str]:
    choices = schema.get("oneOf")
    if choices is not None and sum(not any(_wrong(one, name, value)) for one in choices) != 1:
        yield f"{_shown(name)} must be one of the kinds that the tool takes"
        return
    kind = schema.get("type")
    if kind is not None and not _is(kind, value):
        article = "an" if str(kind)[:1] in "aio" else "a"
        yield f"{_shown(name)} must be {article} {kind}"
        return
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        yield f"{_shown(name)} must be one of {json.dumps(schema['enum'], ensure_ascii=False)}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{_shown(name)} must be {json.dumps(schema['const'], ensure_ascii=False)}"
    if isinstance(value, Mapping):
        yield from _members(schema, name, value)
    if isinstance(value, list) and "items" in schema:
        for at, item in enumerate(value):
            yield from _wrong(schema["items"], f"{name}[{at}]", item)


def _members(schema: Schema, name: str, value: Mapping[str, object]) -> Iterator[str]:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    inside = "" if name == "arguments" else f"{name}."
    required: Sequence[str] = schema.get("required", ())
    for key in required:
        if key not in value:
            yield f"missing required property {_shown(inside + key)}"
    for key, item in value.items():
        if key in properties:
            yield from _wrong(properties[key], inside + key, item)
        elif schema.get("additionalProperties") is False:
            yield f"unknown property {_shown(inside + key)}"


def _is(kind: str, value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "object":
            return isinstance(value, Mapping)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return number
        case "integer":
            return number and (isinstance(value, int) or float(str(value)).is_integer())
        case "null":
            return value is None
        case _:
            return True


def _same(one: object, other: object) -> bool:
    """Equal as JSON: true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _shown(name: str) -> str:
    cut = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
    return json.dumps(cut, ensure_ascii=False)


def _refuse(constant: str) -> object:
    raise ValueError(constant)
