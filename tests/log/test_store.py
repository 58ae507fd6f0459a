"""A session is found by its id and is what its folder says."""

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from logged import HEADER, answered, one_turn, start
from slicetape.errors import (
    AmbiguousSession,
    DamagedLog,
    LogError,
    SessionNotFound,
    StorageFailed,
    UnsupportedFormat,
)
from slicetape.log.events import Header
from slicetape.log.log import SessionLog
from slicetape.log.project import decoded_id, encoded_id, project_name
from slicetape.log.store import Store, default_home


def header(id: str, cwd: str | None = "/proj") -> Header:
    return msgspec.structs.replace(HEADER, id=id, cwd=cwd)


def store_with(home: Path, *ids: str, cwd: str | None = "/proj") -> Store:
    store = Store(home)
    for id in ids:
        with store.create(header(id, cwd)) as log:
            log.extend(one_turn(1))
    return store


# --- names


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        (None, "_no-cwd"),
        ("/srv/demo", "--srv-demo--"),
        ("C:\\Users\\me", "--C-Users-me--"),
        ("/", "--root--"),
        ("", "--root--"),
        ("///--a//b", "--a-b--"),
        ("/a b/ü~", "--a~0020b-~00FC~007E--"),
        ("/😀", "--~D83D~DE00--"),
        ("/\udcff", "--~DCFF--"),
        ("/" + "x" * 300, "--" + "x" * 251 + "--"),
    ],
)
def test_a_working_directory_names_a_folder(cwd: str | None, name: str) -> None:
    assert project_name(cwd) == name


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("demo-1", "demo-1"),
        (".", "~002E"),
        ("..", "~002E~002E"),
        ("...", "..."),
        ("a/b~c", "a~002Fb~007Ec"),
        ("é😀", "~00E9~D83D~DE00"),
    ],
)
def test_an_id_names_a_folder(id: str, name: str) -> None:
    assert encoded_id(id) == name
    assert decoded_id(name) == id


@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=12))
def test_different_ids_have_different_folders(id: str) -> None:
    name = encoded_id(id)
    assert name not in (".", "..")
    assert "/" not in name
    back = decoded_id(name)
    joined = id.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    assert back == joined


@pytest.mark.parametrize("name", ["", "a b", "~00", "~0061", "~00e9", "a/b", ".", ".."])
def test_other_names_are_no_session_folders(name: str) -> None:
    assert decoded_id(name) is None


def test_an_empty_id_names_nothing() -> None:
    with pytest.raises(LogError):
        encoded_id("")


def test_home_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLICETAPE_HOME", "/somewhere")
    assert default_home() == Path("/somewhere")
    assert Store().sessions_folder == Path("/somewhere/sessions")
    monkeypatch.delenv("SLICETAPE_HOME")
    assert default_home() == Path.home() / ".slicetape"


# --- finding


def test_sessions_are_listed_and_opened(tmp_path: Path) -> None:
    store = store_with(tmp_path, "beta", "alpha")
    store_with(tmp_path, "gamma", cwd=None)
    assert [session.id for session in store.sessions()] == ["alpha", "beta", "gamma"]
    assert store.find("be").log == tmp_path / "sessions/--proj--/beta/session.v3.jsonl"
    with store.open("alpha") as log:
        log.append(start(2))
    assert len(store.read("alpha").events) == 9


def test_an_empty_store_has_no_sessions(tmp_path: Path) -> None:
    store = Store(tmp_path / "none")
    assert list(store.sessions()) == []
    for name in ("", "x"):
        with pytest.raises(SessionNotFound, match="`slicetape sessions` lists them"):
            store.find(name)


def test_a_prefix_of_several_ids_names_them(tmp_path: Path) -> None:
    store = store_with(tmp_path, *(f"run-{n}" for n in range(7)), "run")
    with pytest.raises(
        AmbiguousSession, match=r"7 session ids: run-0, .*run-4 and 2 more; give"
    ) as e:
        store.find("run-")
    assert len(str(e.value).splitlines()) == 1
    assert store.find("run").id == "run"


def test_folders_of_others_are_passed_over(tmp_path: Path) -> None:
    store = store_with(tmp_path, "a")
    for name in ("other", "--proj--/bad name", "--proj--/empty", "----"):
        (store.sessions_folder / name).mkdir(parents=True)
    (store.sessions_folder / "file").write_text("x")
    assert [session.id for session in store.sessions()] == ["a"]


def test_an_id_is_taken_in_whatever_project(tmp_path: Path) -> None:
    store = store_with(tmp_path, "a")
    with pytest.raises(StorageFailed, match="'a' is already there"):
        store.create(header("a", cwd="/elsewhere"))


def test_an_id_that_is_there_twice_is_told(tmp_path: Path) -> None:
    store = store_with(tmp_path, "a")
    folder = store.find("a").folder
    copy = store.sessions_folder / "--other--" / "a"
    copy.mkdir(parents=True)
    (copy / "session.v3.jsonl").write_bytes((folder / "session.v3.jsonl").read_bytes())
    with pytest.raises(AmbiguousSession, match="there twice"):
        store.find("a")


