"""The derived index: listing, search across sessions, and making it anew."""

import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicetape.errors import StorageFailed
from slicetape.log import catalogfile
from slicetape.log.catalog import Catalog
from slicetape.log.catalogrows import CatalogHit, DocumentRow, Kind, SessionRow


def text(seq: int, said: str) -> DocumentRow:
    return DocumentRow(seq=seq, turn=1, step=1, kind="assistant", block=0, text=said)


def session(id: str, *, events: int = 100, created: int = 0) -> SessionRow:
    return SessionRow(id=id, path=f"/logs/{id}", events=events, created=created, size=5, mtime=7)


def found(hits: list[CatalogHit]) -> list[tuple[str, int]]:
    return [(hit.session.id, hit.document.seq) for hit in hits]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


@pytest.fixture
def catalog(path: Path) -> Iterator[Catalog]:
    opened = Catalog(path)
    yield opened
    opened.close()


def test_a_new_index_is_empty_and_private(catalog: Catalog, path: Path) -> None:
    assert catalog.sessions() == []
    assert catalog.search("anything") == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_sessions_are_listed_newest_first(catalog: Catalog) -> None:
    old, new = session("old", created=1), session("new", created=2)
    assert catalog.put(old, [])
    assert catalog.put(new, [])
    assert catalog.sessions() == [new, old]
    changed = SessionRow(id="old", path="/p", format="codex", created=3, title="t", turns=4)
    catalog.put(changed, [])
    assert catalog.sessions() == [changed, new]


def test_a_hit_names_its_session_and_place(catalog: Catalog) -> None:
    row = DocumentRow(seq=9, turn=2, step=3, kind="tool_output", block=2, text="a Pelican landed")
    catalog.put(session("s"), [row])
    assert catalog.search("pelican") == [CatalogHit(session("s"), row, complete=True)]


def test_texts_with_all_words_come_first_then_rare_words_in_short_texts(catalog: Catalog) -> None:
    catalog.put(
        session("s"),
        [
            text(1, "apple " * 50),
            text(2, "an apple and then, far away, a pear " + "pad " * 200),
            text(3, "pear"),
            *(text(seq, f"apple number {seq}") for seq in range(4, 30)),
        ],
    )
    hits = catalog.search("apple pear", limit=40)
    assert [hit.document.seq for hit in hits[:2]] == [2, 3]
    assert [hit.complete for hit in hits[:3]] == [True, False, False]
    assert len(hits) == 29


def test_of_equal_texts_the_last_handed_in_comes_first(catalog: Catalog) -> None:
    catalog.put(session("a"), [text(1, "same words")])
    catalog.put(session("b"), [text(1, "same words"), text(2, "same words")])
    assert found(catalog.search("words")) == [("b", 2), ("b", 1), ("a", 1)]


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("折叠", True),
        ("数据", True),
        ("据库", True),
        ("数据库折叠", True),
        ("库", True),
        ("题", True),
        ("我", True),
        ("磁带", False),
        ("叠数", False),
        ("数据库坏了", True),
        ("한국", True),
        ("国어", False),
        ("かな", True),
        ("カナ", True),
    ],
)
def test_cjk_words_are_found_within_a_run(catalog: Catalog, query: str, matches: bool) -> None:
    catalog.put(session("s"), [text(1, "我们修复了数据库折叠问题, 한국어 かなとカナ v2")])
    catalog.put(session("t"), [text(1, "nothing of that")])
    assert found(catalog.search(query)) == ([("s", 1)] if matches else [])


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("TIMEOUT", True),
        ("time", True),
        ("ti", False),
        ("naive", True),
        ("src/pay.py", True),
        ("pay.ts", True),  # some words
        ("old_string", True),
        ("old_strin", True),
        ("string old", True),
        ('"quoted" OR *', False),
        ("x", False),
        ("", False),
        ("__", False),
        ("AND NOT NEAR(", False),
    ],
)
def test_words_are_found_whatever_their_case(catalog: Catalog, query: str, matches: bool) -> None:
    catalog.put(session("s"), [text(1, "Timeout in src/pay.py: naïve old_string x")])
    assert bool(catalog.search(query)) is matches


def test_a_search_may_be_of_some_kinds(catalog: Catalog) -> None:
    kinds: tuple[Kind, ...] = ("user", "tool_input", "tool_output")
    documents = [
        DocumentRow(seq=seq, turn=1, step=1, kind=kind, block=0, text="apple tool input user")
        for seq, kind in enumerate(kinds)
    ]
    catalog.put(session("s"), documents)
    for seq, kind in enumerate(kinds):
        assert found(catalog.search("apple", kinds=[kind])) == [("s", seq)]
    assert len(catalog.search("apple", kinds=["user", "tool_output"])) == 2
    assert catalog.search("apple", kinds=["context"]) == []
    assert found(catalog.search("app", kinds=["user"])) == [("s", 0)]
    catalog.forget("s")
    assert catalog.search("apple", kinds=["user"]) == []


