"""One frozen struct per event kind of log format 3, and the closed union of them.

An event is what one line of a session log says. `data` has the shape the line has
(`payloads.py`), with the fields that slicetape reads; what it never reads stays in the line
itself, which is kept.
"""

from typing import Literal

import msgspec
from msgspec import Raw

from slicetape.log.messages import Message, Source
from slicetape.log.payloads import (
    AssistantData,
    AttemptData,
    CompactionData,
    DispatchData,
    DispatchStartData,
    EndSeedData,
    InboxData,
    PruneData,
    RequestContextData,
    RequestHeaderData,
    RetryData,
    RetryStartedData,
    StepData,
    SummaryData,
    SystemData,
    ToolCallData,
    ToolResultData,
    TurnData,
    TurnEndData,
)
from slicetape.log.seqs import PackedSeqs, unpack

FORMAT_VERSION = 3
"""The format of a session log, printed in every numeric locator."""

ENTRY_PLUGIN = "slice:history"
"""The plugin name in the source of a tape entry."""

SNAPSHOT_PLUGIN = "@deepseek-ai/dsh-system-prompt"
"""The plugin name in the source of a runtime snapshot (and of the system prompt)."""


class Replace(msgspec.Struct, frozen=True, tag="replace", tag_field="op", rename="camel"):
    """Stand where the nodes `start_seq` to `end_seq` stood, by position, both included."""

    start_seq: int
    end_seq: int


SurfaceOp = Literal["append"] | Replace


