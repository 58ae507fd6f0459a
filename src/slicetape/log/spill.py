"""Outputs too large for the log, kept whole beside it and named by their content.

A text part that is a view of a spill says so in its event's metadata: `meta.spill` has one row a
part. A path that a text prints is never opened; for logs of other hosts it is a key of a map that
an importer filled.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Raw

from slicetape.errors import DamagedLog, LogError, StorageFailed
from slicetape.log.events import Event, ToolResult
from slicetape.log.logfile import place
from slicetape.log.messages import Text, ToolResultBlock

_STORED = re.compile(r" · full text \(([0-9]{1,18}) bytes\) stored at ")
_OMITTED = re.compile(
    r"\(Omitted [0-9]+ bytes\. Full formatted result stored at: (.+)\."
    r" Use read with offset/limit, or grep this path to search within it\.\)"
)
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Spill:
    """What a view stands for: where its full text is stored, and its size when that is known."""

    where: str
    bytes: int | None = None


class SpillRow(msgspec.Struct, frozen=True):
    """One part of a result that is a view of a spill. Blocks and parts count from 1."""

    block: int
    part: int
    sha256: str
    bytes: int
    lines: int


class _Meta(msgspec.Struct):
    spill: tuple[SpillRow, ...] = ()


def spill_head(text: str) -> Spill | None:
    """The spill that a text says it is a view of, by its first line or its last.

    Only a claim: any tool can print one.
    """
    head = stored_head(text)
    if head is not None:
        return head
    start = text.rfind("\n") + 1
    if start == 0 or text[:start].endswith("\n\n"):
        notice = _OMITTED.fullmatch(text, start)
        if notice:
            return Spill(notice[1])
    return None


def stored_head(text: str) -> Spill | None:
    """The spill that the first line of a text says it is a view of; only a claim, too."""
    if not text.startswith("["):
        return None
    first = text.split("\n", 1)[0]
    if first.endswith("]") and " stored at " in first:
        last = first.rfind(" — ")  # what stands behind the path
        for found in reversed(list(_STORED.finditer(first))):
            if found.end() < last:
                end = first.index(" — ", found.end() + 1)
                return Spill(first[found.end() : end], int(found[1]))
    return None


def spill_rows(meta: Raw) -> tuple[SpillRow, ...]:
    """The rows of `meta.spill`; none when the metadata has none that can be read."""
    if not meta or b'"spill"' not in bytes(meta):
        return ()
    try:
        return msgspec.json.decode(meta, type=_Meta).spill
    except msgspec.DecodeError:
        return ()


_KNOWN = "known.json"


class Blobs:
    """Texts by their content: in `folder`, or in memory when it is None."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._held: dict[str, bytes] = {}
        self._known: Mapping[str, str] = {}

    @classmethod
    def beside(cls, log: Path | None) -> "Blobs":
        """The blobs of the session whose log is at `log`."""
        return cls(log.parent / "blobs" if log is not None else None)

    def where(self, sha256: str) -> str:
        """The path of a blob as text, for people and file tools."""
        return str(self.folder / sha256) if self.folder is not None else f"blobs/{sha256}"

    def put(self, text: str, *, block: int, part: int) -> SpillRow:
        """Keep `text`, safe from a power cut, and return the row that names it."""
        data = text.encode("utf-8", "surrogatepass")
        sha256 = hashlib.sha256(data).hexdigest()
        row = SpillRow(block, part, sha256, len(data), text.count("\n") + 1)
        if self.folder is None:
            self._held[sha256] = data
            return row
        path = self.folder / sha256
        try:
            if self._read(sha256) == data:
                return row
            path.unlink()  # a damaged copy
        except FileNotFoundError:
            pass
        except OSError as error:
            raise StorageFailed(f"{path}: {error.strerror or error}") from None
        place(path, (data,))
        return row

    def has(self, sha256: str) -> bool:
        """Whether the text is there, whole or changed."""
        if self.folder is None or not _SHA256.fullmatch(sha256):
            return sha256 in self._held
        return (self.folder / sha256).is_file()

    def get(self, sha256: str) -> str:
        """The text, checked against its name; LogError when it is gone, DamagedLog when changed."""
        if not _SHA256.fullmatch(sha256):
            raise LogError(f"{sha256[:80]!r} names no stored text")
        try:
            data = self._read(sha256)
        except FileNotFoundError:
            raise LogError("the stored text is gone") from None
        except OSError as error:
            raise LogError(f"the stored text cannot be read: {error.strerror or error}") from None
        if hashlib.sha256(data).hexdigest() != sha256:
            raise DamagedLog(f"the stored text {sha256} was changed; restore it from a copy")
        return data.decode("utf-8", "surrogatepass")

    def known(self) -> Mapping[str, str]:
        """The blobs of a foreign host's spills, by the path that its previews print."""
        if self.folder is None:
            return self._known
        try:
            return msgspec.json.decode((self.folder / _KNOWN).read_bytes(), type=dict[str, str])
        except (OSError, msgspec.DecodeError):
            return {}

    def learn(self, known: Mapping[str, str]) -> None:
        """Remember blobs by the paths that previews print, besides those known already.

        Such a path is only ever a key: nothing opens it.
        """
        known = {**self.known(), **known}
        if self.folder is None:
            self._known = known
            return
        path = self.folder / _KNOWN
        path.unlink(missing_ok=True)
        place(path, (msgspec.json.encode(known),))

    def _read(self, sha256: str) -> bytes:
        if self.folder is not None:
            return (self.folder / sha256).read_bytes()
        if sha256 not in self._held:
            raise FileNotFoundError(sha256)
        return self._held[sha256]


