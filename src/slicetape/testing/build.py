"""Sessions for tests in one call: a real agent, scripted replies, tools with fixed texts.

    session = talked(
        ["What is in a.py?"],
        [Reply(tools=(Asked("read"),)), Reply(text="Nothing.")],
        tools=[FixedTool("read", "the text of the result")],
    )

Times and ids are the same in every run.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slicetape.errors import LoopError
from slicetape.log.events import Header
from slicetape.log.log import SessionLog
from slicetape.loop.agent import Agent, Around
from slicetape.loop.prestep import Prestep
from slicetape.loop.protocols import Call, Output, Tool, Tools
from slicetape.policy.settings import HistorySettings
from slicetape.surface import Session
from slicetape.testing.model import ScriptedModel
from slicetape.testing.replies import Reply

START_MS = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class FixedTool:
    """A tool that gives the same text for any arguments, or what `text` makes of them."""

    name: str
    text: str | Callable[[Mapping[str, Any]], str] = "ok"
    description: str = "A tool of a test."
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})

    def parallel(self, arguments: Mapping[str, Any]) -> bool:
        """Calls may run side by side."""
        return True

    async def run(self, arguments: Mapping[str, Any], call: Call) -> Output:
        """The text."""
        return Output.of(self.text if isinstance(self.text, str) else self.text(arguments))


class CountedClock:
    """Time that goes on by a millisecond whenever it is read; sleeping takes none."""

    def __init__(self, start: int = START_MS) -> None:
        self._times = itertools.count(start)

    def now(self) -> int:
        """Epoch milliseconds."""
        return next(self._times)

    async def sleep(self, seconds: float) -> None:
        """Let others run, and add the seconds."""
        self._times = itertools.count(next(self._times) + int(seconds * 1000))
        await asyncio.sleep(0)


def talked(
    said: Sequence[str],
    replies: Iterable[Reply] | ScriptedModel,
    *,
    tools: Sequence[Tool] = (),
    history: HistorySettings | None = None,
    log: SessionLog | None = None,
) -> Session:
    """The session after each text of `said` was answered; in memory, or in `log`.

    `history` seals as it says; None seals nothing. LoopError when a turn does not complete, or
    when a request would have been refused or broke the prefix.
    """
    model = replies if isinstance(replies, ScriptedModel) else ScriptedModel(replies)
    log = log or SessionLog.in_memory(Header("session", 3, "scripted", START_MS, False, 0))
    session = Session(log)
    asyncio.run(_talk(session, said, model, tools, history))
    if model.problems:
        raise LoopError(f"the scripted session: {model.problems[0]}")
    return session


async def _talk(
    session: Session,
    said: Sequence[str],
    model: ScriptedModel,
    tools: Sequence[Tool],
    history: HistorySettings | None,
) -> None:
    ids = (f"id-{number}" for number in itertools.count(len(session.log.events)))
    around = Around(clock=CountedClock(), ids=lambda: next(ids), jitter=lambda: 0.5)
    agent = Agent(session, model, Tools(tools), Prestep(session, history), around)
    try:
        for text in said:
            agent.followup(text)
            reason = await agent.when_idle()
            if reason is None or reason.kind != "completed":
                kind = reason.kind if reason else "nothing ran"
                error = reason.error.message if reason and reason.error else ""
                raise LoopError(f"the scripted session: {kind} at {text[:60]!r} {error}".rstrip())
    finally:
        await agent.close()
