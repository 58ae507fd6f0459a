"""Which call a result answers: names, ordinals, and calls made by running code."""

from dataclasses import dataclass, field

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
    """One execution: models reuse ids, so turn and step belong to its identity.

    `seq` is the event that says it last: its tool/call, before that the message that asks for it.
    """

    turn: int
    step: int
    id: str
    name: str
    arguments: str
    seq: int = field(default=-1, compare=False)

    @property
    def key(self) -> tuple[int, int, str]:
        """What identifies the execution."""
        return self.turn, self.step, self.id


class Calls:
    """Calls, results and nested dispatches of a log, advanced event by event."""

    __slots__ = (
        "_bound",
        "_by_key",
        "_holder",
        "_started",
        "_started_in",
        "answered",
        "asked",
        "names",
        "ordinal",
        "results",
        "roots",
    )

    def __init__(self) -> None:
        self.answered: dict[int, tuple[Call | None, ...]] = {}
        """The call of its own step that each result block of an original tool/result answers.

        As known when the result came: a step may use an id again, and the later call wins.
        """
        self.asked: dict[int, tuple[Call | None, ...]] = {}
        """The newest call of its id that each result block of an original tool/result answers.

        As known when the result came, whatever the turn and step of the call.
        """
        self.results: dict[tuple[int, int], list[int]] = {}
        """Original tool/result events of a (turn, step), in log order."""
        self.ordinal: dict[int, int] = {}
        """Place of an original tool/result among those of its step, from 1."""
        self.names: dict[int, tuple[str, ...]] = {}
        """Tool name of each result block of an original tool/result, as known when it came."""
        self.roots: dict[int, Call] = {}
        """The outer call of a nested dispatch event, by the event's seq."""
        self._by_key: dict[tuple[int, int, str], Call] = {}
        self._holder: dict[str, Call] = {}
        self._started_in: dict[tuple[int, int, str], str] = {}
        self._started: dict[str, str] = {}
        self._bound: dict[str, Call] = {}

    def advance(self, event: Event) -> None:
        """Take in the next event of the log."""
        if isinstance(event, ToolResult):
            self._take_result(event)
        elif isinstance(event, AssistantMessage):
            for block in event.data.message.content:
                if isinstance(block, ToolCall):
                    self._register(event.data.turn, event.data.step, block, event.seq)
        elif isinstance(event, ToolCalled):
            data = event.data
            block = ToolCall(data.call_id, data.name, data.arguments)
            self._register(data.turn, data.step, block, event.seq)
            self._started_in[data.turn, data.step, data.call_id] = data.name
            self._started[data.call_id] = data.name
        elif isinstance(event, DispatchStart):
            self._start(event)
        elif isinstance(event, Dispatch):
            self._settle(event)

    def tool_name(self, turn: int, step: int, call_id: str) -> str:
        """The tool that ran as this call: by (turn, step, id), else the newest run of that id.

        A call that no tool/call event started has run no tool, so its name is `tool`.
        """
        name = self._started_in.get((turn, step, call_id))
        return name or self._started.get(call_id) or "tool"

    def newest(self, call_id: str) -> Call | None:
        """The newest call that holds this id."""
        return self._holder.get(call_id)

    def _register(self, turn: int, step: int, block: ToolCall, seq: int) -> None:
        call = Call(turn, step, block.id, block.name, block.arguments, seq)
        self._by_key[call.key] = call
        self._holder[block.id] = call

    def _take_result(self, event: ToolResult) -> None:
        if not event.is_original:
            return
        turn, step, message = event.data.turn, event.data.step, event.data.message
        siblings = self.results.setdefault((turn, step), [])
        siblings.append(event.seq)
        self.ordinal[event.seq] = len(siblings)
        ids = [
            block.tool_call_id for block in message.content if isinstance(block, ToolResultBlock)
        ]
        self.answered[event.seq] = tuple(self._by_key.get((turn, step, id)) for id in ids)
        fallback = message.source.call_id or ""
        asked = tuple(self._holder.get(id or fallback) for id in ids)
        self.asked[event.seq] = asked
        self.names[event.seq] = tuple(call.name if call else "tool" for call in asked)

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
