"""A provider that says what it was told to: both wires over HTTP on this machine, no model behind.

It takes what a strict provider takes, bills with the cache simulator, and fails on demand. For
tests, demos and development; it never listens beyond the loopback address.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from slicetape.testing.accounting import Account
from slicetape.testing.replies import Reply, Script, with_ids
from slicetape.testing.sse_text import (
    CUT,
    Parts,
    chat_stream,
    chat_usage,
    messages_stream,
    messages_usage,
)
from slicetape.wire.lint_wire import lint_chat, lint_messages

HOST = "127.0.0.1"
MOST_BYTES = 256 * 1_024 * 1_024
SLOW_S = 2.0

Wire = Literal["chat", "messages"]
_PATHS: Mapping[str, Wire] = {
    "/chat/completions": "chat",
    "/v1/chat/completions": "chat",
    "/v1/messages": "messages",
}
_OVERFLOW = {
    "chat": "This model's maximum context length is 1000 tokens; your request has more.",
    "messages": "prompt is too long: 1001 tokens > 1000 maximum",
}
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 413: "Too Large"}


@dataclass(frozen=True, slots=True)
class Received:
    """One request: its wire, its body as text, and what was said of it."""

    wire: Wire
    body: str
    status: int
    note: str
    usage: Mapping[str, Any] = field(default_factory=dict)


class Provider:
    """The server. `received` keeps every request; `watch` is called with each.

    async with Provider(Script.of([Reply(text="Hello.")])) as provider:
        model = model_from("deepseek:any", environ=provider.environ)
    """

    def __init__(
        self,
        script: Script,
        *,
        watch: Callable[[Received], None] = lambda _: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        port: int = 0,
    ) -> None:
        self.script = script
        self.received: list[Received] = []
        self.accounts = {"chat": Account("deepseek"), "messages": Account("anthropic-5m-1024")}
        self._watch = watch
        self._sleep = sleep
        self._port = port
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen. OSError when the port is taken."""
        self._server = await asyncio.start_server(self._serve, HOST, self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening, and drop what is open."""
        if self._server is not None:
            self._server.close()
            for task in list(self._open):
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)
            await self._server.wait_closed()
            self._server = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self._port}"

    @property
    def environ(self) -> dict[str, str]:
        """The variables that point the providers' clients here."""
        return {
            "DEEPSEEK_BASE_URL": self.url,
            "DEEPSEEK_API_KEY": "scripted",
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": "scripted",
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "scripted",
        }

    @property
    def stats(self) -> dict[str, Any]:
        """Totals of both wires."""
        refused = sum(received.status != 200 for received in self.received)
        rows = self.accounts.values()
        return {
            "requests": len(self.received),
            "refused": refused,
            "cached_tokens": sum(row.cached for row in rows),
            "written_tokens": sum(row.written for row in rows),
            "fresh_tokens": sum(row.fresh for row in rows),
            "output_tokens": sum(row.output for row in rows),
        }

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        except asyncio.CancelledError:
            pass  # the server stops; its stream protocol would report a cancelled task as a fault
        finally:
            self._open.discard(task)
            writer.close()
            with contextlib.suppress(Exception):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection may be used for another."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        method, path, *_ = [*first.split(" "), "", ""]
        headers = {
            k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)
        }
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            await _whole(writer, 413, {"error": {"message": "the request is too large"}})
            return False
        body = await reader.readexactly(int(length))
        path = path.partition("?")[0]
        if method == "GET" and path == "/__stats":
            await _whole(writer, 200, self.stats)
            return True
        wire = _PATHS.get(path)
        if method != "POST" or wire is None:
            text = f"there is nothing at {method} {path}; POST one of {', '.join(_PATHS)}"
            await _whole(writer, 404, {"error": {"message": text}})
            return True
        return await self._answer(wire, body, writer)

    async def _answer(self, wire: Wire, body: bytes, writer: asyncio.StreamWriter) -> bool:
        try:
            asked = json.loads(body)
            problems = lint_chat(body) if wire == "chat" else lint_messages(body)
        except (ValueError, RecursionError):
            return await self._refuse(wire, body, writer, 400, "the body is no JSON object")
        if problems:
            text = f"{problems[0].text} (message {problems[0].position})"
            return await self._refuse(wire, body, writer, 400, text)
        reply = with_ids(self.script.next(_last_text(asked)), self.script.count)
        if reply.fault.isdecimal() or reply.fault == "overflow":
            status = 400 if reply.fault == "overflow" else int(reply.fault)
            text = _OVERFLOW[wire] if reply.fault == "overflow" else f"injected: {reply.fault}"
            return await self._refuse(wire, body, writer, status, text)
        said = reply.reasoning + reply.text + "".join(a.name + a.raw for a in reply.tools)
        charge, output = self.accounts[wire].charge(asked, said)
        usage = chat_usage(charge, output) if wire == "chat" else messages_usage(charge, output)
        self._note(Received(wire, body.decode("utf-8", "replace"), 200, reply.fault, usage))
        if reply.fault in ("slow-first", "hang"):
            await self._sleep(SLOW_S if reply.fault == "slow-first" else 3_600)
        make = chat_stream if wire == "chat" else messages_stream
        return await self._stream(writer, make(reply, usage, str(asked.get("model", ""))), reply)

    async def _stream(self, writer: asyncio.StreamWriter, parts: Parts, reply: Reply) -> bool:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for part in parts:
            if part is CUT:
                writer.transport.abort()
                return False
            assert isinstance(part, bytes)
            writer.write(b"%x\r\n%s\r\n" % (len(part), part))
            await writer.drain()
            if reply.fault == "slow":
                await self._sleep(SLOW_S / 10)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _refuse(
        self, wire: Wire, body: bytes, writer: asyncio.StreamWriter, status: int, text: str
    ) -> bool:
        self._note(Received(wire, body.decode("utf-8", "replace"), status, text))
        kind = "invalid_request_error" if status == 400 else "api_error"
        error = {"type": "error", "error": {"type": kind, "message": text}}
        await _whole(writer, status, error, {"retry-after": "1"} if status == 429 else {})
        return True

    def _note(self, received: Received) -> None:
        self.received.append(received)
        self._watch(received)


async def _whole(
    writer: asyncio.StreamWriter,
    status: int,
    value: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
) -> None:
    data = json.dumps(value).encode()
    more = "".join(f"{name}: {text}\r\n" for name, text in (headers or {}).items())
    reason = _REASONS.get(status, "Error")
    writer.write(
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(data)}\r\n{more}\r\n".encode()
        + data
    )
    await writer.drain()


def _last_text(body: Mapping[str, Any]) -> str:
    """What was said since the model's last answer."""
    said: list[str] = []
    for message in reversed(body.get("messages") or []):
        if message.get("role") == "assistant":
            break
        content = message.get("content")
        blocks = [content] if isinstance(content, str) else content or []
        said += [
            block
            if isinstance(block, str)
            else str(block.get("text") or block.get("content") or "")
            for block in blocks
        ]
    return "\n".join(said)
