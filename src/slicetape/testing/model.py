"""A model without a network: scripted replies to the loop, read as a provider's are.

What it says goes through the same reader of streams as an answer over HTTP, so faults end as they
do there. Requests are held to the rules of a strict provider, and to the rule that nothing moves
inside a turn.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, Literal

from slicetape.loop.deltas import Delta, Finish, FinishReason
from slicetape.loop.protocols import Route
from slicetape.models.chat_answer import ChatAnswer
from slicetape.models.failures import of_status
from slicetape.models.messages_answer import MessagesAnswer
from slicetape.testing.answers import Answer
from slicetape.testing.refusals import Dialect, Refusal
from slicetape.testing.replies import Reply, Script
from slicetape.testing.speaker import Billing, Speaker
from slicetape.testing.sse_text import CUT, STALL, chat_stream, messages_stream
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.openai_chat import ChatWire

ROUTE = Route(provider="scripted", model="scripted", wire=ChatWire(), max_tokens=8_000)

Json = Mapping[str, Any]


class ScriptedModel:
    """Answers by a script, or by what a function makes of each request.

        model = ScriptedModel([Reply(tools=(Asked("look"),)), Reply(text="Done.")])

    `bodies` are the requests; `problems` says what a provider would have refused of them, and
    which of them broke the prefix inside a turn.
    """

    def __init__(
        self,
        replies: Iterable[Reply] | Callable[[Json], Reply],
        *,
        summaries: Iterable[Reply] = (),
        faults: Mapping[int, str] | None = None,
        route: Route = ROUTE,
        billing: Billing | None = None,
    ) -> None:
        """`faults` let requests fail, by number from 1. PriceError for an unknown `billing`."""
        by_rule = callable(replies)
        self._script = Script.of(() if by_rule else replies)  # type: ignore[arg-type]
        self._script.otherwise = replies if by_rule else None  # type: ignore[assignment]
        self._script.faults = dict(faults or {})
        self._summaries = Script.of(summaries, otherwise=_summary)
        self._speaker = Speaker(self._script, billing)
        self._route = route
        self.bodies: list[bytes] = []
        self.problems: list[str] = []

    @property
    def route(self) -> Route:
        """The route that it was given."""
        return self._route

    @property
    def requests(self) -> list[Any]:
        """The requests as JSON."""
        return [json.loads(body) for body in self.bodies]

    @property
    def left(self) -> int:
        """How many replies were not asked for yet, rules aside."""
        return len(self._script.replies)

    @property
    def stats(self) -> dict[str, Any]:
        """Totals, as a scripted provider gives them."""
        return self._speaker.stats

    async def stream(
        self, body: bytes, *, purpose: Literal["step", "summary"] = "step"
    ) -> AsyncIterator[Delta]:
        """The reply to one request."""
        self.bodies.append(body)
        script = self._script if purpose == "step" else self._summaries
        answer = self._speaker.answer(self._dialect, body, script)
        if isinstance(answer, Refusal):
            if answer.invalid:
                self.problems.append(f"request {len(self.bodies)}: {answer.text}")
            yield self._refused(answer)
            return
        if answer.bill.growth == "broken":
            text = "what was sent before changed inside a turn"
            self.problems.append(f"request {len(self.bodies)}: {text}")
        if answer.reply.fault == "hang":
            await asyncio.Event().wait()
        async for delta in self._said(answer):
            yield delta

    async def close(self) -> None:
        """There is nothing to give up."""

    @property
    def _dialect(self) -> Dialect:
        wire = self._route.wire
        if isinstance(wire, MessagesWire):
            return "anthropic"
        return "deepseek" if wire.dialect.name == "deepseek" else "openai"

    async def _said(self, answer: Answer) -> AsyncIterator[Delta]:
        messages = self._dialect == "anthropic"
        parts = messages_stream(answer) if messages else chat_stream(answer)
        read = MessagesAnswer() if messages else ChatAnswer()
        for part in parts:
            if part is CUT:
                break
            if part is STALL:
                await asyncio.Event().wait()
            for delta in read.take(_data(part)):
                yield delta
            if read.done:
                break
            await asyncio.sleep(0)
        for delta in read.end():
            yield delta

    def _refused(self, refusal: Refusal) -> Finish:
        number = self._speaker.count
        text = json.dumps(refusal.body(self._dialect, number))
        failure = of_status(refusal.status, text, refusal.headers(self._dialect, number))
        return Finish(FinishReason("error", failure))


def _summary(_: Json) -> Reply:
    return Reply(text="A summary of what was said.")


def _data(part: bytes | str) -> str:
    """The data of one event."""
    text = part.decode() if isinstance(part, bytes) else part
    return text.partition("data: ")[2].rstrip("\n")
