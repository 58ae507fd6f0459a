"""Which call a result answers: names, ordinals, and calls made by running code."""

from dataclasses import dataclass

from slicetape.log.events import (
    AssistantMessage,
    Dispatch,
    DispatchStart,
    Event,
    ToolCalled,
    ToolResult,
)
from slicetape.log.messages import ToolCall, ToolResultBlock


@dataclass(frozen=True, slots=True)
class Call:
    """One execution: models reuse ids, so turn and step belong to its identity."""

    turn: int
    step: int
    id: str
    name: str
    arguments: str

    @property
    def key(self) -> tuple[int, int, str]:
        """What identifies the execution."""
        return self.turn, self.step, self.id


class Calls:
    """Calls, results and nested dispatches of a log, advanced event by event."""

    __slots__ = ("_bound", "_called", "_holder", "by_key", "names", "ordinal", "results", "roots")

    def __init__(self) -> None:
        self.by_key: dict[tuple[int, int, str], Call] = {}
        """Calls by (turn, step, id); the later registration wins."""
        self.results: dict[tuple[int, int], list[int]] = {}
        """Original tool/result events of a (turn, step), in log order."""
        self.ordinal: dict[int, int] = {}
        """Place of an original tool/result among those of its step, from 1."""
        self.names: dict[int, tuple[str, ...]] = {}
        """Tool name of each result block of an original tool/result, as known when it came."""
        self.roots: dict[int, Call] = {}
        """The outer call of a nested dispatch event, by the event's seq."""
        self._holder: dict[str, Call] = {}
        self._called: dict[str, str] = {}
        self._bound: dict[str, Call] = {}

    def advance(self, event: Event) -> None:
        """Take in the next event of the log."""
        if isinstance(event, ToolResult):
            self._take_result(event)
        elif isinstance(event, AssistantMessage):
            for block in event.data.message.content:
                if isinstance(block, ToolCall):
                    self._register(event.data.turn, event.data.step, block)
        elif isinstance(event, ToolCalled):
            data = event.data
            self._register(data.turn, data.step, ToolCall(data.call_id, data.name, data.arguments))
            self._called[data.call_id] = data.name
        elif isinstance(event, DispatchStart):
            self._start(event)
        elif isinstance(event, Dispatch):
            self._settle(event)

    def tool_name(self, turn: int, step: int, call_id: str) -> str:
        """The tool of a call: by (turn, step, id), else the newest tool/call of that id."""
        call = self.by_key.get((turn, step, call_id))
        return call.name if call else self._called.get(call_id, "tool")

    def newest(self, call_id: str) -> Call | None:
        """The newest call that holds this id."""
        return self._holder.get(call_id)

    def _register(self, turn: int, step: int, block: ToolCall) -> None:
        call = Call(turn, step, block.id, block.name, block.arguments)
        self.by_key[call.key] = call
        self._holder[block.id] = call

    def _take_result(self, event: ToolResult) -> None:
        if not event.is_original:
            return
        siblings = self.results.setdefault((event.data.turn, event.data.step), [])
        siblings.append(event.seq)
        self.ordinal[event.seq] = len(siblings)
        fallback = event.data.message.source.call_id or ""
        self.names[event.seq] = tuple(
            self._name_now(block.tool_call_id or fallback)
            for block in event.data.message.content
            if isinstance(block, ToolResultBlock)
        )

    def _name_now(self, call_id: str) -> str:
        call = self._holder.get(call_id)
        return call.name if call else "tool"

    def _start(self, event: DispatchStart) -> None:
        root = self._holder.get(event.data.root_call_id)
        if root:
            self._bound[event.data.sub_call_id] = root
            self.roots[event.seq] = root

    def _settle(self, event: Dispatch) -> None:
        root = self._bound.pop(event.data.sub_call_id, None)
        root = root or self._holder.get(event.data.root_call_id)
        if root:
            self.roots[event.seq] = root