def test_a_log_in_two_forms_is_told_and_hides_no_other(tmp_path: Path) -> None:
    store = store_with(tmp_path, "a", "b")
    folder = store.find("a").folder
    SessionLog.read(folder / "session.v3.jsonl").copy_to(folder / "session.v3.jsonl.zstd")
    assert [(s.id, bool(s.problem)) for s in store.sessions()] == [("a", True), ("b", False)]
    with pytest.raises(DamagedLog, match="plain and compressed"):
        store.find("a")
    assert store.find("b").id == "b"


def test_a_log_in_a_folder_of_another_id_is_told(tmp_path: Path) -> None:
    store = store_with(tmp_path, "a")
    folder = store.find("a").folder
    folder.rename(folder.with_name("z"))
    with pytest.raises(DamagedLog, match="names the session 'a', its folder 'z'"):
        store.find("z")


def test_a_log_in_another_project_is_told(tmp_path: Path) -> None:
    store = store_with(tmp_path, "a")
    project = store.sessions_folder / "--proj--"
    project.rename(project.with_name("--moved--"))
    with pytest.raises(DamagedLog, match="belongs into"):
        store.find("a")
    project.symlink_to(project.with_name("--moved--"))
    with pytest.raises(AmbiguousSession):
        store.find("a")
    project.unlink()
    project.mkdir()
    (project / "a").symlink_to(project.with_name("--moved--") / "a")
    with pytest.raises(AmbiguousSession):
        store.find("a")


def test_a_header_that_names_nothing_is_told(tmp_path: Path) -> None:
    store = store_with(tmp_path, "a")
    path = store.find("a").log
    path.write_bytes(b'{"type":"session","version":3}\n')
    with pytest.raises(DamagedLog, match="names no session"):
        store.find("a")
    path.write_bytes(b"junk\n")
    with pytest.raises(DamagedLog, match="not a session log"):
        store.find("a")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    store = store_with(tmp_path, "a")
    folder = store.find("a").folder
    folder.chmod(0)
    with pytest.raises(DamagedLog, match="cannot be read"):
        store.find("a")
    folder.chmod(0o700)


# --- formats


def test_the_highest_format_counts(tmp_path: Path) -> None:
    store = store_with(tmp_path, "a")
    folder = store.find("a").folder
    (folder / "session.jsonl").write_bytes(b"old")
    (folder / "session.v2.jsonl.zstd").write_bytes(b"old")
    (folder / "session.v03.jsonl").write_bytes(b"no format")
    assert store.find("a").version == 3
    (folder / "session.v4.jsonl").write_bytes(
        b'{"type":"session","version":4,"id":"a","cwd":"/proj","createdAt":1}\n'
    )
    assert store.find("a").version == 4
    with pytest.raises(UnsupportedFormat, match="format 4"):
        store.open("a")


@pytest.mark.parametrize("name", ["v0-tools.jsonl", "v0-tools.session.jsonl.zstd"])
def test_a_log_of_format_0_is_published_anew_beside_its_file(tmp_path: Path, name: str) -> None:
    old = shared(f"dsh-logs/{name}").read_bytes()
    from slicetape.log.older import first_header

    id, cwd = first_header(shared(f"dsh-logs/{name}"))
    ending = ".zstd" if name.endswith("zstd") else ""
    folder = tmp_path / "sessions" / project_name(cwd) / encoded_id(id)
    folder.mkdir(parents=True)
    (folder / f"session.jsonl{ending}").write_bytes(old)
    store = Store(tmp_path)
    assert store.find(id).version == 0
    count = len(store.read(id).events)
    with store.open(id) as log:
        assert len(log.events) == count
    assert store.find(id).version == 3
    assert (folder / f"session.jsonl{ending}").read_bytes() == old


def test_a_log_of_any_place_is_taken_in_with_its_spills(tmp_path: Path) -> None:
    result = answered(1, 1, "c1", "a view")
    with SessionLog.create(tmp_path / "there" / "session.v3.jsonl", header("x")) as log:
        row = log.blobs.put("long text", block=1, part=1)
        meta = msgspec.Raw(msgspec.json.encode({"spill": [row]}))
        events = one_turn(1)
        data = msgspec.structs.replace(result.data, meta=meta)
        events[5] = msgspec.structs.replace(result, data=data)
        log.extend(events)
    store = Store(tmp_path / "home")
    path = store.take_in(SessionLog.read(tmp_path / "there" / "session.v3.jsonl"))
    assert path.read_bytes() == (tmp_path / "there" / "session.v3.jsonl").read_bytes()
    assert store.read("x").blobs.get(row.sha256) == "long text"
    with pytest.raises(StorageFailed, match="already there"):
        store.take_in(SessionLog.read(path), compressed=True)
