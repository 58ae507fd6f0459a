"""The official SDKs as carriers of bytes: one POST, and the lines that come back."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from importlib import import_module
from typing import Any, Protocol

from slicetape.errors import ConfigError
from slicetape.log.payloads import Failure
from slicetape.models.failures import failure, of_status
from slicetape.models.keys import Secret
from slicetape.models.sse import Oversized, Silent, events

SILENCE_S = 300.0
HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream"}


class Poster(Protocol):
    """What is used of a client of an SDK."""

    async def post(self, path: str, **how: Any) -> Any:
        """Send a request."""
        ...

    async def close(self) -> None:
        """Give up connections."""
        ...


class Broken(Exception):
    """A request or its stream failed; `failure` says how."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Carrier:
    """One client of one SDK, made when it is first needed. Retries are the loop's."""

    def __init__(self, sdk: str, client: str, *, url: str, key: Secret, silence: float) -> None:
        self._sdk, self._client_name = sdk, client
        self._url, self._key = url, key
        self._silence = silence
        self._client: Poster | None = None

    @property
    def secret(self) -> str:
        """The key, to keep it out of texts."""
        return self._key.reveal()

    async def stream(self, path: str, body: bytes) -> AsyncIterator[tuple[str, str]]:
        """Send `body` as it is; the events of the answer. Raises Broken."""
        client = self._ready()
        sdk = import_module(self._sdk)
        response: Any = None
        try:
            response = await client.post(
                path,
                cast_to=_response_type(),
                content=body,
                stream=True,
                stream_cls=sdk.AsyncStream[object],
                options={"headers": HEADERS},
            )
            async for event in events(response.aiter_lines(), silence=self._silence):
                yield event
        except Silent:
            text = f"nothing came from the provider for {self._silence:.0f} s"
            raise Broken(failure("TIMEOUT", text)) from None
        except Oversized:
            text = "the provider sent an event of more than 64 MB"
            raise Broken(failure("MALFORMED_RESPONSE", text)) from None
        except Exception as error:  # noqa: BLE001  # told in one table, whoever raised it
            raise Broken(self._told(sdk, error)) from None
        finally:
            if response is not None:
                with contextlib.suppress(Exception):
                    await response.aclose()

    async def close(self) -> None:
        """Give up connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _ready(self) -> Poster:
        if self._client is None:
            try:
                sdk = import_module(self._sdk)
            except ModuleNotFoundError:
                raise Broken(
                    failure("INVALID_REQUEST", f"pip install 'slicetape[{self._sdk}]' for this")
                ) from None
            made: Poster = getattr(sdk, self._client_name)(
                api_key=self.secret, base_url=self._url, max_retries=0
            )
            self._client = made
        return self._client

    def _told(self, sdk: Any, error: Exception) -> Failure:
        secret = self.secret
        if isinstance(error, sdk.APIStatusError):
            headers: Mapping[str, str] = error.response.headers
            return of_status(error.status_code, _text(error.response), headers, secret=secret)
        if isinstance(error, sdk.APITimeoutError) or "Timeout" in type(error).__name__:
            return failure("TIMEOUT", f"the provider at {self._url} did not answer in time")
        if isinstance(error, sdk.APIConnectionError):
            return failure(
                "TRANSPORT", f"no connection to {self._url}: {_cause(error)}", secret=secret
            )
        return failure(
            "TRANSPORT", f"the connection to {self._url} broke: {_cause(error)}", secret=secret
        )


def need(sdk: str) -> None:
    """ConfigError when an SDK is not installed."""
    from importlib.util import find_spec

    if find_spec(sdk) is None:
        raise ConfigError(f"this provider needs its SDK: pip install 'slicetape[{sdk}]'")


def _response_type() -> Any:
    """The response class of the HTTP library that the SDKs stand on."""
    try:
        return import_module("httpx2").Response
    except ModuleNotFoundError:
        return import_module("httpx").Response


def _text(response: Any) -> str:
    try:
        return str(response.text)[:20_000]
    except Exception:  # noqa: BLE001  # a body that was not read says nothing
        return ""


def _cause(error: Exception) -> str:
    cause = error.__cause__ or error.__context__ or error
    return f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
