"""A session told event by event, and what the recall tools answer about it."""

from typing import Any

import msgspec
from msgspec import Raw

from slicetape.errors import RecallError
from slicetape.log.events import (
    AssistantMessage,
    Dispatch,
    DispatchStart,
    Event,
    Replace,
    ToolCalled,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from slicetape.log.messages import (
    NO_JSON,
    Block,
    Message,
    Reasoning,
    Source,
    Text,
    ToolCall,
    ToolResultBlock,
)
from slicetape.log.payloads import (
    AssistantData,
    DispatchData,
    DispatchStartData,
    EndReason,
    ToolCallData,
    ToolResultData,
    TurnData,
    TurnEndData,
)
from slicetape.recall.tools import Recall, dispatch
from slicetape.surface.view import View

HUMAN = Source(kind="user")
SNAPSHOT = Source(kind="plugin", plugin="@deepseek-ai/dsh-system-prompt")


def result(call: str, *texts: str, error: bool | None = None) -> ToolResultBlock:
    """One result block with these text parts."""
    return ToolResultBlock(call, error, tuple(Text(text) for text in texts))


class Story:
    """Appends events and keeps a view of them; every method returns the seq of its last event."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.view = View(self.events)

    def add(self, event: Event) -> int:
        event = msgspec.structs.replace(event, seq=len(self.events), time=1000 + len(self.events))
        self.view.check(event)
        self.events.append(event)
        self.view.advance(event)
        return event.seq

    def start(self, turn: int) -> int:
        return self.add(TurnStart(data=TurnData(turn)))

    def end(self, turn: int, kind: str = "completed") -> int:
        return self.add(TurnEnd(data=TurnEndData(turn, EndReason(kind))))

    def heard(
        self, *texts: str, source: Source = HUMAN, op: Any = "append", cites: Any = None
    ) -> int:
        content = tuple(Text(text) for text in texts)
        message = Message(f"m{len(self.events)}", "user", content, source)
        return self.add(UserMessage(data=message, surface_op=op, source_event_seqs=cites))

    def said(
        self, turn: int, step: int, text: str = "", *, think: str = "", calls: Any = ()
    ) -> int:
        """A message of the model; `calls` are (id, name, arguments) and are logged as started."""
        blocks: list[Block] = [Reasoning(think)] if think else []
        blocks += [Text(text)] if text else []
        blocks += [ToolCall(*call) for call in calls]
        message = Message(f"m{len(self.events)}", "assistant", tuple(blocks), Source(kind="model"))
        data = AssistantData(turn, step, message)
        seq = self.add(AssistantMessage(data=data, surface_op="append"))
        for id, name, arguments in calls:
            seq = self.add(ToolCalled(data=ToolCallData(turn, step, id, name, arguments)))
        return seq

    def returned(
        self,
        turn: int,
        step: int,
        *blocks: ToolResultBlock,
        cites: Any = None,
        meta: Raw = NO_JSON,
    ) -> int:
        source = Source(kind="tool", call_id=blocks[0].tool_call_id if blocks else None)
        message = Message(f"m{len(self.events)}", "user", blocks, source)
        data = ToolResultData(turn, step, message, meta=meta)
        return self.add(ToolResult(data=data, surface_op="append", source_event_seqs=cites))

    def replaced(self, seq: int, *texts: str, original: int | None = None) -> int:
        """A view in place of the result at `seq`."""
        old = self.events[seq]
        assert isinstance(old, ToolResult)
        blocks = tuple(
            msgspec.structs.replace(block, content=tuple(Text(text) for text in texts))
            for block in old.data.message.content
            if isinstance(block, ToolResultBlock)
        )
        message = msgspec.structs.replace(old.data.message, content=blocks)
        data = msgspec.structs.replace(old.data, message=message)
        cites = (original, seq) if original is not None else (seq,)
        return self.add(
            ToolResult(data=data, surface_op=Replace(seq, seq), source_event_seqs=cites)
        )

    def dispatched(self, root: str, name: str, arguments: str, output: str) -> int:
        sub = f"{root}:ptc:{len(self.events)}"
        ids = (root, root, sub, name, Raw(arguments.encode()))
        self.add(DispatchStart(data=DispatchStartData(*ids)))
        return self.add(Dispatch(data=DispatchData(*ids, False, (Text(output),))))

    def turn(self, number: int, ask: str, answer: str) -> int:
        """A whole turn of plain talk."""
        self.start(number)
        self.heard(ask)
        self.said(number, 1, answer)
        return self.end(number)

    def tool_turn(
        self, number: int, output: str, *, name: str = "read", error: bool = False
    ) -> int:
        """A whole turn with one call; the seq of its result."""
        self.start(number)
        self.heard(f"do {number}")
        self.said(number, 1, calls=[(f"c{number}", name, '{"path":"a.txt"}')])
        seq = self.returned(number, 1, result(f"c{number}", output, error=error))
        self.said(number, 2, f"done {number}")
        self.end(number)
        return seq

    def recall(self, **rest: Any) -> Recall:
        return Recall.of(self.view, **rest)

    def ask(self, name: str, /, **arguments: Any) -> str:
        """What a tool answers, or the text of its error."""
        return self.ask_of(self.recall(), name, **arguments)

    @staticmethod
    def ask_of(recall: Recall | None, name: str, /, **arguments: Any) -> str:
        try:
            return dispatch(name, arguments, recall)
        except RecallError as error:
            return f"ERROR {error}"
