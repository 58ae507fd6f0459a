"""HTTP/1.1 as far as a scripted provider needs it: requests in, whole or streamed answers out.

Sizes are bounded, connections are kept, and a client that leaves is noticed while it waits.
"""

import asyncio
import contextlib
import json
import string
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

MOST_BYTES = 256 * 1_024 * 1_024


class Reader(asyncio.StreamReader):
    """A reader that says when the other side is gone."""

    def __init__(self) -> None:
        """Read heads of up to 64 KB."""
        super().__init__(limit=65_536)
        self.gone = asyncio.Event()

    def feed_eof(self) -> None:
        """The other side will send nothing more."""
        super().feed_eof()
        self.gone.set()

    def set_exception(self, exc: Exception) -> None:
        """The connection broke."""
        super().set_exception(exc)
        self.gone.set()


class Refused(Exception):
    """A request that is not read to its end; the connection is closed behind the answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """One request; names of headers are lower case, `path` is without its query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def keeps(self) -> bool:
        """Whether the client wants to send another."""
        return self.headers.get("connection", "").lower() != "close"


class Connection:
    """One client."""

    def __init__(self, reader: Reader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def request(self) -> Request:
        """The next request. `Refused` when it cannot be read, EOFError when there is none."""
        try:
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.LimitOverrunError:
            raise Refused(431, "the head of the request is too large") from None
        first, *lines = head.split("\r\n")
        method, path, *_ = [*first.split(" "), "", ""]
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        if headers.get("expect", "").lower() == "100-continue":
            self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return Request(method, path.partition("?")[0], headers, await self._body(headers))

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("content-encoding", "identity") != "identity":
            raise Refused(415, "compressed requests are not read")
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return await self._chunked()
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdecimal():
            raise Refused(400, "content-length is no number")
        if len(length) > 12 or int(length) > MOST_BYTES:
            raise Refused(413, f"the request is longer than {MOST_BYTES:,} bytes")
        return await self._reader.readexactly(int(length))

    async def _chunked(self) -> bytes:
        body = bytearray()
        while size := await self._size():
            if len(body) + size > MOST_BYTES:
                raise Refused(413, f"the request is longer than {MOST_BYTES:,} bytes")
            body += await self._reader.readexactly(size)
            await self._line()
        while await self._line():
            pass
        return bytes(body)

    async def _size(self) -> int:
        text = (await self._line()).partition(b";")[0].strip()
        if not text or len(text) > 12 or text.strip(string.hexdigits.encode()):
            raise Refused(400, "a chunk has no size")
        return int(text, 16)

    async def _line(self) -> bytes:
        try:
            return (await self._reader.readline()).strip()
        except ValueError:
            raise Refused(431, "a line between chunks is too long") from None

    async def whole(
        self, status: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer with one JSON object."""
        data = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        head = {"content-length": str(len(data)), **(headers or {})}
        self._head(status, "application/json", head)
        self._writer.write(data)
        await self._writer.drain()

    def begin_stream(self, headers: Mapping[str, str] | None = None) -> None:
        """Begin an answer that comes in parts."""
        head = {"transfer-encoding": "chunked", "cache-control": "no-cache", **(headers or {})}
        self._head(200, "text/event-stream", head)

    async def part(self, data: bytes) -> None:
        """A part of the answer; an empty one ends it."""
        self._writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self._writer.drain()

    def cut(self) -> None:
        """Break the connection."""
        self._writer.transport.abort()

    async def wait(self, work: Awaitable[object] | None = None) -> None:
        """Wait for `work`, or for ever. ConnectionError as soon as the client is gone."""
        leaving = asyncio.ensure_future(self._reader.gone.wait())
        tasks = {leaving} if work is None else {leaving, asyncio.ensure_future(work)}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        if self._reader.gone.is_set():
            raise ConnectionResetError("the client is gone")

    async def close(self) -> None:
        """Give the connection up."""
        self._writer.close()
        with contextlib.suppress(Exception):
            await self._writer.wait_closed()

    def _head(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        try:
            reason = HTTPStatus(status).phrase
        except ValueError:
            reason = "Error"
        lines = [f"HTTP/1.1 {status} {reason}", f"content-type: {kind}"]
        lines += [f"{name}: {text}" for name, text in headers.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode("latin-1", "replace"))


async def listen(serve: Callable[[Connection], Awaitable[None]], port: int) -> asyncio.Server:
    """Serve each client on this machine alone; OSError when the port is taken."""
    loop = asyncio.get_running_loop()

    def protocol() -> asyncio.StreamReaderProtocol:
        reader = Reader()
        return asyncio.StreamReaderProtocol(
            reader, lambda _, writer: serve(Connection(reader, writer)), loop=loop
        )

    return await loop.create_server(protocol, "127.0.0.1", port)
