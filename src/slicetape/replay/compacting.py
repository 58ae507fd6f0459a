"""The host's compaction at work in a replay, with a composed summary and a priced call."""

from collections.abc import Sequence
from dataclasses import dataclass

from slicetape.log.events import Event
from slicetape.log.messages import Message
from slicetape.loop.compaction import CompactionSettings, Compactor, Route
from slicetape.loop.estimate import estimate_event
from slicetape.replay.counting import Counts
from slicetape.replay.meter import Meter, Sent
from slicetape.replay.summary import summarise
from slicetape.surface import Session

INSTRUCTION = 400
"""Tokens that the instruction of a summary call is taken for."""


@dataclass(frozen=True, slots=True)
class Room:
    """How many tokens a request may have, and how many stand ahead of its messages."""

    window: int
    head: int


class Compacting:
    """The `compact` arm: prune and summarise when the window fills, and pay for the call.

    Each summary call is added to `log` as a request of its own.
    """

    def __init__(
        self, session: Session, meter: Meter, counts: Counts, room: Room, log: list[Sent]
    ) -> None:
        self._session = session
        self._meter = meter
        self._counts = counts
        self._settings = CompactionSettings(window=room.window)
        self._head = room.head
        self._compactor = Compactor(session, self._settings, Route("", ""))
        self._log = log
        self._anchor: int | None = None
        self._anchored = 0
        self._time = 0

    @property
    def count(self) -> int:
        """Summaries that took their place."""
        return self._compactor.count

    def before_step(self, step: int, *, time: int, pending: Sequence[Message]) -> None:
        """Compact if the next request would fill too much of the window."""
        if self._anchor is None:
            return
        self._time = time
        self._compactor.before_step(time=time, pressure=self._pressure, summarise=self._summarise)

    def sent(self, sent: Sent, answer: Event) -> None:
        """Anchor the estimate on what a request and its answer, about to be appended, had."""
        self._anchored = self._compactor.estimated + estimate_event(answer)
        self._anchor = max(sent.request.total + sent.output, self._head + self._anchored)

    def _pressure(self) -> int:
        assert self._anchor is not None
        return self._anchor + self._compactor.estimated - self._anchored

    def _summarise(self, region: Sequence[int]) -> str:
        text = summarise(
            self._session.view,
            region,
            count=self._counts.text,
            limit=self._settings.summary_tokens,
        )
        self._log.append(
            self._meter.side_call(
                time=self._time,
                through=region[-1],
                extra=INSTRUCTION,
                output=self._counts.text(text),
            )
        )
        return text
