"""Search without ripgrep: a program of its own, so that a slow expression can be stopped.

Reads the pattern and the files from standard input as JSON and prints one JSON object a match.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 64 * 1_024 * 1_024


def found(pattern: str, files: list[str]) -> Iterator[dict[str, object]]:
    """Every matching line of the files, in their order; files that are no text are passed over."""
    expression = re.compile(pattern)
    for name in files:
        try:
            path = Path(name)
            if path.stat().st_size > MOST_BYTES:
                continue
            data = path.read_bytes()
        except OSError:
            continue
        if b"\0" in data:
            continue
        lines = data.decode("utf-8", "replace").split("\n")
        if not lines[-1]:
            lines.pop()  # behind the last line end there is no line
        for number, line in enumerate(lines, 1):
            line = line.removesuffix("\r")
            if _matches(expression, line):
                yield {"path": name, "line": number, "text": line}


def _matches(expression: re.Pattern[str], line: str) -> bool:
    """Whether a line matches, as ripgrep says with line ends of both kinds.

    There a carriage return is part of no match. As a newline it is not matched by a dot either.
    """
    if "\r" not in line:
        return expression.search(line) is not None
    whole = line.replace("\r", "\n")
    if whole.endswith("\n"):
        whole += "\n"  # else `$` stands ahead of a newline at the end
    return any("\n" not in match[0] for match in expression.finditer(whole))


def main() -> int:
    """Search what standard input asks for; 2 for a pattern that is none."""
    asked = json.load(sys.stdin)
    try:
        for row in found(asked["pattern"], asked["files"]):
            sys.stdout.write(json.dumps(row, ensure_ascii=True) + "\n")
    except re.error as error:
        sys.stderr.write(str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
