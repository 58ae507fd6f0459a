"""The outline of a JSON document whose beginning alone is known: the keys near its top."""

import re

# Possessive, and a string that is cut still is a token: no character is looked at twice.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"(\s*+:)?+|\\?\Z)|[{}\[\]]', re.DOTALL)
_DEPTH = 5
_MAX_PATHS = 2000


def outline(head: bytes) -> frozenset[str]:
    """The paths of keys down to five levels: `info`, `info.id`, `messages[].role`.

    `[]` stands for any element of a list; a top-level list gives paths like `[].role`. Reads
    what is there of a cut document.
    """
    paths: set[str] = set()
    levels: list[str] = []
    key = ""
    for token in _TOKEN.finditer(head):
        first = token[0][:1]
        if first == b'"':
            if token[1] is not None and len(levels) <= _DEPTH:
                name = token[0][: -len(token[1])][1:-1].decode("utf-8", "replace")
                prefix = levels[-1] if levels else ""
                key = f"{prefix}.{name}" if prefix else name
                paths.add(key)
                if len(paths) > _MAX_PATHS:
                    break
        elif first in b"{[":
            inside = key or (levels[-1] if levels else "")
            if len(levels) > _DEPTH:  # names grow with depth: no deeper ones are made
                levels.append("")
                continue
            levels.append(f"{inside}[]" if first == b"[" else inside)
            key = ""
        else:
            if levels:
                levels.pop()
            key = ""
    return frozenset(paths)
