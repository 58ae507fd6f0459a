"""`read`: the numbered lines of a text file, a window of it at a time.

A file is streamed: what is not shown is counted, hashed and let go.
"""

import asyncio
import codecs
import hashlib
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from slicetape.loop.protocols import Call, Output
from slicetape.tools.guard import Guard, Seen, version_of
from slicetape.tools.workspace import Place, Refused, Workspace, opened, quoted, regular

MOST_LINES = 2_000
MOST_BYTES = 50 * 1_024
MOST_CHARS = 2_000
_CHUNK = 1 << 20
_HELD = 2 * MOST_CHARS  # of a line that goes on in the next chunk: more than is ever shown

LANGUAGES = frozenset({
    "c", "cc", "cpp", "cs", "css", "go", "h", "hpp", "html", "java", "js", "json", "jsx", "kt",
    "lua", "md", "php", "py", "rb", "rs", "sh", "sql", "swift", "toml", "ts", "tsx", "xml",
    "yaml", "yml",
})  # fmt: skip
"""Endings that the metadata names as the language, as the host does."""


@dataclass(frozen=True, slots=True)
class Window:
    """The lines that are asked for."""

    offset: int = 1
    limit: int = MOST_LINES


@dataclass(frozen=True, slots=True)
class ReadTool:
    """Reads text files of a workspace; what it saw counts for later changes."""

    workspace: Workspace
    guard: Guard
    name: str = "read"
    description: str = (
        "Read a text file: numbered lines, at most 2000 or 50 KiB at once. offset (from 1) and "
        "limit choose lines."
    )
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "offset": {"type": "number"},
                "limit": {"type": "number"},
            },
            "required": ["file_path"],
        }
    )

    def parallel(self, arguments: Mapping[str, Any]) -> bool:
        """Reads disturb nobody."""
        return True

    async def run(self, arguments: Mapping[str, Any], call: Call) -> Output:
        """The lines asked for, and a footer that says what is left."""
        return await asyncio.to_thread(self._read, arguments, call)

    def _read(self, arguments: Mapping[str, Any], call: Call) -> Output:
        try:
            place = self.workspace.place(arguments["file_path"], verb="read")
            window = _window(arguments)
        except Refused as refused:
            return refused.output
        try:
            return self._shown(place, window, call)
        except Refused as refused:
            return self.guard.missed(refused, place, call.call_id)

    def _shown(self, place: Place, window: Window, call: Call) -> Output:
        regular(place, "read")
        descriptor = opened(place, "read")
        facts = os.fstat(descriptor)
        read = _File(descriptor, place)
        lines = _selected(read, window)
        body, footer = _rendered(read, lines, window)
        if read.total < window.offset and not (read.total == 0 and window.offset == 1):
            raise Refused(
                f"cannot read {quoted(place.shown)}: offset {window.offset} is past the end "
                f"({read.total} lines)",
                "FS_NOT_FOUND",
            )
        complete = window.offset == 1 and len(lines.shown) == read.total and not lines.cut
        meta = {
            "path": str(place.shown),
            "offset": window.offset,
            "count": len(lines.shown),
            "totalLines": read.total,
            **({"lang": ending} if (ending := place.shown.suffix[1:]) in LANGUAGES else {}),
            "sha256": read.sha256,
            "bytes": read.size,
            "complete": complete,
        }
        seen = Seen(
            call.call_id,
            str(place.shown),
            str(place.real),
            version=version_of(facts),
            sha256=read.sha256,
            bytes=read.size,
            complete=complete,
        )
        inner = f"{body}\n\n({footer})"
        text = f"<path>{place.shown}</path>\n<type>file</type>\n<content>\n{inner}\n</content>"
        return Output.of(text, meta=Raw(msgspec.json.encode(meta)), notes=(self.guard.note(seen),))


@dataclass(slots=True)
class _Lines:
    shown: list[str]
    cut: bool = False
    capped: bool = False


class _File:
    """The lines of an open file, decoded strictly; counted and hashed to its end."""

    def __init__(self, descriptor: int, place: Place) -> None:
        self._descriptor = descriptor
        self._place = place
        self.total = 0
        self.size = 0
        self.sha256 = ""

    def lines(self) -> Iterator[str]:
        digest, decoder = hashlib.sha256(), codecs.getincrementaldecoder("utf-8-sig")()
        rest = ""
        with os.fdopen(self._descriptor, "rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                self.size += len(chunk)
                if b"\0" in chunk:
                    raise self._no_text()
                *whole, rest = (rest[:_HELD] + self._decoded(decoder, chunk)).split("\n")
                for line in whole:
                    self.total += 1
                    yield line.removesuffix("\r")
        rest += self._decoded(decoder, b"", final=True)
        if rest:
            self.total += 1
            yield rest.removesuffix("\r")
        self.sha256 = digest.hexdigest()

    def _decoded(self, decoder: Any, chunk: bytes, *, final: bool = False) -> str:
        try:
            return str(decoder.decode(chunk, final))
        except UnicodeDecodeError:
            raise self._no_text() from None

    def _no_text(self) -> Refused:
        return Refused(f"cannot read {quoted(self._place.shown)}: not a text file", "FS_NOT_TEXT")


def _window(arguments: Mapping[str, Any]) -> Window:
    offset, limit = arguments.get("offset", 1), arguments.get("limit", MOST_LINES)
    for name, value in (("offset", offset), ("limit", limit)):
        if not math.isfinite(value) or value != int(value) or value < 1:
            raise Refused(
                f'invalid arguments: "{name}" must be a whole number from 1 on',
                "INVALID_ARGS",
                "ToolArgsError",
            )
    return Window(int(offset), min(int(limit), MOST_LINES))


def _selected(file: _File, window: Window) -> _Lines:
    found, size = _Lines([]), 0
    for line in file.lines():
        number = file.total
        if number < window.offset or len(found.shown) >= window.limit or found.capped:
            continue
        shown = _within(line)
        found.cut = found.cut or shown is not line
        size += len(shown.encode()) + bool(found.shown)
        if size > MOST_BYTES and found.shown:
            found.capped = True
            continue
        found.shown.append(shown)
    return found


def _within(line: str) -> str:
    """A line as it is shown: cut at 2,000 UTF-16 units, the host's measure, never in a pair."""
    if len(line) <= MOST_CHARS // 2:
        return line
    units = line[: MOST_CHARS + 1].encode("utf-16-le")
    if len(units) <= 2 * MOST_CHARS:
        return line
    kept = units[: 2 * MOST_CHARS].decode("utf-16-le", "ignore")
    return f"{kept}... (line truncated to {MOST_CHARS} chars)"


def _rendered(file: _File, lines: _Lines, window: Window) -> tuple[str, str]:
    body = "\n".join(f"{n}: {line}" for n, line in enumerate(lines.shown, window.offset))
    last = window.offset + len(lines.shown) - 1
    if last >= file.total:
        return body, f"End of file - total {file.total} lines"
    if lines.capped:
        shown = f"Showing lines {window.offset}-{last}"
        return body, f"Output capped. {shown}. Use offset={last + 1} to continue."
    return body, (
        f"Showing lines {window.offset}-{last} of {file.total}. Use offset={last + 1} to continue."
    )
