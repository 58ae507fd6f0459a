"""What happens before a step is entered: sealing, in the one place that every writer shares.

Synchronous, so that a live loop, a proxy and a replay run the same code.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slicetape.log.codec import foreign
from slicetape.log.events import UserMessage
from slicetape.log.messages import Message
from slicetape.policy.policy import SealPlan
from slicetape.policy.seal import plan_seal
from slicetape.policy.settings import HistorySettings
from slicetape.policy.state import LEFT_KIND, SealState
from slicetape.surface import Session


@dataclass(frozen=True, slots=True)
class Sealed:
    """What one pre-step appended: entries, in order, and nodes it left raw for good."""

    entries: tuple[UserMessage, ...] = ()
    left: tuple[tuple[int, ...], ...] = ()


class Prestep:
    """The policy's hand in a session: decides with `policy`, appends through the session.

    `warn` receives one line for the operator, never for the model. A session that is opened
    again gets a new `Prestep`, which rebuilds what it needs from the log.
    """

    __slots__ = ("_session", "_state", "_warn", "history")

    def __init__(
        self,
        session: Session,
        history: HistorySettings,
        *,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._session = session
        self._state = SealState()
        self._warn = warn
        self.history = history

    @property
    def state(self) -> SealState:
        """What sealing remembers; its counters say how much work was done."""
        return self._state

    def before_step(self, step: int, *, time: int, pending: Sequence[Message] = ()) -> Sealed:
        """Seal finished turns when `step` is the first of its turn; else do nothing.

        The plan is complete before the first append. `pending` are the messages about to be
        appended for the step, `time` is epoch ms for the events.
        """
        if step != 1:
            return Sealed()
        plan = plan_seal(self._session.view, self._state, self.history, pending=pending)
        for warning in plan.warnings:
            self._warn(warning)
        return self._apply(plan, time)

    def plan(self, pending: Sequence[Message] = ()) -> SealPlan:
        """What sealing would do now; nothing is appended and no warning is used up."""
        return plan_seal(self._session.view, self._state, self.history, pending=pending, warn=False)

    def _apply(self, plan: SealPlan, time: int) -> Sealed:
        entries: list[UserMessage] = []
        for seal in plan.seals:
            recorded = self._session.append(seal.event(time))
            assert isinstance(recorded, UserMessage)
            entries.append(recorded)
        left = tuple(leave.nodes for leave in plan.left if leave.why == "not shorter")
        if left:
            nodes = [seq for run in left for seq in run]
            record = foreign(LEFT_KIND, {"left": nodes, "why": "not shorter"}, time=time)
            self._session.append(record)
        return Sealed(tuple(entries), left)
