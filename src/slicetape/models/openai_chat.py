"""Chat completions on the official `openai` SDK: DeepSeek, OpenAI, and every server that speaks it.

The SDK carries the bytes that the wire made; `chat_answer.py` says what comes back.
"""

from collections.abc import AsyncIterator
from typing import Literal

from slicetape.loop.deltas import Delta
from slicetape.loop.protocols import Route
from slicetape.models.chat_answer import ChatAnswer
from slicetape.models.place import Place
from slicetape.models.transport import Carrier


class ChatModel:
    """A model behind `POST …/chat/completions`. Nothing is loaded or sent before it is asked."""

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
        return self._carrier.answered("/chat/completions", body, ChatAnswer(self._secret))

    async def close(self) -> None:
        """Give up connections."""
        await self._carrier.close()
