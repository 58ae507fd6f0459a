"""Pictures of every kind, as small as their headers."""

import struct
import zlib


def png(width: int = 3, height: int = 2) -> bytes:
    def part(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x80" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", rows) + part(b"IEND", b"")


def gif(width: int = 3, height: int = 2) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def jpeg(width: int = 3, height: int = 2, *, marker: int = 0xC0) -> bytes:
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF" + bytes(10)
    frame = struct.pack(">HBHH", 11, 8, height, width) + b"\x01\x01\x11\0"
    return b"\xff\xd8" + app + b"\xff\xff\xfe\0\x04hi" + bytes([0xFF, marker]) + frame + b"\xff\xd9"


def webp(kind: bytes, width: int = 3, height: int = 2) -> bytes:
    if kind == b"VP8X":
        body = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif kind == b"VP8L":
        body = b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little")
    else:
        body = bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", width, height)
    chunk = kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk
