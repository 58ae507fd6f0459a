"""What a picture is, by its first bytes: its format and its size in pixels. Nothing is decoded."""

from dataclasses import dataclass

from slicetape.errors import LogError

_PNG = b"\x89PNG\r\n\x1a\n"
_UNKNOWN = "no PNG, JPEG, GIF or WebP picture; convert it first"
_NO_SIZE = "a broken {} picture: it does not say how large it is"
_WITHOUT_LENGTH = frozenset((0x01, *range(0xD0, 0xD8)))
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """The media type of a picture, and its size in pixels."""

    media_type: str
    width: int
    height: int


def picture_facts(data: bytes) -> PictureFacts:
    """The facts of a picture. Raises LogError for what is none that models take."""
    if data.startswith(_PNG):
        size = _pair(data, 16, 4, "big") if data[12:16] == b"IHDR" else None
        return _facts("png", size)
    if data.startswith((b"GIF87a", b"GIF89a")):
        return _facts("gif", _pair(data, 6, 2, "little"))
    if data.startswith(b"\xff\xd8\xff"):
        return _facts("jpeg", _jpeg(data))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _facts("webp", _webp(data))
    raise LogError(_UNKNOWN)


def _facts(kind: str, size: tuple[int, int] | None) -> PictureFacts:
    if size is None or not all(size):
        raise LogError(_NO_SIZE.format(kind.upper() if kind != "webp" else "WebP"))
    return PictureFacts(f"image/{kind}", *size)


def _pair(data: bytes, at: int, bytes_each: int, order: str) -> tuple[int, int] | None:
    """Two numbers that stand side by side."""
    if len(data) < at + 2 * bytes_each:
        return None
    middle = at + bytes_each
    first, second = data[at:middle], data[middle : middle + bytes_each]
    if order == "big":
        return int.from_bytes(first, "big"), int.from_bytes(second, "big")
    return int.from_bytes(first, "little"), int.from_bytes(second, "little")


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """The size in the first frame header; segments before it are stepped over."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
        elif marker in _WITHOUT_LENGTH:
            at += 2
        elif marker in _FRAMES:
            size = _pair(data, at + 5, 2, "big")
            return (size[1], size[0]) if size else None
        else:
            length = int.from_bytes(data[at + 2 : at + 4], "big")
            if length < 2 or marker in (0xD9, 0xDA):
                return None
            at += 2 + length
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        width, height = data[24:27], data[27:30]
        return int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1
    if kind == b"VP8L" and len(data) >= 25 and data[20] == 0x2F:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        size = _pair(data, 26, 2, "little")
        return (size[0] & 0x3FFF, size[1] & 0x3FFF) if size else None
    return None
