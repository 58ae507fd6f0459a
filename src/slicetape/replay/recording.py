"""A recording: what happened in a session, without what a policy made of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from slicetape.errors import PriceError
from slicetape.log.events import (
    AssistantMessage,
    CompactionEnd,
    CompactionPrune,
    CompactionStart,
    CompactionSummary,
    EndSeed,
    Event,
    Foreign,
    Header,
    InboxSpliced,
    Replace,
    RequestContext,
    RequestHeader,
    SystemMessage,
    ToolResult,
    TurnStart,
    UserMessage,
    is_human,
)
from slicetape.log.messages import Image, ToolCall, ToolResultBlock
from slicetape.log.payloads import Usage
from slicetape.prices.cost import Tokens, recorded

_POLICY = (CompactionStart, CompactionEnd, CompactionSummary, CompactionPrune)
_HOST = (Foreign, InboxSpliced, EndSeed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Counts of a recording, and its route. `turns` counts human turns.

    `usage` sums what the provider billed, None when nothing was recorded. `signed` says that
    reasoning carries signatures.
    """

    turns: int = 0
    steps: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    images: int = 0
    compacted: bool = False
    provider: str = ""
    model: str = ""
    window: int | None = None
    tools: bytes = b""
    has_system: bool = False
    signed: bool = False
    usage: Tokens | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """The events of a session in recorded order; replacements by any policy are left out.

    Updates of the system prompt stay: the host made them, not a policy. `seq` of an event names
    it in the recording (and its text, in the counts), not in the log of an arm.
    """

    id: str
    format: str
    header: Header
    events: tuple[Event, ...]
    facts: Facts
    notes: tuple[str, ...] = ()


def record(
    id: str, format: str, header: Header, events: Iterable[Event], notes: Iterable[str] = ()
) -> Recording:
    """Keep what happened; drop what policies wrote and what no request can show."""
    kept: list[Event] = []
    gather = _Gather()
    for event in events:
        gather.take(event)
        if isinstance(event, _POLICY + _HOST) or _by_policy(event):
            continue
        kept.append(event)
    said = list(notes)
    if gather.unusable:
        said.append(f"{gather.unusable} recorded usages have negative counts and are left out")
    return Recording(id, format, header, tuple(kept), gather.facts(), tuple(said))


def _by_policy(event: Event) -> bool:
    return isinstance(event.surface_op, Replace) and not isinstance(event, SystemMessage)


class _Gather:
    """Counts, taken while the events pass."""

    def __init__(self) -> None:
        self._turn = 0
        self._human: set[int] = set()
        self._steps = self._calls = self._errors = self._images = 0
        self._models: dict[tuple[str, str], int] = {}
        self._window: int | None = None
        self._tools = b""
        self._usage: Tokens | None = None
        self._system = self._compacted = self._signed = False
        self.unusable = 0
        """Recorded usages that cannot be true, and were not added up."""

    def take(self, event: Event) -> None:
        if isinstance(event, TurnStart):
            self._turn = event.data.turn
        elif isinstance(event, UserMessage):
            self._take_user(event)
        elif isinstance(event, AssistantMessage) and event.is_original:
            self._take_assistant(event)
        elif isinstance(event, ToolResult) and event.is_original:
            self._take_result(event)
        elif isinstance(event, RequestContext):
            self._window = event.data.context_window or self._window
        elif isinstance(event, RequestHeader):
            self._tools = bytes(event.data.header.tools) or self._tools
        elif isinstance(event, SystemMessage):
            self._system = True
        elif isinstance(event, Foreign):
            self._compacted |= event.kind in ("x/compaction", "x/microcompaction")

    def _take_user(self, event: UserMessage) -> None:
        if is_human(event) and event.is_original:
            self._human.add(self._turn)
            self._images += sum(isinstance(block, Image) for block in event.data.content)
        self._compacted |= not event.is_original and event.data.source.plugin == "compact"

    def _take_assistant(self, event: AssistantMessage) -> None:
        self._steps += 1
        if event.data.usage:
            self._take_usage(event.data.usage)
        blocks = event.data.message.content
        self._calls += sum(isinstance(block, ToolCall) for block in blocks)
        source = event.data.message.source
        self._signed |= b'"signature"' in bytes(source.replay_state)
        route = source.provider or "", source.model or ""
        self._models[route] = self._models.get(route, 0) + 1

    def _take_usage(self, usage: Usage) -> None:
        try:
            self._usage = (self._usage or Tokens()) + recorded(usage)
        except PriceError:
            self.unusable += 1

    def _take_result(self, event: ToolResult) -> None:
        unanswered = event.data.error and event.data.error.code == "TOOL_OUTCOME_UNKNOWN"
        for block in event.data.message.content:
            if isinstance(block, ToolResultBlock):
                self._errors += bool(block.is_error) and not unanswered
                self._images += sum(isinstance(part, Image) for part in block.content)

    def facts(self) -> Facts:
        named = {route: n for route, n in self._models.items() if route[1]}
        provider, model = max(named, key=named.__getitem__) if named else ("", "")
        return Facts(
            turns=len(self._human - {0}),
            steps=self._steps,
            tool_calls=self._calls,
            tool_errors=self._errors,
            images=self._images,
            compacted=self._compacted,
            provider=provider,
            model=model,
            window=self._window,
            tools=self._tools,
            has_system=self._system,
            signed=self._signed,
            usage=self._usage,
        )
