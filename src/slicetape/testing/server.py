"""A provider that says what it was told to: both wires over HTTP on this machine, no model behind.

It takes what a strict provider takes, bills with the cache simulator, and fails on demand. For
tests, demos and development; it never listens beyond the loopback address.

    POST /chat/completions       chat, as DeepSeek speaks it
    POST /v1/chat/completions    chat, as OpenAI speaks it
    POST /v1/messages            messages, as Anthropic speaks it
    POST …/count_tokens          tokens of a Messages request
    GET  /models, /v1/models     one model
    GET  /__stats                totals
"""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from slicetape.errors import UsageError
from slicetape.testing.answers import Answer
from slicetape.testing.connection import Connection, Refused, Request, listen
from slicetape.testing.pieces import Wire
from slicetape.testing.refusals import WIRES, Dialect, Refusal, request_id
from slicetape.testing.replies import Script
from slicetape.testing.speaker import Billing, Speaker
from slicetape.testing.sse_text import CUT, STALL, chat_stream, messages_stream

HOST = "127.0.0.1"
SLOW_S = 2.0
_PATHS: Mapping[str, Dialect] = {
    "/chat/completions": "deepseek",
    "/v1/chat/completions": "openai",
    "/v1/messages": "anthropic",
}
_COUNT = "/v1/messages/count_tokens"
_MODELS = {"object": "list", "data": [{"id": "scripted", "object": "model", "type": "model"}]}
_SECRET = ("authorization", "x-api-key", "api-key", "cookie", "proxy-authorization")


@dataclass(frozen=True, slots=True)
class Received:
    """One request: its wire, its body as text, and what was said of it.

    `note` is the fault, or why it was refused; `growth` says how it continues the one before.
    `headers` are without keys.
    """

    wire: Wire
    body: str
    status: int
    note: str
    usage: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    growth: str = ""


class Provider:
    """The server. `received` keeps the requests; `watch` is called with each.

    async with Provider(Script.of([Reply(text="Hello.")])) as provider:
        model = model_from("deepseek:any", environ=provider.environ)
    """

    def __init__(
        self,
        script: Script,
        *,
        watch: Callable[[Received], None] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        port: int = 0,
        billing: Billing | None = None,
    ) -> None:
        """Nothing is opened yet. With `watch`, requests are not kept in `received`.

        PriceError when `billing` names rules or a counter that are not there.
        """
        self.script = script
        self.received: list[Received] = []
        self._speaker = Speaker(script, billing)
        self.watch = watch or self.received.append
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
        """Listen. UsageError when the port is taken or may not be had."""
        try:
            self._server = await listen(self._serve, self._port)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else "it cannot be had"
            text = f"port {self._port} of {HOST}: {why}; choose another, or 0 for any"
            raise UsageError(text) from None
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
        """Totals of all wires, as `Speaker.stats` has them."""
        return self._speaker.stats

    async def _serve(self, client: Connection) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while await self._one(client):
                pass
        except Refused as refused:
            with contextlib.suppress(ConnectionError):
                await client.whole(refused.status, {"error": {"message": str(refused)}})
        except (ConnectionError, EOFError):
            pass
        except asyncio.CancelledError:
            client.cut()  # the server stops; a cancelled task would be reported as a fault
        finally:
            self._open.discard(task)
            await client.close()

    async def _one(self, client: Connection) -> bool:
        """Answer one request; whether the connection may be used for another."""
        request = await client.request()
        dialect = _PATHS.get(request.path)
        if request.method == "POST" and dialect is not None:
            return await self._answer(dialect, request, client) and request.keeps
        if request.method == "POST" and request.path == _COUNT:
            await self._count_tokens(request, client)
        elif request.method == "GET" and request.path == "/__stats":
            await client.whole(200, self.stats)
        elif request.method == "GET" and request.path in ("/models", "/v1/models"):
            await client.whole(200, _MODELS)
        else:
            here = ", ".join(_PATHS)
            text = f"there is nothing at {request.method} {request.path}; POST one of {here}"
            await client.whole(404, {"error": {"type": "not_found_error", "message": text}})
        return request.keeps

    async def _answer(self, dialect: Dialect, request: Request, client: Connection) -> bool:
        answer = self._speaker.answer(dialect, request.body)
        number = self._speaker.count
        if isinstance(answer, Refusal):
            self._note(dialect, request, (answer.status, answer.text))
            headers = answer.headers(dialect, number)
            await client.whole(answer.status, answer.body(dialect, number), headers)
            return True
        fault, messages = answer.reply.fault, dialect == "anthropic"
        usage = answer.messages_usage() if messages else answer.chat_usage()
        self._note(dialect, request, (200, fault), usage=usage, growth=answer.bill.growth)
        if fault == "hang":
            await client.wait()
        if fault == "slow-first":
            await client.wait(self._sleep(SLOW_S))
        if answer.asked.get("stream") is True:
            return await self._stream(dialect, answer, client)
        if fault in ("cut", "cut-call", "stall"):
            client.cut()
            return False
        whole = answer.messages() if messages else answer.chat()
        await client.whole(200, whole, request_id(dialect, number))
        return True

    async def _stream(self, dialect: Dialect, answer: Answer, client: Connection) -> bool:
        client.begin_stream(request_id(dialect, answer.number))
        make = messages_stream if dialect == "anthropic" else chat_stream
        for part in make(answer):
            if part is CUT:
                client.cut()
                return False
            if part is STALL:
                await client.wait()
            assert isinstance(part, bytes)
            await client.part(part)
            if answer.reply.fault == "slow":
                await client.wait(self._sleep(SLOW_S / 10))
        await client.part(b"")
        return True

    async def _count_tokens(self, request: Request, client: Connection) -> None:
        tokens = self._speaker.measure("anthropic", request.body)
        if isinstance(tokens, Refusal):
            await client.whole(tokens.status, tokens.body("anthropic", 0))
        else:
            await client.whole(200, {"input_tokens": tokens})

    def _note(
        self, dialect: Dialect, request: Request, ended: tuple[int, str], **more: Any
    ) -> None:
        headers = {k: v for k, v in request.headers.items() if k and k not in _SECRET}
        body = request.body.decode("utf-8", "replace")
        row = Received(WIRES[dialect], body, *ended, path=request.path, headers=headers, **more)
        self.watch(row)