class Recorded(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="type",
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """What every event carries. Appended once, never edited.

    `seq` is the event's place in its log (-1 until it is appended), `time` is epoch
    milliseconds, `source_event_seqs` is packed as on disk; read it through `sources`.
    """

    seq: int = -1
    time: int = 0
    ignorable: bool | None = None
    surface_op: SurfaceOp | None = None
    source_event_seqs: PackedSeqs | None = None

    @property
    def sources(self) -> tuple[int, ...]:
        """The cited events, expanded, in the order cited."""
        return unpack(self.source_event_seqs or ())

    @property
    def is_original(self) -> bool:
        """Whether this is no replacement: it entered the surface by `append`, or not at all."""
        return type(self.surface_op) is not Replace


class TurnStart(Recorded, frozen=True, kw_only=True, tag="turn/start"):
    """Opens a turn, before its input is claimed."""

    data: TurnData


class TurnEnd(Recorded, frozen=True, kw_only=True, tag="turn/end"):
    """Closes a turn."""

    data: TurnEndData


class StepStart(Recorded, frozen=True, kw_only=True, tag="step/start"):
    """Opens one model call and its tools."""

    data: StepData


class StepEnd(Recorded, frozen=True, kw_only=True, tag="step/end"):
    """Closes a step."""

    data: StepData


class SystemMessage(Recorded, frozen=True, kw_only=True, tag="system/message"):
    """The system prompt on the surface."""

    data: SystemData


class UserMessage(Recorded, frozen=True, kw_only=True, tag="user/message"):
    """A message in the user role: human input, injected context, or a tape entry."""

    data: Message


class AssistantMessage(Recorded, frozen=True, kw_only=True, tag="assistant/message"):
    """A model's answer, or the visible part of a cancelled one."""

    data: AssistantData


class AssistantAttempt(Recorded, frozen=True, kw_only=True, tag="assistant/attempt"):
    """A model call that gave no message."""

    data: AttemptData


class ToolCalled(Recorded, frozen=True, kw_only=True, tag="tool/call"):
    """A tool call, logged before it runs."""

    data: ToolCallData


class ToolResult(Recorded, frozen=True, kw_only=True, tag="tool/result"):
    """A tool's answer, or a view that replaces one."""

    data: ToolResultData


class DispatchStart(Recorded, frozen=True, kw_only=True, tag="tool/ptc-dispatch-start"):
    """Running code starts a call."""

    data: DispatchStartData


class Dispatch(Recorded, frozen=True, kw_only=True, tag="tool/ptc-dispatch"):
    """A call of running code is settled."""

    data: DispatchData


class RequestHeader(Recorded, frozen=True, kw_only=True, tag="request/header"):
    """The envelope of the requests that follow."""

    data: RequestHeaderData


class RequestContext(Recorded, frozen=True, kw_only=True, tag="request/context"):
    """The route of the requests that follow."""

    data: RequestContextData


class EndSeed(Recorded, frozen=True, kw_only=True, tag="session/end-seed"):
    """Everything before was inherited or resumed."""

    data: EndSeedData


class InboxSpliced(Recorded, frozen=True, kw_only=True, tag="agent/inbox/spliced"):
    """The pending messages changed."""

    data: InboxData


class CompactionStart(Recorded, frozen=True, kw_only=True, tag="compaction/start"):
    """A compaction begins."""

    data: CompactionData


class CompactionEnd(Recorded, frozen=True, kw_only=True, tag="compaction/end"):
    """A compaction ended."""

    data: CompactionData


class CompactionSummary(Recorded, frozen=True, kw_only=True, tag="compaction/summary"):
    """What a compaction wrote."""

    data: SummaryData


class CompactionPrune(Recorded, frozen=True, kw_only=True, tag="compaction/prune"):
    """A result is about to be pruned."""

    data: PruneData


class Retry(Recorded, frozen=True, kw_only=True, tag="llm/retry"):
    """A model call will be tried again."""

    data: RetryData


class RetryStarted(Recorded, frozen=True, kw_only=True, tag="llm/retry-started"):
    """A model call is tried again."""

    data: RetryStartedData


class Foreign(Recorded, frozen=True, kw_only=True, tag="slicetape/foreign"):
    """An event of a kind this build carries without reading; `data` is its JSON as logged.

    `kind` is the `type` of its line.
    """

    kind: str
    data: Raw


KnownEvent = (
    TurnStart
    | TurnEnd
    | StepStart
    | StepEnd
    | SystemMessage
    | UserMessage
    | AssistantMessage
    | AssistantAttempt
    | ToolCalled
    | ToolResult
    | DispatchStart
    | Dispatch
    | RequestHeader
    | RequestContext
    | EndSeed
    | InboxSpliced
    | CompactionStart
    | CompactionEnd
    | CompactionSummary
    | CompactionPrune
    | Retry
    | RetryStarted
)

Event = KnownEvent | Foreign

SurfaceEvent = SystemMessage | UserMessage | AssistantMessage | ToolResult


class Header(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The first line of a session log."""

    type: Literal["session"]
    version: int
    id: str
    created_at: int
    is_seeded: bool
    delegation_depth: int
    cwd: str | None = None
    parent_session: str | None = None
    origin: str | None = None
    agent_preset: str | None = None


def type_of(event: Event) -> str:
    """The `type` that the event's line carries."""
    return event.kind if isinstance(event, Foreign) else str(event.__struct_config__.tag)


def message_of(event: SurfaceEvent) -> Message:
    """The message that a surface event carries."""
    return event.data if isinstance(event, UserMessage) else event.data.message


def is_entry(event: Event) -> bool:
    """Whether the event is a tape entry, whatever its text says."""
    return (
        isinstance(event, UserMessage)
        and event.data.source.kind == "plugin"
        and event.data.source.plugin == ENTRY_PLUGIN
        and type(event.surface_op) is Replace
    )


def is_human(event: Event) -> bool:
    """Whether the event is genuine human input."""
    return isinstance(event, UserMessage) and event.data.source.kind == "user"


def is_snapshot_source(source: Source) -> bool:
    """Whether a message of this source is a runtime snapshot."""
    return source.kind == "plugin" and source.plugin == SNAPSHOT_PLUGIN


def is_snapshot(event: Event) -> bool:
    """Whether the event is a runtime snapshot."""
    return isinstance(event, UserMessage) and is_snapshot_source(event.data.source)
