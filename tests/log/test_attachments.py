"""Pictures are kept once, named by their content, and come back whole or not at all."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logged import HEADER, one_turn
from pictures import gif, jpeg, png, webp
from slicetape.errors import DamagedLog, LogError, StorageFailed
from slicetape.log.attachments import MOST_BYTES, Attachments
from slicetape.log.events import UserMessage
from slicetape.log.fork import child_header, fork
from slicetape.log.log import SessionLog
from slicetape.log.messages import Attachment, Image, Message, Source, Text, ToolResultBlock
from slicetape.log.picture import PictureFacts, picture_facts
from slicetape.log.store import Store

EVERY = {
    "png": png(640, 480),
    "gif": gif(640, 480),
    "jpeg": jpeg(640, 480),
    "progressive jpeg": jpeg(640, 480, marker=0xC2),
    "webp": webp(b"VP8 ", 640, 480),
    "webp without loss": webp(b"VP8L", 640, 480),
    "extended webp": webp(b"VP8X", 640, 480),
}


@pytest.mark.parametrize("kind", EVERY)
def test_a_picture_says_what_it_is_and_how_large(kind: str) -> None:
    media_type = f"image/{next(k for k in ('png', 'gif', 'jpeg', 'webp') if k in kind)}"
    assert picture_facts(EVERY[kind]) == PictureFacts(media_type, 640, 480)


@pytest.mark.parametrize("kind", EVERY)
def test_a_picture_that_is_cut_is_refused_or_known(kind: str) -> None:
    for size in range(len(EVERY[kind])):
        try:
            facts = picture_facts(EVERY[kind][:size])
        except LogError:
            continue
        assert (facts.width, facts.height) == (640, 480)


@given(st.binary(max_size=60), st.sampled_from([png(), gif(), jpeg(), webp(b"VP8L"), b""]))
def test_any_bytes_are_a_picture_or_refused(tail: bytes, start: bytes) -> None:
    for data in (start[:12] + tail, start[:20] + tail, tail):
        try:
            facts = picture_facts(data)
        except LogError:
            continue
        assert facts.width > 0
        assert facts.height > 0


def test_what_is_no_picture_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no PNG, JPEG, GIF or WebP picture; convert it first"):
        Attachments(None).put(b"%PDF-1.7")
    with pytest.raises(LogError, match="a broken PNG picture"):
        Attachments(None).put(png(0, 3))
    with pytest.raises(LogError, match="a picture of more than 20 MB; models take less"):
        Attachments(None).put(png() + bytes(MOST_BYTES))
    named = tmp_path / "notes.txt"
    named.write_text("hello")
    with pytest.raises(LogError, match=r"notes\.txt: no PNG"):
        Attachments(None).put_file(named)
    with pytest.raises(LogError, match=r"absent\.png: cannot be read"):
        Attachments(None).put_file(tmp_path / "absent.png")
    large = tmp_path / "large.png"
    large.write_bytes(png())
    os.truncate(large, MOST_BYTES + 1)
    with pytest.raises(LogError, match=r"large\.png: a picture of more than 20 MB"):
        Attachments(None).put_file(large)


@pytest.fixture(params=["on a disk", "in memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Attachments:
    return Attachments(tmp_path / "attachments" if request.param == "on a disk" else None)


def test_a_picture_comes_back_as_it_was(store: Attachments) -> None:
    kept = store.put(png(5, 7), "shots/now.png")
    assert kept == store.put(png(5, 7), "C:\\shots\\now.png")
    assert kept.attachment_id.startswith("sha256:")
    assert (kept.media_type, kept.width, kept.height, kept.name) == ("image/png", 5, 7, "now.png")
    assert kept.bytes == len(png(5, 7))
    assert store.has(kept)
    assert store.get(kept) == png(5, 7)


def test_a_name_is_for_people_only(store: Attachments) -> None:
    kept = store.put(png(), "../../etc/\x1b[31m" + "x" * 500)
    assert kept.name is not None
    assert kept.name.isprintable()
    assert len(kept.name) == 200
    assert store.put(png(), "\udcff.png").name == "\ufffd.png"


@pytest.mark.parametrize(
    "name", ["../secret", "sha256:../../etc/passwd", "sha256:" + "A" * 64, "", "sha256:" + "0" * 65]
)
def test_a_text_never_names_a_file(store: Attachments, name: str) -> None:
    asked = Attachment(attachment_id=name)
    assert not store.has(asked)
    with pytest.raises(LogError, match="names no stored picture"):
        store.get(asked)


def test_a_picture_that_is_gone_says_so(store: Attachments) -> None:
    with pytest.raises(LogError, match="the stored picture is gone"):
        store.get(Attachment(attachment_id="sha256:" + "0" * 64))


def test_a_changed_picture_is_not_given_and_is_mended_by_the_next(tmp_path: Path) -> None:
    store = Attachments(tmp_path)
    kept = store.put(png())
    file = tmp_path / kept.attachment_id.removeprefix("sha256:")
    file.write_bytes(gif())
    with pytest.raises(DamagedLog, match="was changed"):
        store.get(kept)
    store.put(png())
    assert store.get(kept) == png()


def test_links_are_not_followed(tmp_path: Path) -> None:
    store = Attachments(tmp_path / "a")
    kept = store.put(png())
    file = tmp_path / "a" / kept.attachment_id.removeprefix("sha256:")
    (tmp_path / "other").write_bytes(png())
    file.unlink()
    file.symlink_to(tmp_path / "other")
    with pytest.raises(LogError, match="cannot be read"):
        store.get(kept)
    with pytest.raises(StorageFailed):
        store.put(png())


def test_files_are_private(tmp_path: Path) -> None:
    kept = Attachments(tmp_path / "a").put(png())
    file = tmp_path / "a" / kept.attachment_id.removeprefix("sha256:")
    assert file.stat().st_mode & 0o777 == 0o600


def with_pictures(path: Path) -> tuple[SessionLog, Attachment, Attachment]:
    log = SessionLog.create(path, HEADER)
    log.extend(one_turn(1))
    seen, shot = log.attachments.put(png(9, 9)), log.attachments.put(gif(8, 8))
    result = ToolResultBlock("c", content=(Text("a"), Image(shot)))
    said = Message("m-7", "user", (Image(seen), result), Source("user"))
    log.append(UserMessage(data=said, time=1, surface_op="append"))
    return log, seen, shot


def test_a_fork_takes_its_pictures_along(tmp_path: Path) -> None:
    log, seen, shot = with_pictures(tmp_path / "p" / "session.v3.jsonl")
    header = child_header(HEADER, id="child", created_at=5)
    with log, SessionLog.create(tmp_path / "c" / "session.v3.jsonl", header) as child:
        (tmp_path / "p" / "attachments" / shot.attachment_id.removeprefix("sha256:")).unlink()
        fork(log, child, time=9)
        assert child.attachments.get(seen) == png(9, 9)
        assert not child.attachments.has(shot)


def test_a_fork_in_memory_takes_its_pictures_along(tmp_path: Path) -> None:
    log, seen, _ = with_pictures(tmp_path / "p" / "session.v3.jsonl")
    with log:
        child = SessionLog.in_memory(child_header(HEADER, id="child", created_at=5))
        fork(log, child, time=9)
        assert child.attachments.get(seen) == png(9, 9)


def test_a_session_that_comes_to_a_home_brings_its_pictures(tmp_path: Path) -> None:
    log, seen, _ = with_pictures(tmp_path / "p" / "session.v3.jsonl")
    with log:
        placed = Store(tmp_path / "home").take_in(log)
    assert Attachments.beside(placed).get(seen) == png(9, 9)
