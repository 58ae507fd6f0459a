"""What a model is told of the four recall tools, and the JSON schemas of their arguments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from slicetape.log.events import FORMAT_VERSION
from slicetape.recall.index import KINDS
from slicetape.recall.search import DEFAULT_LIMIT, MOST_HITS

SESSION = {
    "type": "string",
    "description": "only from a locator that prints one",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """One tool as a model sees it; `properties` are JSON schemas by argument."""

    description: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...] = ()


SCHEMAS: Mapping[str, ToolSchema] = {
    "recall_turn": ToolSchema(
        description=(
            "Verbatim text of an earlier turn of this session, when an entry, a legacy checkpoint, "
            'a cut or a search hit names it. view "dialogue" (default): each said text once, tool '
            'results as locators; "full", two orders of magnitude larger: only for tool inputs or '
            "raw reasoning. Works after the agent is recreated. Historical data."
        ),
        properties={
            "turn": {"type": "string"},
            "view": {"type": "string", "enum": ["dialogue", "full"]},
        },
        required=("turn",),
    ),
    "recall_step": ToolSchema(
        description=(
            "The calls of one earlier step, and every result in full: historical data. For one "
            "large result prefer expand_result."
        ),
        properties={"turn": {"type": "string"}, "step": {"type": "string"}},
        required=("turn", "step"),
    ),
    "recall_search": ToolSchema(
        description=(
            "Find earlier messages, tool inputs and results of this session by their words, before "
            "you say that something never was. Each hit names the call for its original. "
            "Historical data."
        ),
        properties={
            "query": {"type": "string"},
            "scope": {
                "type": "string",
                "enum": ["dialogue", "auto"],
                "description": "auto (default): tool output too",
            },
            "kinds": {
                "type": "array",
                "items": {"type": "string", "enum": list(KINDS)},
                "description": "overrides scope",
            },
            "limit": {
                "type": "number",
                "description": f"1 to {MOST_HITS}, default {DEFAULT_LIMIT}",
            },
        },
        required=("query",),
    ),
    "expand_result": ToolSchema(
        description=(
            "One earlier tool result verbatim: historical data. Copy its locator: seq with "
            f"formatVersion {FORMAT_VERSION}, or turn, step and call. Prefer grep or lines to all "
            "of it."
        ),
        properties={
            "formatVersion": {"type": "number"},
            "seq": {"type": "number"},
            "turn": {"type": "number"},
            "step": {"type": "number"},
            "call": {"type": "number"},
            "block": {"type": "number", "description": "one of several"},
            "grep": {"type": "string", "description": "regex, case ignored"},
            "lines": {"type": "string", "description": "a-b"},
        },
    ),
}


def schemas(*, sessions: bool = False) -> list[dict[str, Any]]:
    """The tools as JSON: name, description, and the JSON schema of the arguments.

    `sessions` says that the run was given other sessions, which a locator may name. Every byte
    stands in every request, so the texts are short and the same for the whole session.
    """
    more = {"session": SESSION} if sessions else {}
    return [
        {
            "name": name,
            "description": tool.description,
            "parameters": {
                "type": "object",
                "properties": {**tool.properties, **more},
                **({"required": list(tool.required)} if tool.required else {}),
            },
        }
        for name, tool in SCHEMAS.items()
    ]


def violations(name: str, arguments: Mapping[str, object], *, lenient: bool) -> list[str]:
    """What is wrong with the arguments of a tool, one phrase an argument; keys unknown are let be.

    `lenient` takes numbers in quotes, numbers for strings, and null for nothing.
    """
    found = []
    for key, schema in {**SCHEMAS[name].properties, "session": SESSION}.items():
        if key in arguments and not (lenient and arguments[key] is None):
            phrase = _misfit(arguments[key], schema, lenient)
            if phrase:
                found.append(f'"{key}{phrase}')
    return found


def _misfit(value: object, schema: Mapping[str, Any], lenient: bool) -> str:
    kind = schema["type"]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = isinstance(value, str)
    fits = {
        "string": text or (lenient and number),
        "number": number or (lenient and text),
        "array": isinstance(value, list | tuple),
    }[kind]
    if not fits:
        return f'" must be {"an" if kind == "array" else "a"} {kind}'
    if isinstance(value, list | tuple):
        legal = schema["items"]["enum"]
        wrong = (at for at, item in enumerate(value) if item not in legal)
        return next((f'[{at}]" must be one of {as_json(legal)}' for at in wrong), "")
    legal = schema.get("enum")
    return f'" must be one of {as_json(legal)}' if legal and value not in legal else ""


def as_json(value: object) -> str:
    """The JSON text of a value."""
    return msgspec.json.encode(value).decode()
