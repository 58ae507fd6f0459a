"""Turns and steps as events, in the order in which a host session logs them."""

from collections.abc import Sequence

from msgspec import Raw

from slicetape.formats.pending import Answer, Aside, Call, Route, Said, Step
from slicetape.formats.values import raw
from slicetape.log import repair
from slicetape.log.events import (
    SNAPSHOT_PLUGIN,
    AssistantMessage,
    Event,
    Foreign,
    Replace,
    RequestContext,
    RequestHeader,
    StepEnd,
    StepStart,
    SystemMessage,
    ToolCalled,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from slicetape.log.messages import NO_JSON, Block, Message, Source, Text, ToolResultBlock
from slicetape.log.payloads import (
    AssistantData,
    EndReason,
    HeaderConfig,
    RequestContextData,
    RequestEnvelope,
    RequestHeaderData,
    StepData,
    SystemData,
    ToolCallData,
    ToolError,
    ToolResultData,
    TurnData,
    TurnEndData,
)

OUTCOME_UNKNOWN = ToolError(name="ToolOutcomeUnknownError", code=repair.OUTCOME_UNKNOWN)
"""The error of a result that stands for one the transcript does not have."""

OUTCOME_TEXT = (
    "The transcript has no result of this call: its outcome is unknown. Repeat it only if it "
    "reads or can be repeated safely; otherwise check its effects first, or ask the user."
)


class Composer:
    """Writes whole turns and steps as events with dense seqs; `take` hands them out.

    `last` is the time of the last event: closers, which no transcript has, carry it.
    """

    def __init__(self, session: str, *, created_at: int) -> None:
        self.last = created_at
        self._session = session
        self._out: list[Event] = []
        self._ids: set[str] = set()
        self._seq = 0
        self._turn = 0
        self._step = 0
        self._sent: Route | None = None
        self._surface_empty = True
        self._system_seq: int | None = None

    def take(self) -> list[Event]:
        """The events written since the last call."""
        out, self._out = self._out, []
        return out

    def open_turn(self, time: int) -> None:
        """Write `turn/start`."""
        self._turn += 1
        self._step = 0
        self._put(TurnStart(seq=self._seq, time=time, data=TurnData(self._turn)))

    def close_turn(self, reason: EndReason) -> None:
        """Write `turn/end`."""
        data = TurnEndData(self._turn, reason)
        self._put(TurnEnd(seq=self._seq, time=self.last, data=data))

    def write(self, waiting: Sequence[Said | Aside]) -> None:
        """Write messages of the user role and `x/` events, in order."""
        for item in waiting:
            if isinstance(item, Aside):
                self.keep(item)
            else:
                self._user(item)

    def write_step(self, step: Step) -> None:
        """Write a whole step with its input."""
        self._step += 1
        place = StepData(self._turn, self._step)
        begun = step.waiting[0].time if step.waiting else step.time
        self._put(StepStart(seq=self._seq, time=begun, data=place))
        if step.system is not None:
            self._system(step.system, place)
        self.write(step.waiting)
        if step.route is not None:
            self._header(step.route, step.time)
        self._message(step, place)
        seqs = [self._call(call, place) for call in step.calls]
        for call, seq in zip(step.calls, seqs, strict=True):
            self._result(call, seq, place)
        self.write(step.asides)
        self._put(StepEnd(seq=self._seq, time=self.last, data=place))

    def keep(self, aside: Aside) -> None:
        """Write an `x/` event."""
        data = raw(aside.data)
        self._put(
            Foreign(seq=self._seq, time=aside.time, ignorable=True, kind=aside.kind, data=data)
        )

    def _put(self, event: Event) -> int:
        self._out.append(event)
        self.last = event.time
        self._seq += 1
        return event.seq

    def _mint(self, recorded: str) -> str:
        id = recorded if recorded not in self._ids else ""
        id = id or f"{self._session}:{self._seq}"
        self._ids.add(id)
        return id

    def _system(self, content: tuple[Block, ...], place: StepData) -> None:
        source = Source(kind="plugin", plugin=SNAPSHOT_PLUGIN)
        message = Message(self._mint(""), "system", content, source)
        data = SystemData(place.turn, place.step, message)
        old = self._system_seq
        if self._surface_empty:
            event = SystemMessage(seq=self._seq, time=self.last, data=data, surface_op="append")
        elif old is not None:
            event = SystemMessage(
                seq=self._seq,
                time=self.last,
                data=data,
                surface_op=Replace(old, old),
                source_event_seqs=(old,),
            )
        else:  # only the first node may be a system message
            self.keep(Aside(self.last, "x/system", {"content": content}))
            return
        self._surface_empty = False
        self._system_seq = self._put(event)

    def _user(self, said: Said) -> None:
        self._surface_empty = False
        message = Message(self._mint(said.id), "user", said.content, said.source)
        self._put(UserMessage(seq=self._seq, time=said.time, data=message, surface_op="append"))

    def _header(self, route: Route, time: int) -> None:
        sent, self._sent = self._sent, route
        if route == sent:
            return
        config = HeaderConfig(
            route.provider, route.model, reasoning_effort=route.effort, max_tokens=route.max_tokens
        )
        header = RequestEnvelope(config, tools=route.tools or NO_JSON)
        old = sent and (sent.provider, sent.model, sent.effort, sent.max_tokens, sent.tools)
        new = (route.provider, route.model, route.effort, route.max_tokens, route.tools)
        if old != new:
            data = RequestHeaderData(header, "change" if sent else "initial")
            self._put(RequestHeader(seq=self._seq, time=time, data=data))
        facts = (route.provider, route.model, route.window)
        if sent is None or facts != (sent.provider, sent.model, sent.window):
            context = RequestContextData(*facts)
            self._put(RequestContext(seq=self._seq, time=time, data=context))

    def _message(self, step: Step, place: StepData) -> None:
        self._surface_empty = False
        source = Source(
            kind="model",
            provider=step.route.provider if step.route else "",
            model=step.route.model if step.route else "",
            replay_state=_replay_state(step) if any(step.states) else NO_JSON,
        )
        message = Message(self._mint(step.id), "assistant", tuple(step.blocks), source)
        data = AssistantData(
            place.turn, place.step, message, usage=step.usage, interrupted=step.interrupted
        )
        self._put(AssistantMessage(seq=self._seq, time=step.time, data=data, surface_op="append"))

    def _call(self, call: Call, place: StepData) -> int:
        data = ToolCallData(place.turn, place.step, call.id, call.name, call.arguments)
        return self._put(ToolCalled(seq=self._seq, time=call.time, data=data))

    def _result(self, call: Call, called: int, place: StepData) -> None:
        answer, time = call.answer, call.answered
        if answer is None:
            id = f"interrupted-tool-result-{call.id}-{self._seq}"
            answer = Answer((Text(OUTCOME_TEXT),), is_error=True, error=OUTCOME_UNKNOWN, id=id)
            time = self.last
        meta = dict(answer.meta or {})
        if call.id != call.original:
            meta["originalCallId"] = call.original
        block = ToolResultBlock(call.id, answer.is_error, answer.content)
        source = Source(kind="tool", call_id=call.id)
        data = ToolResultData(
            place.turn,
            place.step,
            Message(self._mint(answer.id), "user", (block,), source),
            error=answer.error if answer.is_error else None,
            meta=raw(meta) if meta else NO_JSON,
        )
        result = ToolResult(
            seq=self._seq, time=time, data=data, surface_op="append", source_event_seqs=(called,)
        )
        self._put(result)


def _replay_state(step: Step) -> Raw:
    pairs = zip(step.blocks, step.states, strict=True)
    blocks = [{"type": block.__struct_config__.tag, **(state or {})} for block, state in pairs]
    return raw({"blocks": blocks})
