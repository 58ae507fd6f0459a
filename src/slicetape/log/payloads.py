"""The `data` of each event kind of log format 3, with the fields that slicetape reads.

One shape per kind stands here together, as the format does; JSON that only passes through
(`stream`, `meta`, tool schemas) is held as `msgspec.Raw`.
"""

import msgspec
from msgspec import Raw

from slicetape.log.messages import NO_JSON, Block, Message
from slicetape.log.seqs import PackedSeqs


class TurnData(msgspec.Struct, frozen=True, rename="camel"):
    """The number of a turn, from 1."""

    turn: int


class StepData(msgspec.Struct, frozen=True, rename="camel"):
    """A step within a turn, both from 1."""

    turn: int
    step: int


class Failure(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Why a model call failed."""

    message: str = ""
    code: str = ""
    status: int | None = None
    provider_retry_after_ms: float | None = None
    request_id: str | None = None


class EndReason(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Why a turn ended: completed, blocked, max-tokens, error, aborted or interrupted."""

    kind: str
    error: Failure | None = None
    reason: Raw = NO_JSON


class TurnEndData(msgspec.Struct, frozen=True):
    """A turn and why it ended."""

    turn: int
    reason: EndReason


class SystemData(msgspec.Struct, frozen=True):
    """A rendered system prompt; empty content means that there is none."""

    turn: int
    step: int
    message: Message


class Usage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Tokens of one model call. The three input counters are disjoint and sum to the request."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None


class AssistantData(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model said in one step; `stream` keeps the provider's deltas."""

    turn: int
    step: int
    message: Message
    usage: Usage | None = None
    interrupted: bool | None = None
    stream: Raw = NO_JSON


class AttemptData(msgspec.Struct, frozen=True, omit_defaults=True):
    """A failed, retried or cancelled attempt."""

    turn: int
    step: int
    stream: Raw = NO_JSON


class ToolCallData(msgspec.Struct, frozen=True, rename="camel"):
    """A call as it was started; `arguments` is the raw string."""

    turn: int
    step: int
    call_id: str
    name: str
    arguments: str


class ToolError(msgspec.Struct, frozen=True, omit_defaults=True):
    """Name and code of a tool's failure."""

    name: str | None = None
    code: str | None = None


class ToolResultData(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a tool returned; `meta` is the tool's private JSON."""

    turn: int
    step: int
    message: Message
    error: ToolError | None = None
    meta: Raw = NO_JSON


class DispatchStartData(msgspec.Struct, frozen=True, rename="camel"):
    """A call that running code makes."""

    root_call_id: str
    parent_call_id: str
    sub_call_id: str
    name: str
    arguments: Raw


class DispatchData(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The settlement of a call that running code made."""

    root_call_id: str
    parent_call_id: str
    sub_call_id: str
    name: str
    arguments: Raw
    is_error: bool | None = None
    content: tuple[Block, ...] = ()


class HeaderConfig(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The route and its options."""

    provider: str
    model: str
    reasoning_effort: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: Raw = NO_JSON


class RequestEnvelope(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Everything of a request but its history; `tools` is the list of schemas as JSON."""

    config: HeaderConfig
    adapter_defaults: Raw = NO_JSON
    tools: Raw = NO_JSON


class RequestHeaderData(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The full envelope, logged when it changes; `reason` is initial, resume, change or series."""

    header: RequestEnvelope
    reason: str
    starts_series: bool | None = None


class RequestContextData(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Facts about the route."""

    provider: str
    model: str
    context_window: int | None = None
    system_prompt_update: Raw = NO_JSON


class EndSeedData(msgspec.Struct, frozen=True, omit_defaults=True):
    """End of inherited or resumed history."""

    inherited: bool | None = None


class InboxData(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One edit of a durable list of pending messages."""

    target: str
    start: int
    inserted: tuple[Message, ...]
    removed_count: int | None = None
    outcome: str | None = None


class CompactionData(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The bracket of a compaction; `turn` is None when a person asked for it."""

    compaction_id: str
    turn: int | None = None
    source_command_id: str | None = None
    error: Raw = NO_JSON


class SeqRange(msgspec.Struct, frozen=True):
    """First and last seq, by surface position."""

    start: int
    end: int


class SummaryData(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A compaction's summary, before its replacement message."""

    compaction_id: str
    summary: Raw
    shadowed_range: SeqRange
    shadowed_seqs: PackedSeqs
    shadowed_token_count: int
    provider: str
    model: str
    raw_output: Raw = NO_JSON
    llm_stream_call: bool | None = None
    max_tokens: int | None = None
    usage: Usage | None = None
    source_command_id: str | None = None


class PruneData(msgspec.Struct, frozen=True, rename="camel"):
    """What the next tool result replacement prunes."""

    shadowed_range: SeqRange
    shadowed_seqs: PackedSeqs
    shadowed_token_count: int


class RetryData(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A retry that was scheduled."""

    retry_id: str
    turn: int
    step: int
    provider: str
    mode: str
    policy_key: str
    retry: int
    delay_ms: float
    failure: Failure
    max_retries: int | None = None


class RetryStartedData(msgspec.Struct, frozen=True, rename="camel"):
    """A retry whose wait is over."""

    retry_id: str
    turn: int
    step: int
    retry: int
