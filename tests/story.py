"""Tell a session in a few words; get the events a log would hold."""

import json
from typing import Any

import msgspec

from slicetape.log.codec import foreign
from slicetape.log.events import (
    ENTRY_PLUGIN,
    SNAPSHOT_PLUGIN,
    AssistantMessage,
    Dispatch,
    DispatchStart,
    Event,
    Header,
    Replace,
    StepEnd,
    StepStart,
    SystemMessage,
    ToolCalled,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import (
    NO_JSON,
    Attachment,
    Block,
    Image,
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
    StepData,
    SystemData,
    ToolCallData,
    ToolResultData,
    TurnData,
    TurnEndData,
)
from slicetape.log.seqs import pack
from slicetape.surface import Session, View

PICTURE = Image(Attachment("sha256:00", 1, "image/png", 1, 1))


def header(id: str = "story") -> Header:
    return Header("session", 3, id, 1_700_000_000_000, False, 0)


def raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace"))


def blocks(*parts: str | Block) -> tuple[Block, ...]:
    return tuple(Text(part) if isinstance(part, str) else part for part in parts)


class Story:
    """A session that is told event by event; every teller returns the event.

    Without a log it is in memory; with one, the story goes on behind what the log holds.
    """

    def __init__(self, log: SessionLog | None = None) -> None:
        self.session = Session(log or SessionLog.in_memory(header()), strict=False)
        self.turn = self.view.turns.open or self.view.turns.last_turn
        self.step = 0

    @property
    def view(self) -> View:
        return self.session.view

    @property
    def events(self) -> list[Event]:
        return list(self.session.log.events)

    def add(self, event: Event) -> Event:
        return self.session.append(event)

    def _message(self, role: str, source: Source, content: tuple[Block, ...]) -> Message:
        return Message(f"m-{len(self.session.log.events)}", role, content, source)

    # --- turns and steps

    def start(self, turn: int | None = None) -> Event:
        self.turn, self.step = turn or self.turn + 1, 0
        return self.add(TurnStart(data=TurnData(self.turn)))

    def end(self, kind: str = "completed", turn: int | None = None) -> Event:
        return self.add(TurnEnd(data=TurnEndData(turn or self.turn, EndReason(kind))))

    def step_start(self) -> Event:
        self.step += 1
        return self.add(StepStart(data=StepData(self.turn, self.step)))

    def step_end(self) -> Event:
        return self.add(StepEnd(data=StepData(self.turn, self.step)))

    # --- what is said

    def human(self, *parts: str | Block) -> Event:
        message = self._message("user", Source(kind="user"), blocks(*(parts or ("go on",))))
        return self.add(UserMessage(data=message, surface_op="append"))

    def notice(self, text: str, plugin: str = "notices") -> Event:
        message = self._message("user", Source(kind="plugin", plugin=plugin), blocks(text))
        return self.add(UserMessage(data=message, surface_op="append"))

    def snapshot(self, text: str) -> Event:
        return self.notice(text, SNAPSHOT_PLUGIN)

    def system(self, *parts: str, replaces: Event | None = None) -> Event:
        source = Source(kind="plugin", plugin=SNAPSHOT_PLUGIN)
        data = SystemData(self.turn, self.step, self._message("system", source, blocks(*parts)))
        if replaces is None:
            return self.add(SystemMessage(data=data, surface_op="append"))
        op, cited = Replace(replaces.seq, replaces.seq), (replaces.seq,)
        return self.add(SystemMessage(data=data, surface_op=op, source_event_seqs=cited))

    def says(
        self,
        *parts: str | Block,
        calls: dict[str, tuple[str, Any]] | None = None,
        thinks: str = "",
        step: int | None = None,
    ) -> Event:
        """An assistant message of the next step; `calls` maps ids to (tool, arguments)."""
        self.step = step or self.step + 1
        content = blocks(*([Reasoning(thinks)] if thinks else []), *parts)
        for id, (name, arguments) in (calls or {}).items():
            content += (ToolCall(id, name, _arguments(arguments)),)
        message = self._message("assistant", Source(kind="model", model="m"), content)
        said = self.add(
            AssistantMessage(data=AssistantData(self.turn, self.step, message), surface_op="append")
        )
        for id, (name, arguments) in (calls or {}).items():
            self.called(id, name, arguments)
        return said

    def asks(self, id: str, name: str) -> Event:
        """An assistant message whose call never started: no tool/call follows."""
        message = self._message("assistant", Source(kind="model"), (ToolCall(id, name, "{}"),))
        data = AssistantData(self.turn, self.step, message)
        return self.add(AssistantMessage(data=data, surface_op="append"))

    def called(self, id: str, name: str, arguments: Any) -> Event:
        data = ToolCallData(self.turn, self.step, id, name, _arguments(arguments))
        return self.add(ToolCalled(data=data))

    # --- what tools return

    def result(
        self,
        id: str,
        *parts: str | Block,
        error: bool = False,
        meta: Any = None,
        step: int | None = None,
    ) -> Event:
        return self.results({id: parts}, errors={id} if error else set(), meta=meta, step=step)

    def results(
        self,
        answers: dict[str, tuple[str | Block, ...]],
        errors: set[str] | None = None,
        meta: Any = None,
        step: int | None = None,
    ) -> Event:
        content = tuple(
            ToolResultBlock(id, id in (errors or ()), blocks(*parts))
            for id, parts in answers.items()
        )
        source = Source(kind="tool", call_id=next(iter(answers)))
        data = ToolResultData(
            self.turn,
            step or self.step,
            self._message("user", source, content),
            meta=raw(meta) if meta is not None else NO_JSON,
        )
        return self.add(ToolResult(data=data, surface_op="append"))

    def reads(self, path: str, text: str, *, id: str = "", **more: Any) -> Event:
        """One step that reads a file and gets `text`; the result event."""
        id = id or f"call-{len(self.session.log.events)}"
        self.says(calls={id: ("read", {"file_path": path, **more})})
        return self.result(id, text)

    def view_of(self, result: Event, text: str) -> Event:
        """A replacement of a result that shows `text`, as a fold writes it."""
        assert isinstance(result, ToolResult)
        content = tuple(
            msgspec.structs.replace(block, content=(Text(text),))
            for block in result.data.message.content
        )
        message = msgspec.structs.replace(result.data.message, content=content)
        return self.add(
            ToolResult(
                data=msgspec.structs.replace(result.data, message=message),
                surface_op=Replace(result.seq, result.seq),
                source_event_seqs=(result.seq,),
            )
        )

    def replaced(
        self,
        first: Event,
        last: Event,
        text: str,
        *,
        source: Source | None = None,
        cites: tuple[int, ...] | None = None,
    ) -> Event:
        """A foreign replacement of the nodes from `first` to `last`."""
        nodes = self.view.surface.nodes
        span = nodes[nodes.index(first.seq) : nodes.index(last.seq) + 1]
        source = source or Source(kind="plugin", plugin="other")
        return self.add(
            UserMessage(
                data=self._message("user", source, blocks(text)),
                surface_op=Replace(first.seq, last.seq),
                source_event_seqs=pack(cites or tuple(span)),
            )
        )

    def old_entry(self, first: Event, last: Event, text: str) -> Event:
        """An entry that an older version wrote."""
        return self.replaced(first, last, text, source=Source(kind="plugin", plugin=ENTRY_PLUGIN))

    # --- what running code calls

    def nested(
        self,
        root: str,
        sub: str,
        name: str,
        arguments: Any,
        text: str,
        *,
        error: bool = False,
        started: bool = True,
    ) -> Event:
        if started:
            start = DispatchStartData(root, root, sub, name, raw(arguments))
            self.add(DispatchStart(data=start))
        data = DispatchData(root, root, sub, name, raw(arguments), error or None, blocks(text))
        return self.add(Dispatch(data=data))

    def aside(self, kind: str, data: Any) -> Event:
        return self.add(foreign(kind, data))

    def text_at(self, seq: int) -> str:
        """The text of the message at a seq."""
        event = self.session.log.events[seq]
        assert isinstance(event, UserMessage)
        return "".join(block.text for block in event.data.content if isinstance(block, Text))

    def short_turn(self, request: str = "go on", answer: str = "done") -> None:
        """A finished turn with one answer."""
        self.start()
        self.human(request)
        self.says(answer)
        self.end()

    def reading_turn(self, path: str, text: str, answer: str = "read it") -> Event:
        """A finished turn that reads one file; the result event."""
        self.start()
        self.human(f"read {path}")
        result = self.reads(path, text)
        self.says(answer)
        self.end()
        return result


def _arguments(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
