"""Anthropic messages on the official `anthropic` SDK; its beta features stay off.

The SDK carries the bytes that the wire made; `messages_answer.py` says what comes back.
"""

from collections.abc import AsyncIterator
from typing import Literal

from slicetape.loop.deltas import Delta
from slicetape.loop.protocols import Route
from slicetape.models.messages_answer import MessagesAnswer
from slicetape.models.place import Place
from slicetape.models.transport import Carrier


class AnthropicModel:
    """A model behind `POST …/v1/messages`. Nothing is loaded or sent before it is asked."""

    def __init__(self, route: Route, place: Place) -> None:
        self._route = route
        self._secret = place.key.reveal()
        self._carrier = Carrier(place)

    @property
    def route(self) -> Route:
        """Where this model is."""
        return self._route

    def stream(
        self, body: bytes, *, purpose: Literal["step", "summary"] = "step"
    ) -> AsyncIterator[Delta]:
        """Send one request; its deltas, and one `Finish` at the end."""
        return self._carrier.answered("/v1/messages", body, MessagesAnswer(self._secret))

    async def close(self) -> None:
        """Give up connections."""
        await self._carrier.close()
