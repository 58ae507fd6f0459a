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
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from slicetape.errors import UsageError
from slicetape.testing.accounting import Account
from slicetape.testing.answers import Answer
from slicetape.testing.connection import Connection, Refused, Request, listen
from slicetape.testing.improvising import spoken
from slicetape.testing.pieces import Wire, answer_piece
from slicetape.testing.refusals import WIRES, Dialect, Refusal, checked, injected, too_long
from slicetape.testing.replies import Reply, Script, status_of, with_ids
from slicetape.testing.sse_text import CUT, STALL, chat_stream, messages_stream

HOST = "127.0.0.1"
SLOW_S = 2.0
CACHES: Mapping[Dialect, str] = {
    "deepseek": "deepseek",
    "openai": "openai-before-5.6",
    "anthropic": "anthropic-5m-1024",
}
"""The cache rules by which each dialect bills when nobody chose others."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Billing:
    """How tokens are counted and billed: a counter, the rules of caches, and a window.

    `caches` names rules for dialects that are not billed by those of `CACHES`; `window` is the
    most tokens of a prompt, None takes any.
    """

    tokens: str = "bytes"
    caches: Mapping[Dialect, str] = field(default_factory=dict)
    window: int | None = None


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
        billing = billing or Billing()
        self.script = script
        self.received: list[Received] = []
        self.accounts = {
            dialect: Account(WIRES[dialect], cache, billing.tokens)
            for dialect, cache in {**CACHES, **billing.caches}.items()
        }
        self._window = billing.window
        self.watch = watch or self.received.append
        self._sleep = sleep
        self._port = port
        self._count = self._refused = self._invalid = 0
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
        """Totals of all wires.

        `rewritten` counts requests that changed what was sent between turns (sealing, compaction),
        `prefix_breaks` those that did so inside a turn; `invalid` those that no provider takes.
        """
        rows = self.accounts.values()
        return {
            "requests": self._count,
            "refused": self._refused,
            "invalid": self._invalid,
            "cached_tokens": sum(row.cached for row in rows),
            "written_tokens": sum(row.written for row in rows),
            "fresh_tokens": sum(row.fresh for row in rows),
            "output_tokens": sum(row.output for row in rows),
            "extended": sum(row.growth.get("extended", 0) for row in rows),
            "rewritten": sum(row.growth.get("rewritten", 0) for row in rows),
            "prefix_breaks": sum(row.growth.get("broken", 0) for row in rows),
        }

    async def _serve(self, client: Connection) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while await self._one(client):
                pass
        except Refused as refused:
            await client.whole(refused.status, {"error": {"message": str(refused)}})
        except (ConnectionError, EOFError):
            pass
        except asyncio.CancelledError:
            pass  # the server stops; its stream protocol would report a cancelled task as a fault
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
        self._count += 1
        asked = checked(dialect, request.body)
        if isinstance(asked, Refusal):
            self._invalid += 1
            return await self._refuse(dialect, request, client, asked)
        reply = with_ids(self.script.next(spoken(asked), asked), self.script.count)
        if refusal := self._refusal(dialect, asked, reply):
            return await self._refuse(dialect, request, client, refusal)
        calls = [(one.id or "", one.name, one.raw) for one in reply.tools]
        said = answer_piece(reply.text, reply.reasoning, calls)
        bill = self.accounts[dialect].charge(asked, said, reasoning=reply.reasoning)
        answer = Answer(reply, bill, asked, self._count)
        usage = answer.messages_usage() if dialect == "anthropic" else answer.chat_usage()
        self._note(dialect, request, (200, reply.fault), usage=usage, growth=bill.growth)
        if reply.fault == "hang":
            await client.wait()
        if reply.fault == "slow-first":
            await client.wait(self._sleep(SLOW_S))
        headers = self._headers(dialect)
        if asked.get("stream") is True:
            return await self._stream(dialect, answer, client, headers)
        if reply.fault in ("cut", "cut-call", "stall"):
            client.cut()
            return False
        whole = answer.messages() if dialect == "anthropic" else answer.chat()
        await client.whole(200, whole, headers)
        return True

    def _refusal(self, dialect: Dialect, asked: Mapping[str, Any], reply: Reply) -> Refusal | None:
        status = status_of(reply.fault)
        if status is not None:
            return injected(status)
        if reply.fault != "overflow" and self._window is None:
            return None
        tokens = self.accounts[dialect].measure(asked)
        if reply.fault == "overflow":
            return too_long(dialect, tokens, min(self._window or tokens, max(tokens - 1, 1)))
        assert self._window is not None
        return too_long(dialect, tokens, self._window) if tokens > self._window else None

    async def _stream(
        self, dialect: Dialect, answer: Answer, client: Connection, headers: Mapping[str, str]
    ) -> bool:
        client.begin_stream(headers)
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

    async def _refuse(
        self, dialect: Dialect, request: Request, client: Connection, refusal: Refusal
    ) -> bool:
        self._refused += 1
        self._note(dialect, request, (refusal.status, refusal.text))
        headers = self._headers(dialect)
        if refusal.status in (429, 503):
            headers["retry-after"] = "1"
        await client.whole(refusal.status, refusal.body(dialect, self._count), headers)
        return True

    async def _count_tokens(self, request: Request, client: Connection) -> None:
        asked = checked("anthropic", request.body)
        if isinstance(asked, Refusal):
            await client.whole(asked.status, asked.body("anthropic", self._count))
        else:
            tokens = self.accounts["anthropic"].measure(asked)
            await client.whole(200, {"input_tokens": tokens})

    def _headers(self, dialect: Dialect) -> dict[str, str]:
        name = "request-id" if dialect == "anthropic" else "x-request-id"
        return {name: f"req_{self._count}"}

    def _note(
        self, dialect: Dialect, request: Request, ended: tuple[int, str], **more: Any
    ) -> None:
        headers = {k: v for k, v in request.headers.items() if k and k not in _SECRET}
        body = request.body.decode("utf-8", "replace")
        row = Received(WIRES[dialect], body, *ended, path=request.path, headers=headers, **more)
        self.watch(row)
