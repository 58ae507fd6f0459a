"""Server-sent events, from the bytes of both wires.

Lines end with CR, LF or both and with nothing else: what JSON may carry bare (U+2028, U+0085) ends
none. The SDKs' own readers are not used because they keep the terminator of a stream to
themselves, and with it whether an answer is whole.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

MOST_BYTES = 64 * 1024 * 1024
"""The size of one event beyond which a stream is taken for broken."""

_STRAY_CHARS = 4_000
_FIELDS = frozenset({b"", b"data", b"event", b"id", b"retry"})


class Silent(Exception):
    """Nothing came for too long."""


class Oversized(Exception):
    """An event that no provider sends."""


class NoEvents(Exception):
    """The whole answer held no event; its text is what it held instead, cut."""


class Lines:
    """Bytes as they come in, to lines without their ends."""

    __slots__ = ("_after_cr", "_parts", "_size", "_started")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._started = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` ends. Raises Oversized."""
        if not chunk:
            return []
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
        self._after_cr = chunk[-1:] == b"\r"
        self._size += len(chunk)
        if self._size > MOST_BYTES:
            raise Oversized
        self._parts.append(chunk)
        if b"\n" not in chunk and b"\r" not in chunk:
            return []
        data = b"".join(self._parts)
        if not self._started:
            data, self._started = data.removeprefix(b"\xef\xbb\xbf"), True
        lines = data.splitlines()
        rest = b"" if data.endswith((b"\n", b"\r")) else lines.pop()
        self._parts, self._size = [rest], len(rest)
        return lines

    def rest(self) -> bytes:
        """A last line that has no end."""
        return b"".join(self._parts)


async def events(
    chunks: AsyncIterator[bytes], *, silence: float
) -> AsyncGenerator[tuple[str, str], None]:
    """The events of a stream: name (empty when none is given) and data.

    Raises Silent when no byte comes for `silence` seconds, and NoEvents. Comments and unknown
    fields are passed over; a line that the stream breaks off in is not given.
    """
    lines, event = Lines(), _Event()
    coming = aiter(chunks)
    while True:
        try:
            async with asyncio.timeout(silence):
                chunk = await anext(coming)
        except StopAsyncIteration:
            break
        except TimeoutError:
            raise Silent from None
        for line in lines.feed(chunk):
            found = event.take(line)
            if found is not None:
                yield found
    last = event.take(b"")
    if last is not None:
        yield last
    if not event.any:
        event.take(lines.rest())
        raise NoEvents(" ".join(event.stray))


class _Event:
    """The event whose lines are coming in."""

    __slots__ = ("any", "data", "name", "size", "stray")

    def __init__(self) -> None:
        self.name = ""
        self.data: list[str] = []
        self.size = 0
        self.any = False
        self.stray: list[str] = []

    def take(self, line: bytes) -> tuple[str, str] | None:
        """The event that ends with `line`."""
        if not line:
            found = (self.name, "\n".join(self.data)) if self.data else None
            self.name, self.data, self.size = "", [], 0
            self.any = self.any or found is not None
            return found
        field, _, raw = line.partition(b":")
        if field == b"data":
            self.size += len(raw)
            if self.size > MOST_BYTES:
                raise Oversized
            self.data.append(raw.removeprefix(b" ").decode("utf-8", "replace"))
        elif field == b"event":
            self.name = raw.removeprefix(b" ").decode("utf-8", "replace")
        elif field not in _FIELDS and not self.any and len(self.stray) < 200:
            self.stray.append(line[:_STRAY_CHARS].decode("utf-8", "replace"))
        return None
