"""Spilled texts come back as they were, and only where the log says that there is one."""

import json
import stat
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import GOLDEN
from logged import HEADER, answered, human
from slicetape.errors import DamagedLog, LogError, StorageFailed
from slicetape.log.events import ToolResult
from slicetape.log.log import SessionLog
from slicetape.log.spill import Blobs, SessionSpills, Spill, SpillRow, spill_head, spill_rows

CASES = json.loads((GOLDEN / "recall" / "spill-locators.json").read_text())["cases"]
HEAD = (
    "[bash · log · 10 lines, 3 kept · full text (9 bytes) stored at /etc/passwd — Use read]\nview"
)


@pytest.mark.parametrize("case", CASES, ids=[str(n) for n in range(len(CASES))])
def test_heads_are_read_as_the_reference_reads_them(case: dict[str, object]) -> None:
    found = spill_head(str(case["text"]))
    expected = case["locator"]
    if not isinstance(expected, dict):
        assert found is None
    else:
        assert found == Spill(expected["locator"], expected.get("bytes"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(Omitted 1 bytes. Full formatted result stored at: /a b/c.d. Use read with offset/limit, or grep this path to search within it.)", Spill("/a b/c.d")),
        ("[x · full text (1 bytes) stored at /a — h]\n\n(Omitted 1 bytes. Full formatted result stored at: /b. Use read with offset/limit, or grep this path to search within it.)", Spill("/a", 1)),
        ("a\n(Omitted 1 bytes. Full formatted result stored at: /a. Use read with offset/limit, or grep this path to search within it.)", None),
        ("[cmd · full text (1 bytes) stored at /fake — x · full text (2 bytes) stored at /real — h]", Spill("/real", 2)),
        ("[x · full text (1 bytes) stored at /a]", None),
        ("[x · full text (99999999999999999999 bytes) stored at /a — h]", None),
        ("", None),
    ],
)  # fmt: skip
def test_heads_of_both_forms(text: str, found: Spill | None) -> None:
    assert spill_head(text) == found


def test_case_130_a_notice_with_dots_and_blanks_in_its_path_has_no_size() -> None:
    text = (
        "preview\n\n(Omitted 5 bytes. Full formatted result stored at: /a b/c.d.txt. Use read with"
        " offset/limit, or grep this path to search within it.)"
    )
    assert spill_head(text) == Spill("/a b/c.d.txt")


def test_a_head_of_many_marks_is_read_once() -> None:
    text = "[ — " + " · full text (1 bytes) stored at " * 20_000 + "]"
    assert spill_head(text) is None


# --- blobs


@pytest.mark.parametrize("held", [True, False], ids=["memory", "folder"])
@given(text=st.text(st.characters(exclude_categories=()), max_size=30))
def test_a_text_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, text: str, held: bool
) -> None:
    blobs = Blobs(None if held else tmp_path_factory.mktemp("b") / "blobs")
    row = blobs.put(text, block=1, part=2)
    assert blobs.get(row.sha256) == text
    assert (row.block, row.part) == (1, 2)
    assert row.bytes == len(text.encode("utf-8", "surrogatepass"))
    assert row.lines == len(text.split("\n"))
    assert blobs.has(row.sha256)


def test_blobs_are_private_and_written_once(tmp_path: Path) -> None:
    blobs = Blobs.beside(tmp_path / "s" / "session.v3.jsonl")
    assert blobs.folder == tmp_path / "s" / "blobs"
    row = blobs.put("text", block=1, part=1)
    path = blobs.folder / row.sha256
    before = path.stat()
    assert blobs.put("text", block=2, part=1).sha256 == row.sha256
    assert path.stat().st_ino == before.st_ino
    assert stat.S_IMODE(before.st_mode) == 0o600
    assert blobs.where(row.sha256) == str(path)
    assert Blobs(None).where("00") == "blobs/00"