def test_whole_words_come_before_beginnings(catalog: Catalog) -> None:
    catalog.put(session("s"), [text(1, "deploy"), text(2, "deployed " * 9), text(3, "x deploy y")])
    hits = catalog.search("deploy")
    assert [hit.document.seq for hit in hits] == [1, 3, 2]
    assert all(hit.complete for hit in hits)


def test_a_limit_below_one_finds_nothing(catalog: Catalog) -> None:
    catalog.put(session("s"), [text(1, "apple")])
    assert catalog.search("apple", limit=0) == []


def test_hostile_text_is_kept_as_far_as_sqlite_can(catalog: Catalog) -> None:
    catalog.put(session("s\ud800"), [text(1, "nul \x00 half \ud83d \u2028 apple")])
    (hit,) = catalog.search("apple\udc00")
    assert hit.session.id == "s\ufffd"
    assert hit.document.text == "nul \x00 half \ufffd \u2028 apple"
    catalog.put(session("late", created=2**80), [])
    assert catalog.sessions()[0].created == 2**63 - 1
    assert catalog.stale([("/logs/s\ud800", 5, 7)]) == []
    catalog.forget("s\ud800")
    assert [row.id for row in catalog.sessions()] == ["late"]


@given(said=st.text(max_size=60), query=st.text(max_size=30))
def test_no_query_and_no_text_raises(
    said: str, query: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    catalog = Catalog(tmp_path_factory.getbasetemp() / "hostile.sqlite")
    catalog.put(session("s"), [text(1, said)])
    catalog.search(query)
    catalog.forget("s")
    assert catalog.search(said) == []
    catalog.close()


def test_new_events_are_added_and_changed_ones_replaced(catalog: Catalog) -> None:
    catalog.put(session("s", events=3), [text(1, "apple"), text(2, "pear 折叠数据")])
    catalog.put(session("s", events=4), [text(3, "cherry")], after=3)
    assert found(catalog.search("apple")) == [("s", 1)]
    assert found(catalog.search("cherry")) == [("s", 3)]
    catalog.put(session("s", events=3), [text(2, "plum")], after=2)
    assert catalog.search("cherry") == []
    assert catalog.search("折叠") == []
    assert found(catalog.search("plum")) == [("s", 2)]
    catalog.put(session("s", events=1), [])
    assert catalog.search("apple") == []


def test_a_gap_is_refused(catalog: Catalog) -> None:
    assert not catalog.put(session("s"), [text(7, "apple")], after=5)
    assert catalog.sessions() == []
    catalog.put(session("s", events=5), [])
    assert catalog.put(session("s", events=8), [text(7, "apple")], after=5)
    assert not catalog.put(session("s", events=20), [], after=9)


def test_a_session_can_be_left_out(catalog: Catalog) -> None:
    catalog.put(session("s"), [text(1, "apple")])
    catalog.put(session("t"), [text(1, "apple")])
    catalog.forget("s")
    assert found(catalog.search("apple")) == [("t", 1)]
    assert [row.id for row in catalog.sessions()] == ["t"]


def test_stale_files_are_those_that_changed(catalog: Catalog) -> None:
    catalog.put(session("s"), [])
    files = [("/logs/s", 5, 7), ("/logs/s", 6, 7), ("/logs/s", 5, 8), ("/logs/new", 1, 1)]
    assert catalog.stale(files) == ["/logs/s", "/logs/s", "/logs/new"]


@pytest.mark.parametrize(
    "damage",
    [
        b"not a database at all, only text" * 100,
        b"\x00" * 5000,
        b"SQLite format 3\x00" + b"\xff" * 5000,
        b"",
    ],
)
def test_a_damaged_file_is_made_anew(path: Path, damage: bytes) -> None:
    path.write_bytes(damage)
    catalog = Catalog(path)
    assert catalog.sessions() == []
    catalog.put(session("s"), [text(1, "apple")])
    assert len(catalog.search("apple")) == 1
    catalog.close()


def test_a_file_of_another_schema_is_made_anew(path: Path) -> None:
    for version in (0, catalogfile.SCHEMA + 1):
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as db:
            db.execute("create table other(x)")
            db.execute(f"pragma user_version = {version}")
        db.close()
        catalog = Catalog(path)
        assert catalog.sessions() == []
        catalog.close()


def test_damage_found_while_it_is_open_is_repaired(path: Path) -> None:
    catalog = Catalog(path)
    catalog.put(session("s"), [text(seq, "apple " * 500) for seq in range(200)])
    catalog.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
    catalog = Catalog(path)
    assert catalog.search("apple") == []
    assert catalog.put(session("s"), [text(1, "apple")])
    assert len(catalog.search("apple")) == 1
    catalog.close()


def test_missing_tables_are_damage(path: Path) -> None:
    catalog, other = Catalog(path), Catalog(path)
    catalog.put(session("s"), [text(1, "apple")])
    with sqlite3.connect(path) as db:
        db.execute("drop table terms")
    db.close()
    assert catalog.search("apple") == []
    catalog.put(session("s"), [text(1, "pear")])
    assert len(catalog.search("pear")) == 1
    other.close()
    catalog.close()


def test_rows_that_no_catalog_writes_are_damage(path: Path) -> None:
    catalog = Catalog(path)
    catalog.put(session("s"), [text(1, "apple")])
    with sqlite3.connect(path) as db:
        db.execute("update documents set kind = 'nonsense'")
    db.close()
    assert catalog.search("apple") == []
    assert catalog.sessions() == []
    catalog.close()


def test_a_file_that_is_damaged_again_and_again_is_refused(path: Path) -> None:
    catalog = Catalog(path)
    row = SessionRow(id="s", path="p", title=None)  # type: ignore[arg-type]
    with pytest.raises(StorageFailed, match="damaged again as soon as it is made anew"):
        catalog.put(row, [])
    assert catalog.put(session("s"), [])
    catalog.close()


def test_two_that_find_the_damage_make_one_new_file(path: Path) -> None:
    first, second = Catalog(path), Catalog(path)
    with sqlite3.connect(path) as db:
        db.execute("drop table documents")
    db.close()
    first.put(session("s"), [text(1, "apple")])
    assert len(second.search("apple")) == 1
    first.close()
    second.close()


def test_a_deleted_file_is_no_error(path: Path) -> None:
    catalog = Catalog(path)
    catalog.put(session("s"), [text(1, "apple")])
    for file in list(path.parent.iterdir()):
        file.unlink()
    catalog.search("apple")
    catalog.put(session("t"), [])
    catalog.close()
    again = Catalog(path)
    assert again.sessions() == []
    again.close()


def test_a_place_that_cannot_hold_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "folder", tmp_path / "missing" / "index.sqlite"):
        with pytest.raises(StorageFailed, match="the index cannot be"):
            Catalog(place)


