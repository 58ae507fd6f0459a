"""TOML text to a tree. Lines are those of simple `key = value` and `[table]` lines."""

import re
import tomllib
from typing import Any

from slicetape.config.tree import Entry, Items, Source, Table, Unreadable, shown

_HEADER = re.compile(r"\s*\[([^\[\]\n]*)\]")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\"' -]+?)\s*=")
_MAX_DOTS = 1000  # the parser's work grows with the square of a dotted key

Lines = dict[tuple[str, ...], int | None]


def parse_toml(text: str, source: Source) -> Entry:
    """The root table of `text`. Raises ConfigError with file and line."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > _MAX_DOTS:
            raise source.error("nested too deeply", line=number)
    try:
        root = tomllib.loads(text)
    except RecursionError:
        raise source.error("nested too deeply") from None
    except ValueError as wrong:  # TOMLDecodeError, or a number of too many digits
        where, problem = _position(str(wrong))
        raise source.error(f"not valid TOML: {shown(problem)}", line=where) from None
    return _entry(root, _lines(text), ())


def _position(text: str) -> tuple[int | None, str]:
    found = re.search(r" \(at line (\d+), column \d+\)$", text)
    if found is None:
        return None, text
    return int(found[1]), text[: found.start()]


def _entry(value: Any, lines: Lines, path: tuple[str, ...]) -> Entry:
    line = lines.get(path)
    match value:
        case dict():
            entries = {name: _entry(item, lines, (*path, name)) for name, item in value.items()}
            return Entry(Table(entries), line)
        case list():
            return Entry(Items([_entry(item, {}, ()) for item in value]), line)
        case bool() | int() | float() | str():
            return Entry(value, line)
    return Entry(Unreadable(str(value)), line)


def _lines(text: str) -> Lines:
    """Where each key path is set; None for a path that several lines could set."""
    lines: Lines = {}
    table: tuple[str, ...] | None = ()
    quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        opened = quote
        quote = _open_quote(line, quote)
        if opened:
            continue
        header = _HEADER.match(line)
        path: tuple[str, ...] | None
        if header:
            path = table = _parts(header[1])
        elif line.lstrip().startswith("[["):
            path = table = None
        else:
            key = _KEY.match(line)
            path = None if key is None or table is None else (*table, *_parts(key[1]))
        if path:
            lines[path] = None if path in lines else number
    return lines


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _open_quote(line: str, quote: str) -> str:
    """The multi-line string still open behind `line`, if any."""
    for mark in ('"""', "'''"):
        if quote in {"", mark} and line.count(mark) % 2:
            return "" if quote else mark
    return quote
