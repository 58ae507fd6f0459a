"""What happens before a step is entered: sealing, then folding, once for every writer.

Synchronous, so that a live loop, a proxy and a replay run the same code.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from slicetape.log.codec import foreign
from slicetape.log.events import ToolResult, UserMessage
from slicetape.log.messages import Message
from slicetape.log.spill import SessionSpills
from slicetape.loop.rewrite import rewritten
from slicetape.policy.fold import Fold, plan_fold
from slicetape.policy.fold_state import FoldState, FoldStats, sent_through
from slicetape.policy.fold_view import Folding
from slicetape.policy.policy import SealPlan
from slicetape.policy.seal import plan_seal
from slicetape.policy.settings import HistorySettings
from slicetape.policy.state import LEFT_KIND, SealState
from slicetape.surface import Session


@dataclass(frozen=True, slots=True)
class Prepared:
    """What one pre-step appended: entries and views, in order, and nodes it left raw for good."""

    entries: tuple[UserMessage, ...] = ()
    left: tuple[tuple[int, ...], ...] = ()
    views: tuple[ToolResult, ...] = ()


class Prestep:
    """The policy's hand in a session: decides with `policy`, appends through the session.

    Without `history` nothing is sealed, without `folding` nothing is folded. `spills` are the
    outputs kept outside the log, those of the session's own blobs when not given. `warn` receives
    one line for the operator, never for the model. A session that is opened again gets a new
    `Prestep`, which rebuilds what it needs from the log; make it before the first step, since
    what was logged until then may have been sent.
    """

    __slots__ = ("_fold_state", "_session", "_spills", "_state", "_warn", "folding", "history")

    def __init__(
        self,
        session: Session,
        history: HistorySettings | None,
        *,
        folding: Folding | None = None,
        spills: SessionSpills | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._session = session
        self._state = SealState()
        self._spills = spills or SessionSpills(session.log.events, session.log.blobs)
        self._fold_state = self._remembered()
        self._warn = warn
        self.history = history
        self.folding = folding

    @property
    def session(self) -> Session:
        """The session that this works in."""
        return self._session

    @property
    def state(self) -> SealState:
        """What sealing remembers; its counters say how much work was done."""
        return self._state

    @property
    def fold_state(self) -> FoldState:
        """What folding remembers."""
        return self._fold_state

    @property
    def stats(self) -> FoldStats:
        """What folding did, up to the last step."""
        return self._fold_state.stats

    def before_step(
        self, step: int, *, time: int, pending: Sequence[Message] = (), recalls: bool = True
    ) -> Prepared:
        """Seal finished turns when `step` is the first of its turn, then fold what is new.

        Each plan is complete before its first append. `pending` are the messages about to be
        appended for the step, `time` is epoch ms for the events. `recalls` says whether the
        request offers the recall tools; without them nothing new is hidden, neither folded nor
        sealed: a model could not bring it back. Not to be called for a step that is not entered.
        """
        sealed = self._seal(time, pending) if step == 1 and recalls else Prepared()
        views = self._fold(time, recalls)
        return Prepared(sealed.entries, sealed.left, views)

    def plan(self, pending: Sequence[Message] = ()) -> SealPlan:
        """What sealing would do now; nothing is appended and no warning is used up."""
        history = self.history or HistorySettings()
        return plan_seal(self._session.view, self._state, history, pending=pending, warn=False)

    def _seal(self, time: int, pending: Sequence[Message]) -> Prepared:
        if self.history is None:
            return Prepared()
        plan = plan_seal(self._session.view, self._state, self.history, pending=pending)
        for warning in plan.warnings:
            self._warn(warning)
        return self._apply(plan, time)

    def _apply(self, plan: SealPlan, time: int) -> Prepared:
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
        return Prepared(tuple(entries), left)

    def _fold(self, time: int, recalls: bool) -> tuple[ToolResult, ...]:
        if self.folding is None:
            return ()
        view, state = self._session.view, self._fold_state
        sent = sent_through(view, state.scanned)
        folds = plan_fold(view, state, self.folding, recalls=recalls, sent_through=sent)
        try:
            return tuple(self._shown(fold, time) for fold in folds)
        except BaseException:
            self._fold_state = self._remembered()  # what was counted may not be in the log
            raise

    def _shown(self, fold: Fold, time: int) -> ToolResult:
        log = self._session.log
        original = log.events[fold.seq]
        assert isinstance(original, ToolResult)
        shown = msgspec.structs.replace(fold.event(original, time), seq=len(log.events))
        recorded = self._session.append(
            msgspec.structs.replace(shown, seq=-1),
            line=rewritten(log.raw(fold.seq), original, shown),
        )
        assert isinstance(recorded, ToolResult)
        return recorded

    def _remembered(self) -> FoldState:
        spills = self._spills
        return FoldState.of(self._session.view, find=spills.find, behind=spills.behind)
