"""The compressed form of a log: zstd frames one after another, the header alone in the first.

Frame boundaries are found by walking block headers, so a torn last frame is told from a damaged
one, and a frame is decompressed only when it is whole.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import zstandard

from slicetape.errors import LogError

_MAGIC = b"\x28\xb5\x2f\xfd"
_WINDOW_LIMIT = 1 << 27


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: where it stands, its text, and what is wrong with it.

    `whole` is false for a last frame that was cut; `problem` is empty unless the frame is damaged,
    whose text is then what could be read before the damage.
    """

    start: int
    end: int
    text: bytes
    whole: bool = True
    problem: str = ""


class NotFrames(LogError):
    """The bytes are no zstd frames."""


class _OfThread(threading.local):
    """A compressor is costly to make and serves one thread at a time."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(write_checksum=True)


_mine = _OfThread()


def compress(text: bytes) -> bytes:
    """One frame, with its checksum."""
    return _mine.compressor.compress(text)


def decompress(frame: bytes) -> bytes:
    """The text of the frame that `frame` starts with."""
    return (
        zstandard.ZstdDecompressor(max_window_size=_WINDOW_LIMIT).decompressobj().decompress(frame)
    )


def read_frames(data: bytes) -> Iterator[Frame]:
    """Every frame of `data` in order; raises NotFrames when it does not begin with one."""
    if data and not (data[:4] == _MAGIC or _MAGIC.startswith(data) or _skippable(data[:4])):
        raise NotFrames("not zstd frames")
    at = 0
    while at < len(data):
        end = frame_end(data, at)
        if end is None:
            torn = data[at : 4 + at] == _MAGIC or _MAGIC.startswith(data[at:])
            problem = "" if torn else "bytes that are no zstd frame"
            yield Frame(at, len(data), _salvage(data[at:]), whole=False, problem=problem)
            return
        if not _skippable(data[at : at + 4]):
            frame = data[at:end]
            try:
                yield Frame(at, end, decompress(frame))
            except zstandard.ZstdError as error:
                yield Frame(at, end, b"", problem=f"a frame that cannot be decompressed ({error})")
        at = end


def frame_end(data: bytes, at: int) -> int | None:
    """Where the frame that starts at `at` ends, or None when `data` ends first or none starts."""
    if _skippable(data[at : at + 4]):
        end = at + 8 + int.from_bytes(data[at + 4 : at + 8], "little")
        return end if at + 8 <= len(data) and end <= len(data) else None
    if data[at : at + 4] != _MAGIC or at + 5 > len(data):
        return None
    descriptor = data[at + 4]
    single = descriptor >> 5 & 1
    content = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    at += 5 + (0 if single else 1) + (0, 1, 2, 4)[descriptor & 3] + content
    last = 0
    while not last:
        if at + 3 > len(data):
            return None
        block = int.from_bytes(data[at : at + 3], "little")
        last = block & 1
        kind = block >> 1 & 3
        at += 3 + (1 if kind == 1 else block >> 3)
    at += 4 if descriptor >> 2 & 1 else 0
    return at if at <= len(data) else None


def _skippable(magic: bytes) -> bool:
    return len(magic) == 4 and magic[1:] == b"\x2a\x4d\x18" and 0x50 <= magic[0] <= 0x5F


def _salvage(part: bytes) -> bytes:
    """What can be decompressed of a frame that was cut."""
    try:
        return (
            zstandard.ZstdDecompressor(max_window_size=_WINDOW_LIMIT)
            .decompressobj()
            .decompress(part)
        )
    except zstandard.ZstdError:
        return b""
