"""A tiny HTTP server that answers with what it is told to and keeps what it was sent."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from slicetape.loop.deltas import Delta

CHAT_END = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Act = Callable[["Server", asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Reply:
    """Status, headers and the pieces of a body; a piece that is callable is awaited."""

    pieces: Sequence[bytes | Act] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    end: bool = True  # whether the body is ended as it should be
    head: bool = True  # whether there is a status and headers at all


@dataclass
class Server:
    """Where it listens, what came in, what goes out."""

    port: int = 0
    replies: deque[Reply] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


async def hang(server: Server, writer: asyncio.StreamWriter) -> None:
    """Nothing more comes; noticed when the other side goes."""
    await asyncio.Event().wait()


@asynccontextmanager
async def served(*replies: Reply) -> AsyncIterator[Server]:
    server = Server(replies=deque(replies))
    tasks: set[asyncio.Task[Any]] = set()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        server.connections += 1
        try:
            while await _exchange(server, reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(meet, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await listening.wait_closed()


async def _exchange(
    server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {k.lower(): v.strip() for k, _, v in (h.partition(":") for h in head[1:] if h)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    server.requests.append(Request(method, path, headers, body))
    reply = server.replies.popleft()
    lines = [f"HTTP/1.1 {reply.status} Told", "transfer-encoding: chunked"]
    given = {"content-type": "text/event-stream", **reply.headers}
    lines += [f"{name}: {value}" for name, value in given.items()]
    if reply.head:
        writer.write("\r\n".join([*lines, "", ""]).encode())
    answering = asyncio.create_task(_answer(server, writer, reply))
    leaving = asyncio.create_task(reader.read(1))
    done, _ = await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
    if answering not in done:
        answering.cancel()
        server.gone.set()
        return False
    if not reply.end:
        leaving.cancel()
        return False
    answering.result()
    # The next request has begun, or the other side has gone.
    first = await leaving
    if not first:
        server.gone.set()
        return False
    reader._buffer[:0] = first  # type: ignore[attr-defined]
    return True


async def _answer(server: Server, writer: asyncio.StreamWriter, reply: Reply) -> None:
    for piece in reply.pieces:
        if callable(piece):
            await piece(server, writer)
        elif piece:
            writer.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
            await writer.drain()
    if reply.end:
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def events(*values: Any, names: bool = False) -> bytes:
    """Values as the events of a stream."""
    return b"".join(
        (f"event: {v['type']}\n" if names else "").encode()
        + b"data: "
        + json.dumps(v).encode()
        + b"\n\n"
        for v in values
    )


async def deltas_of(stream: AsyncIterator[Delta]) -> list[Delta]:
    return [delta async for delta in stream]
