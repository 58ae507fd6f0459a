"""index.sqlite: what sessions exist and which texts they hold, for listing and for search.

The file is derived from the logs and never the record: it may be deleted at any time, and one
that is missing, damaged or of another schema is made anew, empty, and filled as sessions are
handed in. Rows come from `recall`; nothing here reads a log.

Ranking of a search: texts with all words of the query, then texts where words of three letters or
more may be the beginning of longer ones, then texts with some of the words; within each, BM25 as
FTS5 computes it (rare words and short texts weigh more), then the text handed in last. Case and
accents do not count. CJK text has no blanks: its runs are indexed by pairs of letters, so a word of
any length is found anywhere within a run, and a text that has some pairs of a long word has some of
the query.
"""

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from slicetape.errors import StorageFailed
from slicetape.log.catalogfile import inode_of, opened, raise_refusal, remade, transaction
from slicetape.log.catalogrows import CatalogHit, DocumentRow, Kind, SessionRow

CJK_RUN = re.compile(
    "[\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00016ff0-\U0001b2ff"
    "\U00020000-\U000323af]+"
)
"""Letters of Han, Hiragana, Katakana, Bopomofo or Hangul in a row."""

WORD = re.compile(r"\w+")
MOST_WORDS = 32
"""Words of a query that are looked for."""

MOST = 2**63 - 1
"""The largest integer of SQLite."""

T = TypeVar("T")


