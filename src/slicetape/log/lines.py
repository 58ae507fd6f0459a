"""Where the line of each event is, so that it can be had again as it was written."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from slicetape.errors import DamagedLog
from slicetape.log.frames import compress, decompress
from slicetape.log.logfile import End
from slicetape.log.scan import Scanned, is_compressed


class FileLines:
    """Lines of a plain log file, by place and size."""

    def __init__(self, path: Path, starts: "array[int]", sizes: "array[int]") -> None:
        self._path = path
        self._starts = starts
        self._sizes = sizes

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, start: int, size: int) -> None:
        """Note the line of the next event; `start` counts bytes of the text."""
        self._starts.append(start)
        self._sizes.append(size)

    def read(self, seqs: range) -> Iterator[bytes]:
        """The lines of `seqs`, in order, without newlines."""
        with self._path.open("rb") as file:
            for seq in seqs:
                start, size = self._starts[seq], self._sizes[seq]
                line = self._cut(file, start, size)
                if len(line) != size:
                    raise DamagedLog(f"{self._path}: changed since it was read; open it again")
                yield line

    def _cut(self, file: BinaryIO, start: int, size: int) -> bytes:
        file.seek(start)
        return file.read(size)


class FrameLines(FileLines):
    """Lines of a compressed log file; the frame used last is kept decompressed."""

    def __init__(
        self,
        path: Path,
        starts: "array[int]",
        sizes: "array[int]",
        *,
        frames: "tuple[array[int], array[int]]",
    ) -> None:
        super().__init__(path, starts, sizes)
        self._frame_starts, self._frame_texts = frames
        self._last = (-1, b"")

    def add_frame(self, start: int, text_start: int) -> None:
        """Note a frame: where it starts in the file, and its text in the whole text."""
        self._frame_starts.append(start)
        self._frame_texts.append(text_start)

    def _cut(self, file: BinaryIO, start: int, size: int) -> bytes:
        frame = bisect_right(self._frame_texts, start) - 1
        start -= self._frame_texts[frame]
        text = self._text(file, frame)
        while len(text) < start + size and frame + 1 < len(self._frame_starts):
            frame += 1
            text += self._text(file, frame)
        return text[start : start + size]

    def cut(self, text_end: int) -> tuple[int, bytes]:
        """Forget what lies behind `text_end` of the text.

        Returns where the file can be cut, and the text that must be written again there.
        """
        frame = bisect_left(self._frame_texts, text_end)
        here = frame < len(self._frame_texts) and self._frame_texts[frame] == text_end
        frame -= 0 if here else 1
        start, text_start = self._frame_starts[frame], self._frame_texts[frame]
        with self._path.open("rb") as file:
            kept = b"" if here else self._text(file, frame)[: text_end - text_start]
        self._last = (-1, b"")
        keep = frame if here else frame + 1
        del self._frame_starts[keep:], self._frame_texts[keep:]
        return start, kept

    def _text(self, file: BinaryIO, frame: int) -> bytes:
        if self._last[0] != frame:
            file.seek(self._frame_starts[frame])
            last = frame + 1 == len(self._frame_starts)
            size = -1 if last else self._frame_starts[frame + 1] - self._frame_starts[frame]
            self._last = (frame, decompress(file.read(size)))
        return self._last[1]


def lines_of(path: Path, found: Scanned) -> FileLines:
    """The lines of a log that was scanned."""
    if is_compressed(path):
        frames = (found.frame_starts, found.frame_texts)
        return FrameLines(path, found.starts, found.sizes, frames=frames)
    return FileLines(path, found.starts, found.sizes)


def ending(path: Path, found: Scanned, lines: FileLines) -> End:
    """How the file of `lines` goes on behind what was read of it."""
    size = found.file_size
    mend = b"\n" if found.unended else b""
    aside = None
    if found.damage is not None:
        aside = path.with_name(f"{path.name}.cut-{found.damage.offset}")
    if not isinstance(lines, FrameLines):
        return End(size, keep=found.text_end, mend=mend, aside=aside)
    keep = size
    if found.damage is not None or found.torn or found.torn_frame:
        keep, kept = lines.cut(found.text_end)
        mend = kept + mend
    elif mend:
        lines.add_frame(size, found.text_end)
    return End(size, keep=keep, mend=compress(mend) if mend else b"", aside=aside)
