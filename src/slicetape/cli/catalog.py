"""The catalog of the sessions at home, brought up to date before it is asked.

A session is read again when the size or the time of its file has changed. The catalog is derived:
where its file cannot be kept, one is made for this command alone.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slicetape.cli.output import progress, warn
from slicetape.errors import LogError, StorageFailed
from slicetape.log.catalog import Catalog
from slicetape.log.catalogrows import SessionRow
from slicetape.log.older import read_any
from slicetape.log.store import Store, StoredSession
from slicetape.recall.index import Index
from slicetape.recall.sessions import document_rows, session_row
from slicetape.surface import View

FILE = "index.sqlite"
_MOST_WARNINGS = 5


@dataclass(frozen=True, slots=True)
class _Stat:
    size: int
    mtime: int


@contextmanager
def catalog_at_home() -> Iterator[Catalog]:
    """The catalog, in step with the sessions of the store."""
    store = Store()
    found = list(store.sessions())
    with _kept_or_passing(store, found) as catalog:
        _refresh(catalog, found)
        yield catalog


@contextmanager
def _kept_or_passing(store: Store, found: list[StoredSession]) -> Iterator[Catalog]:
    if not found and not (store.home / FILE).exists():
        with _passing() as catalog:
            yield catalog
        return
    try:
        catalog = Catalog(_writable(store.home) / FILE)
    except StorageFailed as error:
        warn(f"{error}; every session is read anew for this command")
        with _passing() as catalog:
            yield catalog
        return
    try:
        yield catalog
    finally:
        catalog.close()


def _writable(home: Path) -> Path:
    if not os.access(home, os.W_OK):
        raise StorageFailed(f"{home}: cannot be written")
    return home


@contextmanager
def _passing() -> Iterator[Catalog]:
    with tempfile.TemporaryDirectory(prefix="slicetape-") as folder:
        catalog = Catalog(Path(folder) / FILE)
        try:
            yield catalog
        finally:
            catalog.close()


def _refresh(catalog: Catalog, found: list[StoredSession]) -> None:
    stats = {str(session.log): stat for session in found if (stat := _stat(session.log))}
    for row in catalog.sessions():
        if row.path not in stats:
            catalog.forget(row.id)
    stale = set(catalog.stale((path, stat.size, stat.mtime) for path, stat in stats.items()))
    changed = [session for session in found if str(session.log) in stale or session.problem]
    problems = []
    size = sum(stats[str(one.log)].size for one in changed if str(one.log) in stats)
    with progress("reading", len(changed), size=size) as bar:
        for session in changed:
            bar.step(session.id)
            try:
                row, index = _read(session, stats)
            except LogError as error:
                problems.append(str(error))
            else:
                catalog.put(row, document_rows(index))
    for problem in problems[:_MOST_WARNINGS]:
        warn(problem)
    if len(problems) > _MOST_WARNINGS:
        warn(f"{len(problems) - _MOST_WARNINGS} more sessions cannot be read")


def _read(session: StoredSession, stats: Mapping[str, _Stat]) -> tuple[SessionRow, Index]:
    if session.problem:
        raise LogError(session.problem)
    log = read_any(session.log, to_damage=True)
    index = Index.of(View.of(log.events))
    row = session_row(index, log.header, path=str(session.log))
    stat = stats[str(session.log)]
    return msgspec.structs.replace(row, id=session.id, size=stat.size, mtime=stat.mtime), index


def _stat(path: Path) -> _Stat | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return _Stat(found.st_size, found.st_mtime_ns)
