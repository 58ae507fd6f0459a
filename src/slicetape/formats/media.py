"""Pictures of a transcript as attachments: named by content, measured by their header."""

import base64
import binascii
import hashlib
from collections.abc import Callable

from slicetape.log.messages import Attachment, Image

Attachments = Callable[[str, bytes], None]
"""Takes the sha256 (hex) and the bytes of a picture, to keep them."""


def drop(sha256: str, data: bytes) -> None:
    """Keep nothing."""


def picture(data: bytes, media_type: str | None, keep: Attachments) -> Image:
    """The block of a picture; its bytes go to `keep`."""
    sha256 = hashlib.sha256(data).hexdigest()
    keep(sha256, data)
    seen, width, height = _measure(data)
    attachment = Attachment(f"sha256:{sha256}", len(data), media_type or seen, width, height)
    return Image(attachment)


def picture_base64(text: str, media_type: str | None, keep: Attachments) -> Image:
    """The block of a picture in base64. Text that is no base64 is taken as bytes itself."""
    try:
        data = base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        data = text.encode("utf-8", "surrogatepass")
    return picture(data, media_type, keep)


def picture_url(url: str, keep: Attachments) -> Image:
    """The block of a `data:` URL. Any other URL is never opened: it becomes the name."""
    head, comma, body = url.partition(",")
    if not (head.startswith("data:") and comma):
        sha256 = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
        return Image(Attachment(f"sha256:{sha256}", name=url[:1000]))
    media_type = head[5:].split(";")[0] or None
    if head.endswith(";base64"):
        return picture_base64(body, media_type, keep)
    return picture(body.encode("utf-8", "surrogatepass"), media_type, keep)


def _measure(data: bytes) -> tuple[str | None, int | None, int | None]:
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        return "image/png", _big(data[16:20]), _big(data[20:24])
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return "image/gif", _little(data[6:8]), _little(data[8:10])
    if data.startswith(b"\xff\xd8"):
        return "image/jpeg", *_measure_jpeg(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp", *_measure_webp(data)
    return None, None, None


def _measure_jpeg(data: bytes) -> tuple[int | None, int | None]:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        at += 2 + _big(data[at + 2 : at + 4])
    return None, None


def _measure_webp(data: bytes) -> tuple[int | None, int | None]:
    if data[12:16] == b"VP8X" and len(data) >= 30:
        return _little(data[24:27]) + 1, _little(data[27:30]) + 1
    if data[12:16] == b"VP8L" and len(data) >= 25:
        bits = _little(data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if data[12:16] == b"VP8 " and len(data) >= 30:
        return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
    return None, None


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
