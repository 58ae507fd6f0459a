import base64
import hashlib
import struct

import pytest

from slicetape.formats.media import drop, picture, picture_base64, picture_url

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 3, 2)
GIF = b"GIF89a" + struct.pack("<HH", 3, 2)
JPEG = (
    b"\xff\xd8\xff\xe0" + struct.pack(">H", 4) + b"xx"
    b"\xff\xc0" + struct.pack(">HBHH", 17, 8, 2, 3) + b"more"
)
WEBP_X = b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\2\0\0" + b"\1\0\0"
WEBP_L = b"RIFF\0\0\0\0WEBPVP8L" + b"\0" * 5 + (2 | 1 << 14).to_bytes(4, "little")
WEBP = b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 3, 2)


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (GIF, "image/gif"),
        (JPEG, "image/jpeg"),
        (WEBP_X, "image/webp"),
        (WEBP_L, "image/webp"),
        (WEBP, "image/webp"),
    ],
)
def test_kind_and_size_are_read_from_the_header(data, media_type):
    found = picture(data, None, drop).attachment
    assert (found.media_type, found.width, found.height) == (media_type, 3, 2)
    assert found.bytes == len(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xd8",
        b"\xff\xd8\xff\xe0\0\4xx\xff\xd9",
        b"RIFF\0\0\0\0WEBPVP8?",
        PNG[:20],
        JPEG[:12],
    ],
)
def test_what_cannot_be_measured_has_no_size(data):
    found = picture(data, "image/x", drop).attachment
    assert (found.media_type, found.width, found.height) == ("image/x", None, None)


def test_the_bytes_are_named_by_content_and_handed_out():
    stored = {}
    image = picture_base64(base64.b64encode(PNG).decode(), "image/png", stored.__setitem__)
    sha256 = hashlib.sha256(PNG).hexdigest()
    assert stored == {sha256: PNG}
    assert image.attachment.attachment_id == f"sha256:{sha256}"


def test_broken_base64_is_kept_as_it_stands():
    stored = {}
    picture_base64("REDACTED/x", "image/png", stored.__setitem__)
    picture_base64("A", None, stored.__setitem__)
    assert list(stored.values())[-1] == b"A"


def test_a_url_is_decoded_or_becomes_a_name_and_is_never_opened():
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert picture_url(url, drop).attachment.width == 3
    assert picture_url("data:text/plain,hi", drop).attachment.bytes == 2
    assert picture_url("data:,hi", drop).attachment.media_type is None
    remote = picture_url("file:///etc/passwd", drop).attachment
    assert (remote.name, remote.bytes) == ("file:///etc/passwd", 0)
