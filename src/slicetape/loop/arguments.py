"""Arguments of a call against the tool's schema."""

import json
from collections.abc import Mapping
from typing import Any


def parse(raw: str) -> Mapping[str, Any] | str:
    """The arguments; `raw` itself when it is no JSON object."""
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    return value if isinstance(value, dict) else raw


def violations(schema: Mapping[str, Any], arguments: Mapping[str, Any] | str) -> list[str]:
    """What is wrong with `arguments`, one phrase each."""
    if isinstance(arguments, str):
        return ['"arguments" must be an object']
    return [f'missing "{name}"' for name in schema.get("required", ()) if name not in arguments]