def test_a_changed_blob_is_refused_and_healed_by_its_text(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    row = blobs.put("text", block=1, part=1)
    (tmp_path / "blobs" / row.sha256).write_text("forged")
    with pytest.raises(DamagedLog, match="was changed"):
        blobs.get(row.sha256)
    blobs.put("text", block=1, part=1)
    assert blobs.get(row.sha256) == "text"


@pytest.mark.parametrize("held", [True, False], ids=["memory", "folder"])
def test_what_is_no_blob_is_never_opened(tmp_path: Path, held: bool) -> None:
    (tmp_path / "secret").write_text("secret")
    blobs = Blobs(None if held else tmp_path / "blobs")
    for name in ("../secret", "/etc/passwd", "0" * 63, "0" * 64, "", "A" * 64):
        assert not blobs.has(name)
        with pytest.raises(LogError):
            blobs.get(name)


def test_a_folder_that_cannot_hold_blobs_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    blobs = Blobs(tmp_path / "file")
    with pytest.raises(StorageFailed, match="file"):
        blobs.put("text", block=1, part=1)
    with pytest.raises(LogError, match="cannot be read"):
        blobs.get("0" * 64)


# --- the parts of results


def logged(text: str, meta: object = None) -> tuple[SessionLog, ToolResult]:
    result = answered(1, 1, "c", text)
    if meta is not None:
        raw = msgspec.Raw(msgspec.json.encode(meta))
        data = msgspec.structs.replace(result.data, meta=raw)
        result = msgspec.structs.replace(result, data=data)
    log = SessionLog.in_memory(HEADER)
    recorded = log.append(result)
    assert isinstance(recorded, ToolResult)
    log.append(human("x"))
    return log, recorded


def test_a_row_of_the_metadata_names_the_full_text() -> None:
    blobs = Blobs(None)
    row = blobs.put("full text", block=1, part=1)
    log, result = logged(HEAD, {"spill": [row], "more": 1})
    spills = SessionSpills(log.events, blobs)
    assert spills.find(result, 1, 1) == Spill("/etc/passwd", 9)
    assert spills.read(0, 1, 1) == "full text"
    assert spills.find(result, 1, 2) is None
    assert spills.find(result, 2, 1) is None


def test_a_row_without_a_head_is_named_by_its_blob() -> None:
    blobs = Blobs(None)
    row = blobs.put("full text", block=1, part=1)
    log, result = logged("just the start", {"spill": [row]})
    assert SessionSpills(log.events, blobs).find(result, 1, 1) == Spill(f"blobs/{row.sha256}", 9)


def test_a_head_that_a_tool_prints_is_ordinary_text() -> None:
    log, result = logged(HEAD)
    spills = SessionSpills(log.events, Blobs(None))
    assert spills.find(result, 1, 1) is None
    with pytest.raises(LogError, match="gone"):
        spills.read(0, 1, 1)
    with pytest.raises(LogError, match="no tool result"):
        spills.read(1, 1, 1)


def test_case_129_an_imported_head_is_a_key_of_the_importers_map() -> None:
    blobs = Blobs(None)
    row = blobs.put("original", block=1, part=1)
    log, result = logged(HEAD)
    known = SessionSpills(log.events, blobs, {"/etc/passwd": row.sha256})
    assert known.find(result, 1, 1) == Spill("/etc/passwd", 9)
    assert known.read(0, 1, 1) == "original"
    lost = SessionSpills(log.events, blobs, {"/etc/passwd": None})
    assert lost.find(result, 1, 1) == Spill("/etc/passwd", 9)
    with pytest.raises(LogError, match="gone"):
        lost.read(0, 1, 1)


@pytest.mark.parametrize(
    "meta", [b"", b"1", b"[]", b'{"spill":1}', b'{"spill":[{"block":1}]}', b'{"other":"spill"}']
)
def test_metadata_without_readable_rows_has_none(meta: bytes) -> None:
    assert spill_rows(msgspec.Raw(meta)) == ()


def test_rows_are_read_from_among_other_metadata() -> None:
    row = SpillRow(1, 1, "0" * 64, 3, 1)
    raw = msgspec.Raw(msgspec.json.encode({"path": "a", "spill": [row]}))
    assert spill_rows(raw) == (row,)
