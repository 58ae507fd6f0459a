"""The rules over a whole log: turns and steps are dense and closed, results answer calls.

A small state that a writer keeps beside its log: `check` before an append, `advance` after it.
What stands on the surface is not its matter.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Self

from slicetape.errors import InvalidEvent
from slicetape.log.events import (
    AssistantAttempt,
    AssistantMessage,
    EndSeed,
    Event,
    RequestContext,
    RequestHeader,
    StepEnd,
    StepStart,
    SystemMessage,
    ToolCalled,
    ToolResult,
    TurnEnd,
    TurnStart,
    type_of,
)
from slicetape.log.messages import ToolResultBlock

NOT_STARTED = "TOOL_NOT_STARTED"
"""The error code of a made-up result for a call that was requested and never started."""


class Rules:
    """Where a log stands: `turn` and `step` are the open ones, 0 for none."""

    __slots__ = ("_last_step", "_last_turn", "_left", "_waiting", "step", "turn")

    def __init__(self) -> None:
        self.turn = 0
        self.step = 0
        self._last_turn = 0
        self._last_step = 0
        self._left = False  # a restart left the open turn without its end
        self._waiting: Counter[str] = Counter()  # calls of the open step without a result

    @classmethod
    def over(cls, events: Iterable[Event]) -> Self:
        """The rules behind `events`; raises InvalidEvent, with the seq, where they are broken."""
        rules = cls()
        for event in events:
            rules.check(event)
            rules.advance(event)
        return rules

    def copy(self) -> Self:
        """Rules that go on from here on their own."""
        twin = type(self)()
        twin.turn, twin.step, twin._left = self.turn, self.step, self._left  # noqa: SLF001
        twin._last_turn, twin._last_step = self._last_turn, self._last_step  # noqa: SLF001
        twin._waiting = self._waiting.copy()  # noqa: SLF001
        return twin

    def check(self, event: Event) -> None:
        """Raise InvalidEvent unless `event` may come next."""
        problem = self._problem(event)
        if problem:
            raise InvalidEvent(f"event {event.seq}: {type_of(event)} {problem}")

    def _problem(self, event: Event) -> str:
        match event:
            case TurnStart():
                return self._turn_start_problem(event)
            case TurnEnd():
                if self.step:
                    return f"within step {self.step}, which is still open"
                return self._mismatch(event.data.turn)
            case StepStart():
                return self._step_start_problem(event)
            case (
                StepEnd() | SystemMessage() | AssistantMessage() | AssistantAttempt() | ToolCalled()
            ):
                return self._mismatch(event.data.turn, event.data.step)
            case ToolResult():
                return self._result_problem(event)
            case RequestHeader() | RequestContext():
                return "" if self.turn else "outside any turn"
            case _:
                return ""

    def _turn_start_problem(self, event: TurnStart) -> str:
        if self.turn and not self._left:
            return f"within turn {self.turn}, which is still open"
        due = self._last_turn + 1
        return "" if event.data.turn == due else f"of turn {event.data.turn} where {due} is due"

    def _step_start_problem(self, event: StepStart) -> str:
        if self.step:
            return f"within step {self.step}, which is still open"
        due = self._last_step + 1
        wrong = f"of step {event.data.step} where {due} is due"
        return self._mismatch(event.data.turn) or ("" if event.data.step == due else wrong)

    def _result_problem(self, event: ToolResult) -> str:
        if not event.is_original:
            if not self.turn:
                return "replaces outside any turn"
            return f"replaces within step {self.step}" if self.step else ""
        mismatch = self._mismatch(event.data.turn, event.data.step)
        if mismatch or (event.data.error and event.data.error.code == NOT_STARTED):
            return mismatch
        for call, count in Counter(answered_calls(event)).items():
            if self._waiting[call] < count:
                return f"for the call {call[:80]!r}, which is not waiting for one"
        return ""

    def _mismatch(self, turn: int, step: int | None = None) -> str:
        if not self.turn:
            return f"of turn {turn} outside any turn"
        if turn != self.turn:
            return f"of turn {turn} within turn {self.turn}"
        if step is None or step == self.step:
            return ""
        return f"of step {step} " + (
            f"within step {self.step}" if self.step else "outside any step"
        )

    def advance(self, event: Event) -> None:
        """Take in `event`, which now stands in the log."""
        match event:
            case TurnStart():
                self.turn = self._last_turn = event.data.turn
                self.step = self._last_step = 0
                self._left = False
                self._waiting.clear()
            case TurnEnd():
                self.turn = 0
            case StepStart():
                self.step = self._last_step = event.data.step
                self._waiting.clear()
            case StepEnd():
                self.step = 0
            case ToolCalled():
                self._waiting[event.data.call_id] += 1
            case ToolResult() if event.is_original:
                self._waiting.subtract(
                    call for call in answered_calls(event) if self._waiting[call]
                )
            case EndSeed():
                self._left = self.turn > 0
            case _:
                pass


def answered_calls(event: ToolResult) -> list[str]:
    """The ids of the calls that a result answers, one for each of its blocks."""
    blocks = event.data.message.content
    return [block.tool_call_id for block in blocks if isinstance(block, ToolResultBlock)]
