"""What closes a session that a crash left open, and what marks one that is taken up again.

The events are only made here: a writer that resumes appends them, a reader may look at the log as
if they stood there.
"""

from collections.abc import Sequence

from slicetape.log.events import (
    AssistantMessage,
    EndSeed,
    Event,
    StepEnd,
    StepStart,
    ToolCalled,
    ToolResult,
    TurnEnd,
    TurnStart,
)
from slicetape.log.messages import Message, Source, Text, ToolCall, ToolResultBlock
from slicetape.log.payloads import (
    EndReason,
    EndSeedData,
    StepData,
    ToolError,
    ToolResultData,
    TurnEndData,
)
from slicetape.log.rules import NOT_STARTED, answered_calls

OUTCOME_UNKNOWN = "TOOL_OUTCOME_UNKNOWN"
"""The error code of a made-up result for a call that may have run."""

_UNKNOWN_TEXT = (
    "This call was started, but the session ended before a result was recorded: its outcome is"
    " unknown. Repeat it only if it is read-only or idempotent; otherwise check the state it may"
    " have left, or ask the user. Do not repeat it blindly."
)
_NOT_STARTED_TEXT = (
    "This call was never started: the session ended before it ran. Call it again if it is still"
    " needed."
)


def closers(events: Sequence[Event]) -> tuple[Event, ...]:
    """The events that close the open turn of a log, with their seqs; none when no turn is open.

    They carry the time of the last event. Brackets of plugins are left to their owners.
    """
    opened = open_turn(events)
    if opened is None:
        return ()
    time = events[-1].time
    seq = len(events)
    made: list[Event] = []
    step = _open_step(events, opened.seq)
    if step is not None:
        for call, logged in _unanswered(events, step.seq):
            made.append(_made_result(step.data, call, logged, (seq + len(made), time)))
        made.append(StepEnd(data=step.data, seq=seq + len(made), time=time))
    ended = TurnEndData(opened.data.turn, EndReason("interrupted"))
    made.append(TurnEnd(data=ended, seq=seq + len(made), time=time))
    return tuple(made)


def resumption(events: Sequence[Event], *, time: int) -> tuple[Event, ...]:
    """What a writer appends when it takes a log up again: the closers, then the end of the seed."""
    made = closers(events)
    last = made[-1] if made else events[-1] if events else None
    if isinstance(last, EndSeed):
        return made
    end = EndSeed(data=EndSeedData(), seq=len(events) + len(made), time=time)
    return (*made, end)


def open_turn(events: Sequence[Event]) -> TurnStart | None:
    """Where the turn starts that is open at the end of `events`."""
    for event in reversed(events):
        if isinstance(event, TurnEnd):
            return None
        if isinstance(event, TurnStart):
            return event
    return None


def _open_step(events: Sequence[Event], turn_start: int) -> StepStart | None:
    for seq in range(len(events) - 1, turn_start, -1):
        event = events[seq]
        if isinstance(event, StepEnd):
            return None
        if isinstance(event, StepStart):
            return event
    return None


def _unanswered(events: Sequence[Event], step_start: int) -> list[tuple[str, int | None]]:
    """Calls of the open step without a result, as asked for, each with the seq of its start."""
    asked: list[str] = []
    started: dict[str, list[int]] = {}
    answered: list[str] = []
    for seq in range(step_start, len(events)):
        match events[seq]:
            case AssistantMessage() as said:
                blocks = said.data.message.content
                asked += [block.id for block in blocks if isinstance(block, ToolCall)]
            case ToolCalled() as called:
                started.setdefault(called.data.call_id, []).append(seq)
            case ToolResult() as result if result.is_original:
                answered += answered_calls(result)
            case _:
                pass
    asked += [call for call, seqs in started.items() for _ in seqs[asked.count(call) :]]
    open_calls: list[tuple[str, int | None]] = []
    for call in asked:
        seqs = started.get(call, [])
        logged = seqs.pop(0) if seqs else None
        if call in answered:
            answered.remove(call)
        else:
            open_calls.append((call, logged))
    return open_calls


def _made_result(
    step: StepData, call: str, logged: int | None, place: tuple[int, int]
) -> ToolResult:
    seq, time = place
    unknown = logged is not None
    error = (
        ToolError("ToolOutcomeUnknownError", OUTCOME_UNKNOWN)
        if unknown
        else ToolError("ToolNotStartedError", NOT_STARTED)
    )
    block = ToolResultBlock(
        tool_call_id=call,
        is_error=True,
        content=(Text(_UNKNOWN_TEXT if unknown else _NOT_STARTED_TEXT),),
    )
    message = Message(
        id=f"interrupted-tool-result-{call}-{seq}",
        role="user",
        content=(block,),
        source=Source(kind="tool", call_id=call),
    )
    return ToolResult(
        data=ToolResultData(step.turn, step.step, message, error=error),
        seq=seq,
        time=time,
        surface_op="append",
        source_event_seqs=(logged,) if logged is not None else None,
    )
