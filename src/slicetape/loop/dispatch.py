"""The calls of one answer, run in its order, each with exactly one result in the log.

An exclusive call is a barrier; calls beside each other that may run in parallel share a pool.
`tool/call` is logged when a call starts; permission and results keep the order of the answer, so
only bodies overlap. When the turn is aborted, what runs is cancelled and answered, and what did
not start is answered as well: every call has its result, whatever happens.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from slicetape.log.events import ToolCalled, ToolResult
from slicetape.log.messages import NO_JSON, Message, Source, ToolCall, ToolResultBlock
from slicetape.log.payloads import ToolCallData, ToolResultData
from slicetape.loop.abort import Abort, Aborted
from slicetape.loop.arguments import parse, violations
from slicetape.loop.live import Live
from slicetape.loop.postexecute import Ran, after_tool
from slicetape.loop.protocols import Call, Output, Tool
from slicetape.loop.sound import sound_blocks, sound_message

ABORTED = Output.failure("tool call aborted", name="AbortError", code="ABORTED")
UNSTARTED = Output.failure(
    "tool call aborted before it started", name="AbortError", code="ABORTED_BEFORE_DISPATCH"
)
_SHOWN = 120


@dataclass(slots=True)
class _Answer:
    """A call that is owed a result: its place among the results, and its event."""

    call: Call
    ordinal: int
    seq: int
    arguments: Mapping[str, Any] | str


@dataclass(slots=True)
class _Started(_Answer):
    """A call in flight."""

    body: asyncio.Task[Output]


class Dispatch:
    """One answer's calls; `concludes` says after `run` whether a result ended the turn."""

    def __init__(self, live: Live, place: tuple[int, int], abort: Abort) -> None:
        self._live = live
        self._place = place
        self._abort = abort
        self._committed = 0
        self._flying: deque[_Started] = deque()
        self.concludes = False

    async def run(self, calls: Sequence[ToolCall]) -> None:
        """Run and answer all `calls`. Raises Aborted once each of them is answered."""
        waiting = deque(calls)
        try:
            while waiting and not self._abort.cause:
                if not self._flying or self._may_join(waiting[0]):
                    await self._start(waiting.popleft())
                else:
                    await self._settle()
            while self._flying:
                await self._settle()
        except BaseException:
            await self._drop_flying()
            raise
        for call in waiting:
            self._answer_unstarted(call)
        if self._abort.cause:
            raise Aborted

    def _may_join(self, call: ToolCall) -> bool:
        alone = any(not self._parallel(started.call) for started in self._flying)
        full = len(self._flying) >= self._live.settings.parallel
        return not alone and not full and self._parallel(self._call(call))

    def _parallel(self, call: Call) -> bool:
        """Whether the call may run beside others; whatever is unclear may not."""
        tool = self._live.tools.by_name.get(call.name)
        arguments = parse(call.raw)
        if tool is None or isinstance(arguments, str) or violations(tool.parameters, arguments):
            return False
        try:
            return tool.parallel(arguments) is True
        except Exception:  # noqa: BLE001  # a classifier that fails is no promise
            return False

    def _call(self, block: ToolCall) -> Call:
        turn, step = self._place
        return Call(turn=turn, step=step, call_id=block.id, name=block.name, raw=block.arguments)

    async def _start(self, block: ToolCall) -> None:
        call, live = self._call(block), self._live
        seq = self._log_call(call)
        arguments = parse(call.raw)
        refused = self._refusal(call, arguments)
        if refused is None and live.permission is not None:
            assert not isinstance(arguments, str)
            try:
                reason = await self._abort.guard(live.permission.ask(call, arguments))
            except Aborted:
                reason, refused = None, ABORTED
            if reason is not None:
                refused = Output.failure(reason)
        if refused is None:
            live.session.log.sync()  # a body that may have run must be on the disk
        body = self._body(call, arguments) if refused is None else _settled(refused)
        ordinal = self._committed + len(self._flying) + 1
        task = asyncio.ensure_future(body)
        self._flying.append(_Started(call, ordinal, seq, arguments, task))

    def _refusal(self, call: Call, arguments: Mapping[str, Any] | str) -> Output | None:
        tool = self._live.tools.by_name.get(call.name)
        if tool is None:
            name = call.name if len(call.name) <= _SHOWN else call.name[:_SHOWN] + "…"
            return Output.failure(
                f'unknown tool "{name}"', name="ToolNotFoundError", code="UNKNOWN_TOOL"
            )
        wrong = violations(tool.parameters, arguments)
        if wrong:
            text = f"invalid arguments: {'; '.join(wrong)}"
            return Output.failure(text, name="ToolArgsError", code="INVALID_ARGS")
        return None

    async def _body(self, call: Call, arguments: Mapping[str, Any] | str) -> Output:
        tool = self._live.tools.by_name[call.name]
        assert not isinstance(arguments, str)
        try:
            return await self._abort.guard(_run(tool, arguments, call))
        except Aborted:
            return ABORTED
        except Exception as error:  # noqa: BLE001  # a broken tool is the model's to know
            text = f"{call.name} failed: {type(error).__name__}: {str(error)[:_SHOWN]}"
            return Output.failure(text, name="ToolError", code="TOOL_FAILED")

    async def _settle(self) -> None:
        """Wait for the first call in flight, and log its result."""
        started = self._flying[0]
        output = await started.body
        self._flying.popleft()
        self._log_result(started, output)

    async def _drop_flying(self) -> None:
        for started in self._flying:
            started.body.cancel()
        await asyncio.gather(*(one.body for one in self._flying), return_exceptions=True)
        self._flying.clear()

    def _answer_unstarted(self, block: ToolCall) -> None:
        call = self._call(block)
        self._log_result(_Answer(call, self._committed + 1, self._log_call(call), ""), UNSTARTED)

    def _log_call(self, call: Call) -> int:
        data = ToolCallData(call.turn, call.step, call.call_id, call.name, call.raw)
        return self._live.session.append(ToolCalled(time=self._live.now(), data=data)).seq

    def _log_result(self, started: _Answer, output: Output) -> None:
        live, call = self._live, started.call
        if live.settings.notes:
            for note in output.notes:
                live.session.append(msgspec.structs.replace(note, time=live.now()))
        logged = after_tool(
            Ran(
                turn=call.turn,
                step=call.step,
                call_id=call.call_id,
                tool=call.name,
                arguments=call.raw,
                content=sound_blocks(output.content),
                is_error=output.is_error,
                meta=output.meta,
                call=started.ordinal,
            ),
            live.prestep,
            recalls=live.recalls,
        )
        parts = tuple(part for part in logged.content if not isinstance(part, ToolCall))
        block = ToolResultBlock(call.call_id, output.is_error, parts)  # type: ignore[arg-type]
        source = Source("tool", call_id=call.call_id)
        message = Message(live.ids(), "user", (block,), source)
        data = ToolResultData(call.turn, call.step, message, output.error, logged.meta or NO_JSON)
        live.session.append(
            ToolResult(
                time=live.now(), data=data, surface_op="append", source_event_seqs=(started.seq,)
            )
        )
        self._committed += 1
        self.concludes = self.concludes or output.concludes_turn
        contexts = tuple(map(sound_message, output.contexts))
        live.inbox.put("next-step", contexts, time=live.now())
        for context in live.contexts:
            context.after_call(call, started.arguments, output)


async def _run(tool: Tool, arguments: Mapping[str, Any], call: Call) -> Output:
    return await tool.run(arguments, call)


async def _settled(output: Output) -> Output:
    return output
