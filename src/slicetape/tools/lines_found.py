"""Search without ripgrep: a program of its own, so that a slow expression can be stopped.

Reads the pattern and the files from standard input as JSON and prints one JSON object a match.
"""

import json
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 64 * 1_024 * 1_024


def found(pattern: str, files: list[str]) -> Iterator[dict[str, object]]:
    """Every matching line of the files, in their order; files that are no text are passed over."""
    expression = understood(pattern)
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


def understood(pattern: str) -> re.Pattern[str]:
    """The expression. ValueError, or what `re` raises, for what ripgrep has no notation for."""
    escapes = re.findall(r"\\.", pattern, re.DOTALL)
    plain = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "x", pattern, flags=re.DOTALL)
    if re.search(r"\{(?!\d+(?:,\d*)?\})", plain):
        raise ValueError("a { that opens no count; write \\{ for the letter")
    refers = any(escape[1] in "123456789" for escape in escapes)
    if refers or "\n" in pattern or re.search(r"\(\?(?:[=!>(]|<[=!]|P=)|[*+?}]\+", plain):
        raise ValueError("no line feeds, look-around, back-references and possessive repeats")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # sets within sets, which mean another thing here
        return re.compile(pattern)


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
    except (ValueError, re.error, OverflowError, RecursionError, Warning) as error:
        sys.stderr.write(str(error) or type(error).__name__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
