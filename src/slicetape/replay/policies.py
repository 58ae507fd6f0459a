"""What an arm does before each recorded step, through the code that a live session runs."""

from collections import deque
from collections.abc import Sequence
from typing import Protocol

import msgspec

from slicetape.log.events import Event, Replace, ToolResult, UserMessage
from slicetape.log.messages import Block, Message, Text, ToolResultBlock
from slicetape.loop.prestep import Prestep
from slicetape.surface import Edit, Session

OMITTED = "[old tool result omitted]"


class BeforeStep(Protocol):
    """A policy at work in one session."""

    def before_step(self, step: int, *, time: int, pending: Sequence[Message]) -> None:
        """Change the surface as the policy wants it for this step. `time` is epoch ms."""
        ...


class Nothing:
    """Everything as it happened."""

    def before_step(self, step: int, *, time: int, pending: Sequence[Message]) -> None:
        """Do nothing."""


class Slicing:
    """Sealing, folding or both; `entries` and `views` are what was written."""

    def __init__(self, prestep: Prestep) -> None:
        self.prestep = prestep
        self.entries: list[UserMessage] = []
        self.views: list[ToolResult] = []

    def before_step(self, step: int, *, time: int, pending: Sequence[Message]) -> None:
        """Seal finished turns at the first step of a turn; fold new results at every step."""
        made = self.prestep.before_step(step, time=time, pending=pending)
        self.entries += made.entries
        self.views += made.views


class Masking:
    """The usual observation masking: results older than the last `keep` lose their text."""

    def __init__(self, session: Session, keep: int) -> None:
        self._session = session
        self._keep = keep
        self._shown: deque[int] = deque()
        session.listen(self._note)

    def before_step(self, step: int, *, time: int, pending: Sequence[Message]) -> None:
        """Mask what grew too old since the last step."""
        while len(self._shown) > self._keep:
            event = self._session.view.events[self._shown.popleft()]
            assert isinstance(event, ToolResult)
            content = tuple(_masked(block) for block in event.data.message.content)
            message = msgspec.structs.replace(event.data.message, content=content)
            self._session.append(
                ToolResult(
                    time=time,
                    data=msgspec.structs.replace(event.data, message=message),
                    surface_op=Replace(event.seq, event.seq),
                    source_event_seqs=(event.seq,),
                )
            )

    def _note(self, event: Event, edit: Edit | None) -> None:
        if edit and isinstance(event, ToolResult) and event.is_original:
            self._shown.append(event.seq)


def _masked(block: Block) -> Block:
    if isinstance(block, ToolResultBlock):
        return msgspec.structs.replace(block, content=(Text(OMITTED),))
    return block
