"""The official SDKs as carriers of bytes: one POST, events back, one place for what goes wrong."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Protocol

from slicetape.log.payloads import Failure
from slicetape.loop.deltas import Delta
from slicetape.models.failures import failure, of_body, of_status
from slicetape.models.place import Place, is_here
from slicetape.models.sse import NoEvents, Oversized, Silent, events

_DRAIN_S = 0.1
_OURS = frozenset({"accept", "authorization", "content-type", "x-api-key"})
_CLIENTS = {"openai": "AsyncOpenAI", "anthropic": "AsyncAnthropic"}
_HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream"}


class Broken(Exception):
    """A request or its stream failed; `failure` says how."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Answer(Protocol):
    """One answer as its events come in; knows nothing of connections."""

    @property
    def done(self) -> bool:
        """Whether nothing more is expected."""
        ...

    def take(self, data: str) -> Iterator[Delta]:
        """The deltas of one event."""
        ...

    def end(self) -> Iterator[Delta]:
        """What closes the answer: open blocks, usage, and the one finish."""
        ...

    def fail(self, failure: Failure) -> None:
        """The answer ends with `failure`, unless it has failed before."""
        ...


class Carrier:
    """One client of one SDK, made when it is first needed. Retries are the loop's.

    It belongs to the event loop that first asked it; close it there.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._client: Any = None

    async def answered(self, path: str, body: bytes, answer: Answer) -> AsyncIterator[Delta]:
        """Send `body` as it is; the deltas that `answer` makes of what comes back.

        Whatever goes wrong, the last one is the only finish.
        """
        told = self._events(path, body, lambda: answer.done)
        try:
            async with contextlib.aclosing(told):
                async for data in told:
                    for delta in answer.take(data):
                        yield delta
        except Broken as broken:
            answer.fail(broken.failure)
        except Exception as error:  # noqa: BLE001  # what a provider sends must not end a session
            kind = type(error).__name__
            answer.fail(failure("MALFORMED_RESPONSE", f"the answer cannot be read ({kind})"))
        for delta in answer.end():
            yield delta

    async def _events(
        self, path: str, body: bytes, done: Callable[[], bool]
    ) -> AsyncGenerator[str, None]:
        response: Any = None
        try:
            response = await self._sent(path, body)
            told = events(response.aiter_bytes(), silence=self._place.silence)
            async with contextlib.aclosing(told):
                async for _, data in told:
                    yield data
                    if done():
                        await _drain(told)
                        return
        except Exception as error:  # noqa: BLE001  # told in one table, whoever raised it
            raise Broken(self._told(error)) from None
        finally:
            if response is not None:
                with contextlib.suppress(Exception):
                    await response.aclose()

    async def _sent(self, path: str, body: bytes) -> Any:
        sdk = import_module(self._place.sdk)
        if self._client is None:
            self._client = self._made(sdk)
        async with asyncio.timeout(self._place.silence):
            return await self._client.post(
                path,
                cast_to=_response_type(sdk),
                content=body,
                stream=True,
                stream_cls=sdk.AsyncStream[object],
                options={"headers": self._headers(sdk), "follow_redirects": False},
            )

    def _headers(self, sdk: Any) -> dict[str, Any]:
        if self._place.sdk != "anthropic":
            return _HEADERS
        # The version that `wire` makes its bytes for, and the key where that version has it: each
        # major version of the SDK would send its own, and later ones refuse a temperature.
        key = self._place.key.reveal()
        mine = {"anthropic-version": "2023-06-01", "X-Api-Key": key, "Authorization": sdk.Omit()}
        return {**_HEADERS, **mine}

    def _made(self, sdk: Any) -> Any:
        place = self._place
        client = getattr(sdk, _CLIENTS.get(place.sdk, ""))(
            api_key=place.key.reveal(),
            base_url=place.url,
            max_retries=0,
            timeout=place.silence,
            default_headers={} if place.own else _without_ambient(sdk, place),
            # A proxy of the environment does not lead back to this machine.
            http_client=sdk.DefaultAsyncHttpxClient(
                base_url=place.url, timeout=place.silence, trust_env=not is_here(place.url)
            ),
        )
        if place.sdk == "openai" and not place.own:
            client.organization = client.project = None
        return client

    async def close(self) -> None:
        """Give up connections."""
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                await client.close()

    def _told(self, error: Exception) -> Failure:
        secret, shown = self._place.key.reveal(), self._place.shown
        match error:
            case Silent() | TimeoutError():
                return failure("TIMEOUT", f"nothing came from {shown} in time")
            case Oversized():
                return failure("MALFORMED_RESPONSE", "an event of the answer is beyond 64 MB")
            case NoEvents():
                return of_body(str(error), secret=secret)
            case ImportError() | AttributeError() | TypeError():
                text = f"the package {self._place.sdk} does not fit; renew it ({_cause(error)})"
                return failure("ADAPTER", text, secret=secret)
        sdk = sys.modules[self._place.sdk]
        if isinstance(error, sdk.APIStatusError):
            headers: Mapping[str, str] = error.response.headers
            body, now = _text(error.response), self._place.now
            when = now() if now else None
            return of_status(error.status_code, body, headers, secret=secret, now=when)
        if isinstance(error, sdk.APITimeoutError) or "Timeout" in type(error).__name__:
            return failure("TIMEOUT", f"nothing came from {shown} in time")
        state = "no" if isinstance(error, sdk.APIConnectionError) else "a broken"
        return failure(
            "TRANSPORT", f"{state} connection to {shown}: {_cause(error)}", secret=secret
        )


def _without_ambient(sdk: Any, place: Place) -> dict[str, Any]:
    """What takes back the headers that an SDK reads from the environment for its own provider."""
    given = os.environ.get(f"{place.sdk.upper()}_CUSTOM_HEADERS", "")
    names = [line.partition(":")[0].strip() for line in given.split("\n") if ":" in line]
    kept = {name: sdk.Omit() for name in names if name.lower() not in _OURS}
    if any(name.lower() == "authorization" for name in names):
        kept["Authorization"] = f"Bearer {place.key.reveal()}"
    return kept


async def _drain(told: AsyncIterator[Any]) -> None:
    """Read to the end of a finished answer, so that its connection can be used again."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_DRAIN_S):
            async for _ in told:
                pass


def _response_type(sdk: Any) -> Any:
    """The response class of the HTTP library that an SDK stands on."""
    for name in ("httpx2", "httpx"):
        library = sys.modules.get(name)
        if library and issubclass(sdk.DefaultAsyncHttpxClient, library.AsyncClient):
            return library.Response
    raise RuntimeError(f"{sdk.__name__} stands on an HTTP library that is not known here")


def _text(response: Any) -> str:
    try:
        return str(response.text)[:20_000]
    except Exception:  # noqa: BLE001  # a body that was not read says nothing
        return ""


def _cause(error: Exception) -> str:
    cause = error.__cause__ or error.__context__ or error
    return f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