def test_a_file_held_by_another_for_too_long_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogfile, "BUSY_SECONDS", 0)
    catalog = Catalog(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("begin immediate")
    with pytest.raises(StorageFailed, match="the index cannot be used now: database is locked"):
        catalog.put(session("s"), [])
    assert catalog.sessions() == []
    holder.execute("rollback")
    holder.close()
    assert catalog.put(session("s"), [])
    catalog.close()


FILL = """
import sys
from pathlib import Path
from slicetape.log.catalog import Catalog
from slicetape.log.catalogrows import DocumentRow, SessionRow
catalog = Catalog(Path(sys.argv[1]))
for number in range(20):
    document = DocumentRow(seq=1, turn=1, step=1, kind="user", block=0, text="apple")
    catalog.put(SessionRow(id=f"{sys.argv[2]}-{number}", path="p", events=2), [document])
    catalog.search("apple pear")
catalog.close()
"""


def test_several_processes_write_and_read_one_file(path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", FILL, path, name]) for name in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    catalog = Catalog(path)
    assert len(catalog.sessions()) == 60
    assert len(catalog.search("apple", limit=100)) == 60
    catalog.close()


def test_threads_that_open_a_new_file_at_once_agree(path: Path) -> None:
    def fill(name: str) -> None:
        catalog = Catalog(path)
        for number in range(20):
            catalog.put(session(f"{name}-{number}"), [text(1, "apple")])
        catalog.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fill, "abcd"))
    catalog = Catalog(path)
    assert len(catalog.sessions()) == 80
    catalog.close()


def test_a_failed_write_changes_nothing(catalog: Catalog) -> None:
    catalog.put(session("s"), [text(1, "apple")])

    def rows() -> Iterator[DocumentRow]:
        yield text(1, "pear")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        catalog.put(session("s"), rows())
    assert found(catalog.search("apple")) == [("s", 1)]
