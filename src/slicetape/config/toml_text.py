"""TOML text to a tree. Lines are those of simple `key = value` and `[table]` lines."""

import re
import tomllib
from typing import Any

from slicetape.config.tree import MAX_DEPTH, Entry, Items, Source, Table, Unreadable, shown

_KEY = re.compile(r"[A-Za-z0-9_.\"' -]+")
_MAX_DOTS = 1000  # the parser's work grows with the square of a dotted key

Lines = dict[tuple[str, ...], int | None]


def parse_toml(text: str, source: Source) -> Entry:
    """The root table of `text`. Raises ConfigError with file and line."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > _MAX_DOTS:
            raise source.error("nested too deeply", line=number)
    try:
        return _entry(tomllib.loads(text), _lines(text), ())
    except RecursionError:
        raise source.error("nested too deeply") from None
    except ValueError as wrong:  # TOMLDecodeError, or a number of too many digits
        where, problem = _position(str(wrong))
        raise source.error(f"not valid TOML: {shown(problem)}", line=where) from None


def _position(text: str) -> tuple[int | None, str]:
    found = re.search(r" \(at line (\d+), column \d+\)$", text)
    if found is None:
        return None, text
    return int(found[1]), text[: found.start()]


def _entry(value: Any, lines: Lines, path: tuple[str, ...]) -> Entry:
    if len(path) > MAX_DEPTH:
        raise RecursionError
    line = lines.get(path)
    match value:
        case dict():
            entries = {name: _entry(item, lines, (*path, name)) for name, item in value.items()}
            return Entry(Table(entries), line)
        case list():
            return Entry(Items([_entry(item, lines, (*path, "[]")) for item in value]), line)
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
        path: tuple[str, ...] | None
        line = line.strip()
        if line.startswith("[["):
            path = table = None
        elif line.startswith("["):
            path = table = _parts(line[1:].partition("]")[0])
        else:
            key, equals, _ = line.partition("=")
            simple = equals and _KEY.fullmatch(key)
            path = (*table, *_parts(key)) if simple and table is not None else None
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