def copy_spills(events: Iterable[Event], source: Blobs, target: Blobs) -> None:
    """Copy the texts that `events` name; a text that is gone stays gone."""
    if source.folder is not None and source.folder == target.folder:
        return
    for event in events:
        if isinstance(event, ToolResult):
            for row in spill_rows(event.data.meta):
                if source.has(row.sha256):
                    target.put(source.get(row.sha256), block=row.block, part=row.part)


def spills_of(events: Iterable[Event]) -> Iterator[tuple[int, int, Spill]]:
    """Block, part and head of every part of an original result that reads like a preview."""
    for event in events:
        if not isinstance(event, ToolResult) or not event.is_original:
            continue
        blocks = [b for b in event.data.message.content if isinstance(b, ToolResultBlock)]
        for number, block in enumerate(blocks, 1):
            texts = [piece.text for piece in block.content if isinstance(piece, Text)]
            for part, text in enumerate(texts, 1):
                spill = spill_head(text)
                if spill is not None:
                    yield number, part, spill


class SessionSpills:
    """Which text parts of a session's results are views of spills, and the full texts.

    `known` maps a path that views of another host print to the blob it was imported as, or to None
    when its text is known to be lost; a head that is no key of it is ordinary text. Without it,
    the map that an import left beside the blobs is used.
    """

    def __init__(
        self, events: Sequence[Event], blobs: Blobs, known: Mapping[str, str | None] | None = None
    ) -> None:
        self._events = events
        self._blobs = blobs
        self._known = blobs.known() if known is None else known

    def find(self, event: ToolResult, block: int, part: int) -> Spill | None:
        """What this part of an original result is a view of; None for a whole text."""
        claim = spill_head(_part(event, block, part))
        for row in spill_rows(event.data.meta):
            if (row.block, row.part) == (block, part):
                where = claim.where if claim else self._blobs.where(row.sha256)
                return Spill(where, row.bytes)
        return claim if claim is not None and claim.where in self._known else None

    def read(self, seq: int, block: int, part: int) -> str:
        """The full text of a view; LogError when it cannot be had."""
        event = self._events[seq]
        if not isinstance(event, ToolResult):
            raise LogError(f"event {seq} is no tool result")
        for row in spill_rows(event.data.meta):
            if (row.block, row.part) == (block, part):
                return self._blobs.get(row.sha256)
        claim = spill_head(_part(event, block, part))
        sha256 = self._known.get(claim.where) if claim else None
        if sha256 is None:
            raise LogError("the stored text is gone")
        return self._blobs.get(sha256)

    def behind(self, preview: str) -> str | None:
        """The full text that a logged copy of an output stands for; None when it is not known."""
        claim = spill_head(preview)
        sha256 = self._known.get(claim.where) if claim else None
        try:
            return self._blobs.get(sha256) if sha256 is not None else None
        except LogError:
            return None


def _part(event: ToolResult, block: int, part: int) -> str:
    """A text part of a result block; empty when there is none."""
    blocks = [b for b in event.data.message.content if isinstance(b, ToolResultBlock)]
    if not 1 <= block <= len(blocks):
        return ""
    texts = [piece.text for piece in blocks[block - 1].content if isinstance(piece, Text)]
    return texts[part - 1] if 1 <= part <= len(texts) else ""
