"""Deltas of one model call, kept: the stream records of the log, and the blocks they add up to.

Blocks stand in the order in which they were first seen. Deltas for a closed block are recorded
and otherwise ignored; a block without an end is assembled from its deltas.
"""

import json
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw

from slicetape.log.messages import NO_JSON, Block, OtherBlock, Reasoning, Text, ToolCall
from slicetape.log.payloads import Usage
from slicetape.loop.deltas import (
    BlockEnd,
    BlockStart,
    BlockType,
    Delta,
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageSeen,
)


class _TextRun(msgspec.Struct, tag_field="type", kw_only=True):
    time0: int
    index: int
    dt: list[int] = msgspec.field(default_factory=list)
    texts: list[str]


class _Texts(_TextRun, tag="text-chunks", kw_only=True):
    pass


class _Reasonings(_TextRun, tag="reasoning-chunks", kw_only=True):
    pass


class _Calls(
    msgspec.Struct, tag="tool-call-chunks", tag_field="type", kw_only=True, omit_defaults=True
):
    time0: int
    index: int
    dt: list[int]
    id: str
    name: str | None = None
    args: list[str]


class _Chunk(msgspec.Struct, tag="chunk", tag_field="type"):
    time: int
    chunk: Delta


_Run = _Texts | _Reasonings | _Calls
Said = Text | Reasoning | ToolCall | OtherBlock


@dataclass(slots=True)
class _Open:
    """A block that is being streamed."""

    kind: BlockType
    texts: list[str] = field(default_factory=list)
    id: str = ""
    name: str = ""
    closed: Said | None = None

    def block(self) -> Said:
        """The block, as it was closed or as far as it came."""
        if self.closed is not None:
            return self.closed
        text = "".join(self.texts)
        if self.kind == "tool-call":
            return ToolCall(self.id, self.name, text)
        return Reasoning(text) if self.kind == "reasoning" else Text(text)


class Stream:
    """One model call as it comes in. `finish` and `usage` are None until they are seen."""

    __slots__ = ("_blocks", "_last_time", "_records", "finish", "usage")

    def __init__(self) -> None:
        self._records: list[_Run | _Chunk] = []
        self._blocks: dict[int, _Open] = {}
        self._last_time = 0
        self.finish: Finish | None = None
        self.usage: Usage | None = None

    def take(self, delta: Delta, time: int) -> None:
        """Record one delta, seen at `time` (epoch ms)."""
        self._record(delta, time)
        match delta:
            case BlockStart():
                self._blocks.setdefault(delta.index, _Open(delta.block_type))
            case TextDelta():
                self._said(delta.index, "text", delta.text)
            case ReasoningDelta():
                self._said(delta.index, "reasoning", delta.text)
            case ToolCallDelta():
                self._called(delta)
            case BlockEnd():
                kind = _KINDS[type(delta.block)]
                self._blocks.setdefault(delta.index, _Open(kind)).closed = delta.block
            case UsageSeen():
                self.usage = delta.usage
            case Finish():
                self.finish = delta

    @property
    def blocks(self) -> tuple[Said, ...]:
        """Everything streamed so far, empty blocks included."""
        return tuple(block.block() for block in self._blocks.values())

    @property
    def records(self) -> Raw:
        """The stream as the log keeps it."""
        try:
            return Raw(msgspec.json.encode(self._records))
        except UnicodeEncodeError:  # deltas may part a surrogate pair; escapes keep both halves
            rows = msgspec.to_builtins(self._records)
            return Raw(json.dumps(rows, separators=(",", ":")).encode())

    def _said(self, index: int, kind: BlockType, text: str) -> None:
        block = self._blocks.setdefault(index, _Open(kind))
        if block.closed is None:
            block.texts.append(text)

    def _called(self, delta: ToolCallDelta) -> None:
        block = self._blocks.setdefault(delta.index, _Open("tool-call"))
        if block.closed is None:
            block.id = block.id or delta.id
            block.name = block.name or delta.name or ""
            block.texts.append(delta.args)

    def _record(self, delta: Delta, time: int) -> None:
        run = self._records[-1] if self._records else None
        if isinstance(run, _Chunk) or run is None or not _joined(run, delta):
            self._records.append(_begun(delta, time))
        else:
            run.dt.append(time - self._last_time)
        self._last_time = time


def _joined(run: _Run, delta: Delta) -> bool:
    """Whether `delta` is the next member of `run`; its text is then added."""
    match delta:
        case TextDelta() if isinstance(run, _Texts) and run.index == delta.index:
            run.texts.append(delta.text)
        case ReasoningDelta() if isinstance(run, _Reasonings) and run.index == delta.index:
            run.texts.append(delta.text)
        case ToolCallDelta() if isinstance(run, _Calls) and (
            (run.index, run.id, run.name) == (delta.index, delta.id, delta.name)
        ):
            run.args.append(delta.args)
        case _:
            return False
    return True


_KINDS: dict[type, BlockType] = {
    Text: "text",
    Reasoning: "reasoning",
    ToolCall: "tool-call",
    OtherBlock: "other",
}


def _begun(delta: Delta, time: int) -> _Run | _Chunk:
    match delta:
        case TextDelta():
            return _Texts(time0=time, index=delta.index, texts=[delta.text])
        case ReasoningDelta():
            return _Reasonings(time0=time, index=delta.index, texts=[delta.text])
        case ToolCallDelta():
            return _Calls(
                time0=time,
                index=delta.index,
                dt=[],
                id=delta.id,
                name=delta.name,
                args=[delta.args],
            )
        case _:
            return _Chunk(time, delta)


class _Replay(msgspec.Struct):
    blocks: list[Raw] = msgspec.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Kept:
    """What of a stream becomes a message: its blocks, and the provider's state for the same."""

    content: tuple[Block, ...]
    replay_state: Raw = field(default_factory=Raw)


def kept(stream: Stream, *, calls: bool = True) -> Kept:
    """The blocks of a finished stream that say something, with their replay entries.

    One decision for a block and its entry. Without `calls`, requested calls are dropped: their
    arguments may have been cut.
    """
    state = stream.finish.replay_state if stream.finish else NO_JSON
    entries = _entries(state)
    wanted = [
        at
        for at, block in enumerate(stream.blocks)
        if (calls or not isinstance(block, ToolCall))
        and (not isinstance(block, Text | Reasoning) or block.text or _says(entries, at))
    ]
    blocks = stream.blocks
    content = tuple(blocks[at] for at in wanted)
    if len(wanted) == len(blocks) or len(entries) != len(blocks):
        return Kept(content, state if len(wanted) == len(blocks) else NO_JSON)
    members = msgspec.json.decode(state, type=dict[str, Raw])
    members["blocks"] = Raw(msgspec.json.encode([entries[at] for at in wanted]))
    return Kept(content, Raw(msgspec.json.encode(members)))


def visible(stream: Stream) -> tuple[Block, ...]:
    """Text and reasoning with something in them: what is kept of a cancelled call."""
    return tuple(
        block
        for block in stream.blocks
        if isinstance(block, Text | Reasoning) and block.text.strip()
    )


def _entries(state: Raw) -> list[Raw]:
    if not state:
        return []
    try:
        return msgspec.json.decode(state, type=_Replay).blocks
    except msgspec.MsgspecError:
        return []


def _says(entries: list[Raw], at: int) -> bool:
    return at < len(entries) and bytes(entries[at]) not in (b"null", b"{}")
