"""The row `slice-agent-loop` of a host profile or patch file, and the settings it gives."""

from pathlib import Path

from slicetape.config.files import read_documents
from slicetape.config.keys import ROW, TOP_LEVEL
from slicetape.config.load import Loaded, finish
from slicetape.config.resolve import Resolved, resolve
from slicetape.config.tree import Entry, Source, Table, tables

# Words that a host may give a meaning of its own beside `config`.
_HOST_WORDS = {"mode", "log", "window"}


def load_profile(path: Path | str) -> Loaded:
    """The settings of the row with id or name `slice-agent-loop`. Raises ConfigError.

    Rows are looked for at any depth, in every document. Several rows that carry a `config` are
    a conflict. Other rows are not judged.
    """
    done, advice = read_profile(path)
    return finish(done, Path(path), extra_advice=advice)


def read_profile(path: Path | str) -> tuple[Resolved, tuple[str, ...]]:
    """What `load_profile` does, with every problem listed; and advice on the row itself."""
    documents, source = read_documents(Path(path))
    rows = [table for table in tables(documents) if _is_row(table)]
    if not rows:
        raise source.error(f"no row with id or name {ROW}; add it, or name the right file")
    carrying = [row for row in rows if "config" in row.entries]
    if len(carrying) > 1:
        lines = [_line(row) for row in carrying]
        where = f" (lines {', '.join(map(str, lines))})" if None not in lines else ""
        raise source.error(f"{len(carrying)} rows {ROW} carry a config{where}; keep one")
    row = (carrying or rows)[0]
    config = row.entries.get("config", Entry(Table()))
    return resolve(config, source), _misplaced(row, source)


def _is_row(table: Table) -> bool:
    return any(
        key in table.entries and _short(table.entries[key].value) == ROW for key in ("id", "name")
    )


def _short(name: object) -> object:
    """A row may be named by its package: `@scope/dsh-slice-agent-loop`."""
    if isinstance(name, str) and name.startswith("@"):
        return name.rpartition("/")[2].removeprefix("dsh-")
    return name


def _line(row: Table) -> int | None:
    return next(iter(row.entries.values())).line


def _misplaced(row: Table, source: Source) -> tuple[str, ...]:
    return tuple(
        f"{source.at(row.entries[key], key)}: {key} stands beside config and is not read; "
        "move it under config."
        for key in TOP_LEVEL
        if key in row.entries and key not in _HOST_WORDS
    )
