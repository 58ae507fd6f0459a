"""Transcript files: opened, unpacked and read line by line or as one document."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import zstandard

from slicetape.errors import TranscriptError
from slicetape.formats.decoding import Damaged, Unexpected
from slicetape.formats.media import Attachments, drop

T = TypeVar("T")

_PACKED = (".zst", ".zstd", ".gz")
_KINDS = (".traj.json", ".jsonl", ".json", ".traj", ".md", ".ndjson")
_UNPACK_ERRORS = (zstandard.ZstdError, gzip.BadGzipFile, EOFError, zlib.error)


class Transcript:
    """One transcript file, packed or not. `name` is its stem: the id of its session.

    Pictures found in it go to `attachments`; without one their bytes are dropped.
    """

    def __init__(self, path: str | Path, *, attachments: Attachments | None = None) -> None:
        self.path = Path(path)
        self.name = stem(self.path.name)
        self.attachments = attachments or drop

    def head(self, size: int) -> bytes:
        """At most `size` bytes from the beginning, unpacked; fewer where damage follows."""
        parts: list[bytes] = []
        with closing(self.open()) as file:
            try:
                while size > 0 and (part := file.read1(size)):
                    parts.append(part)
                    size -= len(part)
            except _UNPACK_ERRORS as error:
                if not parts:
                    raise self.error(f"cannot be unpacked: {error}") from None
        return b"".join(parts)

    def lines(self) -> Iterator[bytes]:
        """The lines, with their ends. A file that cannot be unpacked raises `Damaged` there."""
        with closing(self.open()) as file:
            try:
                while line := file.readline():
                    yield line
            except _UNPACK_ERRORS as error:
                raise Damaged(f"the compressed file is cut or damaged here ({error})") from None

    def document(self, decode: Callable[[bytes], T]) -> T:
        """The whole file as one JSON document."""
        with closing(self.open()) as file:
            try:
                return decode(file.read())
            except Damaged as error:
                raise self.error(f"is cut or damaged: {error}") from None
            except Unexpected as error:
                raise self.error(f"has an unexpected shape: {error}") from None
            except _UNPACK_ERRORS as error:
                raise self.error(f"cannot be unpacked: {error}") from None

    def error(self, problem: str) -> TranscriptError:
        """An error that names the file."""
        return TranscriptError(f"{self.path.name!r} {problem}"[:2000])

    def open(self) -> io.BufferedReader:
        """The unpacked bytes; what kind of packing it is shows in the first bytes."""
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise self.error(f"cannot be opened: {error.strerror}") from None
        magic = file.read(4)
        file.seek(0)
        if magic == zstandard.FRAME_HEADER[:4]:
            return io.BufferedReader(_Zstd(file), 1 << 18)
        if magic[:2] == b"\x1f\x8b":
            return io.BufferedReader(_Owning(gzip.GzipFile(fileobj=file), file), 1 << 18)
        return file


class _Owning(io.RawIOBase):
    """An unpacking reader that closes the file below it."""

    def __init__(self, reader: Any, file: BinaryIO) -> None:
        self._reader = reader
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        chunk: bytes = self._reader.read1(
            len(buffer)
        )  # what precedes damage is delivered before it
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class _Zstd(_Owning):
    """Any number of zstd frames as one stream; a frame that ends early is an error."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            size = zstandard.frame_content_size(file.read(18))
        except zstandard.ZstdError:
            size = -1  # a damaged head; reading says what is wrong with it
        file.seek(0)
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        super().__init__(reader, file)
        self._missing = size

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = super().readinto(buffer)
        self._missing -= count
        if not count and self._missing > 0:
            raise EOFError("it ends within a frame")
        return count


def stem(name: str) -> str:
    """The name of a file without its packing and kind: `cc-01` of `cc-01.jsonl.zst`."""
    for endings in (_PACKED, _KINDS):
        for ending in endings:
            if name.lower().endswith(ending) and len(name) > len(ending):
                name = name[: -len(ending)]
                break
    return name.lstrip(".") or name
