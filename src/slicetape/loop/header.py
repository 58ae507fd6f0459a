"""The envelope of requests, logged in full whenever it is due, and the facts of the route."""

import msgspec
from msgspec import Raw

from slicetape.log.events import Event, RequestContext, RequestHeader
from slicetape.log.messages import NO_JSON
from slicetape.log.payloads import (
    HeaderConfig,
    RequestContextData,
    RequestEnvelope,
    RequestHeaderData,
)
from slicetape.loop.protocols import Route
from slicetape.surface import Session


class Headers:
    """When `request/header` and `request/context` are due in one session.

    `initial` is the first header ever, `resume` the first of this process over a log that has
    one, `change` says something new, and `series` repeats all because a node was replaced.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last: RequestEnvelope | None = None
        self._context: RequestContextData | None = None
        self._generation = -1
        for event in session.log.events:
            self._take(event)
        self._resumed = self._last is not None

    @property
    def generation_moved(self) -> bool:
        """Whether a node was replaced since the last header of this process."""
        return self._generation != self._session.view.surface.generation

    def write(self, envelope: RequestEnvelope, route: Route, *, time: int) -> None:
        """Append what is due ahead of a request with this envelope."""
        reason = self._due(envelope)
        if reason:
            header = RequestHeaderData(envelope, reason)
            self._take(self._session.append(RequestHeader(time=time, data=header)))
            self._generation = self._session.view.surface.generation
            self._resumed = False
        update = route.system_prompt_update
        context = RequestContextData(
            route.provider,
            route.model,
            route.context_window,
            Raw(msgspec.json.encode(update)) if update else NO_JSON,
        )
        if context != self._context:
            self._take(self._session.append(RequestContext(time=time, data=context)))

    def _due(self, envelope: RequestEnvelope) -> str:
        if self._last is None:
            return "initial"
        if self._resumed:
            return "resume"
        if _said(envelope) != _said(self._last):
            return "change"
        return "series" if self.generation_moved else ""

    def _take(self, event: Event) -> None:
        if isinstance(event, RequestHeader):
            self._last = event.data.header
        elif isinstance(event, RequestContext):
            self._context = event.data


def envelope_of(config: HeaderConfig, tools: Raw, filled: dict[str, bool]) -> RequestEnvelope:
    """An envelope; `filled` names the values of `config` that nobody chose."""
    return RequestEnvelope(
        config,
        Raw(msgspec.json.encode(filled)) if filled else NO_JSON,
        tools if tools and bytes(tools) != b"[]" else NO_JSON,
    )


def _said(envelope: RequestEnvelope) -> tuple[HeaderConfig, object, bytes]:
    marks = msgspec.json.decode(envelope.adapter_defaults) if envelope.adapter_defaults else {}
    return envelope.config, marks, bytes(envelope.tools)
