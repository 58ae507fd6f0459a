"""Kept pictures stand in requests; what is gone stands as its placeholder, for good."""

from pathlib import Path

from pictures import png
from slicetape.log.attachments import Attachments
from slicetape.log.messages import Attachment, Image, Message, Source, Text
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.attached import StoredPictures
from slicetape.wire.openai_chat import ChatWire


def said(kept: Attachment) -> Message:
    return Message("m-1", "user", (Image(kept), Text("What is this?")), Source("user"))


def test_both_wires_carry_a_kept_picture(tmp_path: Path) -> None:
    store = Attachments(tmp_path)
    kept = store.put(png())
    pictures = StoredPictures(Attachments(None), store)
    [chat] = ChatWire(pictures=pictures).encode(said(kept))
    assert b'"image_url":{"url":"data:image/png;base64,iVBORw0KGgo' in chat
    blocks = MessagesWire(pictures=pictures).encode(said(kept))
    assert b'"source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo' in blocks[0]


def test_a_picture_that_was_missing_once_stays_missing(tmp_path: Path) -> None:
    store = Attachments(tmp_path)
    kept = Attachments(None).put(png())
    wire = ChatWire(pictures=StoredPictures(store))
    before = wire.encode(said(kept))
    assert b"not sent]" in before[0]
    store.put(png())
    assert wire.encode(said(kept)) == before


def test_another_session_has_its_own_pictures(tmp_path: Path) -> None:
    store = Attachments(tmp_path)
    kept = store.put(png())
    pictures = StoredPictures()
    wire = ChatWire(pictures=pictures)
    assert b"not sent]" in wire.encode(said(kept))[0]
    pictures.look_in(store)
    assert b"data:image/png" in wire.encode(said(kept))[0]


def test_only_types_that_the_wires_know_are_sent(tmp_path: Path) -> None:
    store = Attachments(tmp_path)
    kept = store.put(png())
    odd = Attachment(attachment_id=kept.attachment_id, media_type="image/svg+xml")
    assert StoredPictures(store)(odd) is None