class Catalog:
    """The open index. Readers and writers of several processes may use one file at once.

    StorageFailed when the disk refuses, or another process holds the file for ten seconds; damage
    is repaired by starting anew, never reported.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = opened(path)
        self._inode = inode_of(path)

    def close(self) -> None:
        """Give the file up."""
        self._db.close()

    def sessions(self) -> list[SessionRow]:
        """Every session, newest first."""
        return self._run(
            lambda db: [
                _session(row)
                for row in db.execute("select * from sessions order by created desc, id")
            ]
        )

    def stale(self, files: Iterable[tuple[str, int, int]]) -> list[str]:
        """Of files given as path, size and mtime: those that must be read again, in order."""
        known = self._run(
            lambda db: set(db.execute("select path, size, mtime from sessions").fetchall())
        )
        return [file[0] for file in files if tuple(map(_plain, file)) not in known]

    def put(self, row: SessionRow, documents: Iterable[DocumentRow], *, after: int = 0) -> bool:
        """Record a session: its row, and the texts of its events from the seq `after` on.

        Older texts stay. False, with nothing changed, when events before `after` were never
        handed in: then hand in all of them.
        """
        texts, id = list(documents), _plain(row.id)

        def write(db: sqlite3.Connection) -> bool:
            with transaction(db):
                had = db.execute("select events from sessions where id = ?", (id,)).fetchone()
                if after > (had[0] if had else 0):
                    return False
                _remove(db, id, after)
                values = [_plain(value) for value in msgspec.structs.astuple(row)]
                marks = ",".join("?" * len(values))
                db.execute(f"insert or replace into sessions values({marks})", values)
                for text in texts:
                    _insert(db, id, text)
                return True

        return self._run(write)

    def forget(self, session: str) -> None:
        """Leave a session out from now on."""
        id = _plain(session)

        def write(db: sqlite3.Connection) -> None:
            with transaction(db):
                _remove(db, id, 0)
                db.execute("delete from sessions where id = ?", (id,))

        self._run(write)

    def search(
        self, query: str, limit: int = 10, *, kinds: Collection[Kind] = ()
    ) -> list[CatalogHit]:
        """The best texts of all sessions for the words of `query`; see the ranking above.

        Only texts of `kinds`, when any are named.
        """
        if limit < 1 or not (whole := _phrases(query)):
            return []
        begun, pairs = _phrases(query, begun=True), _phrases(query, pairs=True)
        tries = {" ".join(whole): True}
        tries.setdefault(" ".join(begun), True)
        tries.setdefault(" OR ".join(pairs), False)

        def read(db: sqlite3.Connection) -> list[CatalogHit]:
            hits: dict[int, CatalogHit] = {}
            for words, complete in tries.items():
                if len(hits) < limit:
                    found = _matches(db, _within(words, kinds), limit + len(hits), complete)
                    hits = {**hits, **{id: hit for id, hit in found.items() if id not in hits}}
            return list(hits.values())[:limit]

        return self._run(read)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        damage: Exception | None = None
        for _ in range(3):
            try:
                return work(self._db)
            except (sqlite3.Error, msgspec.ValidationError) as error:
                raise_refusal(self.path, error)
                damage = error
                self._db.close()
                self._db = remade(self.path, instead_of=self._inode)
                self._inode = inode_of(self.path)
        raise StorageFailed(f"{self.path}: damaged again as soon as it is made anew: {damage}")


def _session(row: tuple[object, ...]) -> SessionRow:
    return msgspec.convert(dict(zip(SessionRow.__struct_fields__, row, strict=True)), SessionRow)


def _insert(db: sqlite3.Connection, session: str, row: DocumentRow) -> None:
    text = _plain(row.text)
    place = (session, row.seq, row.turn, row.step, row.kind, row.block, text)
    cursor = db.execute(
        "insert into documents(session, seq, turn, step, kind, block, text) "
        "values(?, ?, ?, ?, ?, ?, ?)",
        place,
    )
    db.execute(
        "insert into terms(rowid, words, kind) values(?, ?, ?)",
        (cursor.lastrowid, _words(text), row.kind),
    )


def _remove(db: sqlite3.Connection, session: str, after: int) -> None:
    found = db.execute(
        "select id, text, kind from documents where session = ? and seq >= ?", (session, after)
    ).fetchall()
    for id, text, kind in found:
        db.execute(
            "insert into terms(terms, rowid, words, kind) values('delete', ?, ?, ?)",
            (id, _words(text), kind),
        )
        db.execute("delete from documents where id = ?", (id,))


def _within(words: str, kinds: Collection[Kind]) -> str:
    """The FTS5 expression for texts that match `words` and are of one of the kinds."""
    if not kinds:
        return f"words : ({words})"
    chosen = " OR ".join(f'"{kind}"' for kind in kinds)
    return f"words : ({words}) AND kind : ({chosen})"


def _matches(
    db: sqlite3.Connection, expression: str, limit: int, complete: bool
) -> dict[int, CatalogHit]:
    """The best texts for an FTS5 expression, by their row, best first."""
    columns = ", ".join(f"s.{name}" for name in SessionRow.__struct_fields__)
    place = ", ".join(f"d.{name}" for name in DocumentRow.__struct_fields__)
    rows = db.execute(
        "with best as (select rowid, rank from terms where terms match ? "  # noqa: S608
        f"order by rank, rowid desc limit ?) select d.id, {columns}, {place} from best "
        "join documents d on d.id = best.rowid join sessions s on s.id = d.session "
        "order by best.rank, best.rowid desc",
        (expression, limit),
    ).fetchall()
    split = 1 + len(SessionRow.__struct_fields__)
    names = DocumentRow.__struct_fields__
    hits = {}
    for row in rows:
        document = msgspec.convert(dict(zip(names, row[split:], strict=True)), DocumentRow)
        hits[row[0]] = CatalogHit(_session(row[1:split]), document, complete)
    return hits


def _phrases(query: str, *, begun: bool = False, pairs: bool = False) -> list[str]:
    """The words of a query as FTS5 phrases; a lone letter that is not CJK is no word.

    `begun`: a word of three letters or more may go on. `pairs`: each pair of a CJK run is a word
    of its own. A single CJK letter always goes on, for it is indexed with its neighbour.
    """
    found: dict[str, None] = {}
    for word in WORD.findall(_plain(query).lower())[:MOST_WORDS]:
        if not (CJK_RUN.search(word) or (len(word) > 1 and word.strip("_"))):
            continue
        spread = _words(word, at_end=False)
        for part in spread.split() if pairs else [spread.strip()]:
            goes_on = len(part) == 1 or (begun and len(part) > 2)
            found[f'"{part}" *' if goes_on else f'"{part}"'] = None
    return list(found)


def _words(text: str, *, at_end: bool = True) -> str:
    """The text as it is indexed: each CJK run as its pairs of letters.

    `at_end`: and its last letter alone, so that every letter of a run begins a word of the index;
    a query, which must match within a run, leaves it out.
    """

    def pairs(run: re.Match[str]) -> str:
        letters = run[0]
        spread = [letters[at : at + 2] for at in range(len(letters) - 1)]
        if at_end or len(letters) == 1:
            spread.append(letters[-1])
        return f" {' '.join(spread)} "

    return text if text.isascii() else CJK_RUN.sub(pairs, text)


def _plain(value: T) -> T:
    """The value as SQLite can hold it: lone surrogates as U+FFFD, integers within 64 bits."""
    if isinstance(value, int):
        return max(min(value, MOST), -MOST)  # type: ignore[return-value]
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # type: ignore[return-value]
    return value
