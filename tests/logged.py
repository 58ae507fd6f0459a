"""Small logs: the events of whole turns, and files that hold them."""

from pathlib import Path

from slicetape.log.events import (
    AssistantMessage,
    Event,
    Header,
    StepEnd,
    StepStart,
    ToolCalled,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import Block, Message, Source, Text, ToolCall, ToolResultBlock
from slicetape.log.payloads import (
    AssistantData,
    EndReason,
    StepData,
    ToolCallData,
    ToolResultData,
    TurnData,
    TurnEndData,
)

HEADER = Header("session", 3, "logged", 1_700_000_000_000, False, 0, cwd="/proj")


def human(text: str, *blocks: Block) -> UserMessage:
    message = Message("m", "user", (Text(text), *blocks), Source(kind="user"))
    return UserMessage(data=message, surface_op="append", time=1)


def said(turn: int, step: int, *blocks: Block) -> AssistantMessage:
    message = Message("a", "assistant", blocks, Source(kind="model", provider="p", model="m"))
    return AssistantMessage(data=AssistantData(turn, step, message), surface_op="append", time=1)


def asked(call: str) -> ToolCall:
    return ToolCall(id=call, name="read", arguments="{}")


def called(turn: int, step: int, call: str) -> ToolCalled:
    return ToolCalled(data=ToolCallData(turn, step, call, "read", "{}"), time=1)


def answered(turn: int, step: int, call: str, text: str = "ok") -> ToolResult:
    block = ToolResultBlock(tool_call_id=call, content=(Text(text),))
    message = Message(f"r-{call}", "user", (block,), Source(kind="tool", call_id=call))
    return ToolResult(data=ToolResultData(turn, step, message), surface_op="append", time=1)


def start(turn: int) -> TurnStart:
    return TurnStart(data=TurnData(turn), time=1)


def end(turn: int) -> TurnEnd:
    return TurnEnd(data=TurnEndData(turn, EndReason("completed")), time=1)


def step_start(turn: int, step: int) -> StepStart:
    return StepStart(data=StepData(turn, step), time=1)


def step_end(turn: int, step: int) -> StepEnd:
    return StepEnd(data=StepData(turn, step), time=1)


def one_turn(turn: int, text: str = "hello") -> list[Event]:
    """Eight events: a turn of one step with one call."""
    return [
        start(turn),
        human(text),
        step_start(turn, 1),
        said(turn, 1, asked("c1")),
        called(turn, 1, "c1"),
        answered(turn, 1, "c1", text),
        step_end(turn, 1),
        end(turn),
    ]


def written(path: Path, *, turns: int = 3, text: str = "hello") -> list[bytes]:
    """Write a log of whole turns, closed; its lines, the header first."""
    with SessionLog.create(path, HEADER) as log:
        for turn in range(1, turns + 1):
            for event in one_turn(turn, text):
                log.append(event)
        return [log.header_line, *log.lines()]
