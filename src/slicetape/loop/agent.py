"""An agent: a session that goes on, turn by turn, as long as something waits.

session = Session(store.create(header))
agent = Agent(session, model, tools, prompt=prompt)
agent.followup("Why does the build fail?")
await agent.when_idle()
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from slicetape.errors import LogError, LoopError
from slicetape.log.locator import RECALL_TOOLS
from slicetape.log.messages import Image, Message, Source, Text
from slicetape.log.payloads import EndReason
from slicetape.loop.abort import Abort, Cause
from slicetape.loop.header import Headers
from slicetape.loop.inbox import Inbox, Target
from slicetape.loop.live import (
    Context,
    Live,
    LoopSettings,
    Room,
    Unwatched,
    Watcher,
    schemas_of,
)
from slicetape.loop.prestep import Prestep
from slicetape.loop.prompt import Prompt
from slicetape.loop.protocols import (
    Clock,
    Ids,
    Model,
    Permission,
    SystemClock,
    Tools,
    random_id,
)
from slicetape.loop.request import Requests
from slicetape.loop.sound import sound_message
from slicetape.loop.turn import run_turn
from slicetape.surface import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What surrounds an agent, with defaults for a program that only wants answers.

    Without `permission` every call is allowed. `room` makes room in a full window; without it an
    overflow is an error.
    """

    settings: LoopSettings = field(default_factory=LoopSettings)
    prompt: Prompt = field(default_factory=Prompt)
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = random_id
    permission: Permission | None = None
    watcher: Watcher = field(default_factory=Unwatched)
    contexts: Sequence[Context] = ()
    room: Callable[["Live"], Room] | None = None
    jitter: Callable[[], float] = random.random


class Agent:
    """One session at work. Not for several threads; one event loop for all its life.

    `prestep` is the policy's hand in the session: sealing and folding as it was made to do. The
    session may have a past: what waited in it waits still.
    """

    def __init__(
        self,
        session: Session,
        model: Model,
        tools: Tools,
        prestep: Prestep,
        around: Around | None = None,
    ) -> None:
        around = around or Around()
        offered = set(tools.by_name)
        self._live = Live(
            session=session,
            model=model,
            tools=tools,
            prompt=around.prompt,
            prestep=prestep,
            inbox=Inbox(session),
            headers=Headers(session),
            requests=Requests(session, model.route),
            settings=around.settings,
            clock=around.clock,
            ids=around.ids,
            permission=around.permission,
            watcher=around.watcher,
            contexts=around.contexts,
            jitter=around.jitter,
            tool_schemas=schemas_of(tools),
            recalls=offered >= RECALL_TOOLS,
        )
        self._live.room = around.room(self._live) if around.room else None
        self._abort = Abort()
        self._work: asyncio.Task[None] | None = None
        self._steered: set[str] = set()
        self._broken: LogError | None = None
        self.ended: EndReason | None = None
        """Why the last turn of this agent ended."""

    @property
    def session(self) -> Session:
        """The session that this works in."""
        return self._live.session

    @property
    def model(self) -> Model:
        """The model that is asked."""
        return self._live.model

    @property
    def tool_schemas(self) -> str:
        """The tools that requests offer, as JSON."""
        return bytes(self._live.tool_schemas).decode()

    @property
    def running(self) -> bool:
        """Whether a turn is under way."""
        return self._work is not None and not self._work.done()

    def waiting(self, target: Target) -> tuple[Message, ...]:
        """What waits for the next turn or step."""
        return self._live.inbox.waiting(target)

    def followup(self, said: str | Message, images: Sequence[Image] = ()) -> Message:
        """Have a turn of its own for a message; it waits while others run.

        ValueError when the message says nothing: no provider takes that.
        """
        return self._receive("next-turn", said, images)

    def steer(self, said: str | Message, images: Sequence[Image] = ()) -> Message:
        """Have a message join the next step of the running turn, or a new turn when idle.

        While an aborted turn winds down it waits for the turn after it.
        """
        winding_down = self.running and self._abort.cause is not None
        return self._receive("next-turn" if winding_down else "next-step", said, images)

    def inject(self, message: Message) -> None:
        """Have a message of context join the next step, whenever that is."""
        self._usable()
        self._live.inbox.put("next-step", (_said(message),), time=self._live.now())

    def withdraw(self, message_id: str) -> bool:
        """Take back a message that waits; False when it does not wait any more."""
        return self._live.inbox.withdraw(message_id, time=self._live.now())

    def cancel(self, cause: Cause = "user", *, keep_inbox: bool = False) -> None:
        """End the running turn; what waits is dropped too unless `keep_inbox`."""
        if self.running:
            self._abort.set(cause)
        if not keep_inbox and self._broken is None:
            self._live.inbox.cancel(time=self._live.now())

    def use(self, model: Model) -> None:
        """Ask another model from the next turn on. LoopError while a turn runs."""
        if self.running:
            raise LoopError("the model can be changed between turns only; abort the turn first")
        self._live.requests.close()
        self._live.model = model
        self._live.requests = Requests(self.session, model.route)

    def wake(self) -> None:
        """Begin with what waits, if nothing runs."""
        self._usable()
        if not self.running:
            self._work = asyncio.ensure_future(self._drive())

    async def when_idle(self) -> EndReason | None:
        """Return once nothing runs and nothing waits; why the last turn ended.

        Raises the LogError that stopped the agent when its log could not be written.
        """
        while self._work is not None and not self._work.done():
            await asyncio.wait({self._work})
        if self._work is not None:
            self._work.result()
        if self._broken is not None:
            raise self._broken
        return self.ended

    async def close(self) -> None:
        """End the running turn, cancel what waits, and give up the log and the model."""
        self.cancel("disposed")
        if self._work is not None:
            await asyncio.wait({self._work})
        await self._live.model.close()
        self.session.log.close()

    def _receive(self, target: Target, said: str | Message, images: Sequence[Image]) -> Message:
        self._usable()
        live = self._live
        message = said
        if isinstance(message, str):
            text = (Text(message),) if message else ()
            message = Message(live.ids(), "user", (*images, *text), Source("user"))
        message = _said(message)
        live.inbox.put(target, (message,), time=live.now())
        if target == "next-step":
            self._steered.add(message.id)
        self.wake()
        return message

    def _usable(self) -> None:
        if self._broken is not None:
            raise LoopError(f"this agent stopped: {self._broken}")

    async def _drive(self) -> None:
        try:
            while self._awake():
                self._abort = Abort()
                turn = self._last_turn() + 1
                self.ended = await run_turn(self._live, turn, self._abort)
        except LogError as error:
            self._broken = error
            self._live.watcher.warning(str(error))

    def _awake(self) -> bool:
        """Whether something waits that a turn is run for; injected context alone is not."""
        inbox = self._live.inbox
        waiting = {message.id for message in inbox.waiting("next-step")}
        self._steered &= waiting
        return bool(inbox.waiting("next-turn") or self._steered)

    def _last_turn(self) -> int:
        turns = self.session.view.turns
        return max(turns.status, default=0)


def _said(message: Message) -> Message:
    """A message that every provider takes."""
    if not any(not isinstance(block, Text) or block.text for block in message.content):
        raise ValueError("a message says something: give a text or a picture")
    return sound_message(message)
