"""What the events of an imported session hold, counted by the rules of its format.

Counting reads events only, never the transcript: figures that equal those of the transcript
prove that all of it survived.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from slicetape.formats.composer import OUTCOME_UNKNOWN
from slicetape.log.events import (
    AssistantMessage,
    CompactionEnd,
    CompactionPrune,
    CompactionStart,
    CompactionSummary,
    Event,
    Foreign,
    Replace,
    ToolCalled,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
    is_human,
)
from slicetape.log.messages import Block, Image, OtherBlock, Reasoning, Text, ToolResultBlock
from slicetape.log.payloads import Usage


@dataclass(frozen=True, slots=True)
class UsageCounts:
    """Tokens of all responses: fresh, read from a cache, written to it, output, largest request."""

    fresh: int = 0
    read: int = 0
    written: int = 0
    out: int = 0
    peak: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """The figures of one session; `usage` is None where none was recorded."""

    turns: int
    steps: int
    tool_calls: int
    tool_errors: int
    compactions: int
    images: int
    chars: int
    usage: UsageCounts | None


@dataclass(frozen=True, slots=True)
class Rules:
    """How a format counts: the glue between texts, and what is an error or a compaction.

    `uncounted` names the plugins and forms whose messages are not counted; `stand_ins` says that a
    text before an unknown block stands in for that block.
    """

    between_messages: str = "\n"
    after_messages: str = ""
    between_texts: str = ""
    between_reasonings: str = ""
    compactions: frozenset[str] = frozenset({"x/compaction"})
    uncounted: frozenset[str] = frozenset()
    stand_ins: bool = False


RULES = {
    "claude-code": Rules(
        compactions=frozenset({"x/compaction", "x/microcompaction"}),
        uncounted=frozenset({"steering"}),
    ),
    "codex-rollout": Rules(uncounted=frozenset({"codex-rollout:context"})),
    "copilot-cli": Rules(uncounted=frozenset({"copilot-cli:context", "copilot-cli:notification"})),
    "opencode": Rules(stand_ins=True),
    "dsh-session": Rules(between_messages="", after_messages="\n"),
    "swe-agent": Rules(uncounted=frozenset({"swe-agent:demonstration", "swe-agent:observation"})),
    "openhands": Rules(uncounted=frozenset({"openhands:notice"})),
    "openai-chat": Rules(uncounted=frozenset({"openai-chat:system"})),
    "inspect": Rules(uncounted=frozenset({"inspect:system"})),
}
_PLAIN = Rules()

Compaction = CompactionStart | CompactionSummary | CompactionEnd | CompactionPrune


class _Summary(msgspec.Struct):
    text: str = ""


def count(events: Iterable[Event], format: str) -> Counts:
    """Count the events of a session that came from `format`."""
    counting = _Counting(RULES.get(format, _PLAIN))
    for event in events:
        counting.add(event)
    return counting.counts()


@dataclass(slots=True)
class _Counting:
    rules: Rules
    turns: int = 0
    steps: int = 0
    calls: int = 0
    errors: int = 0
    compactions: int = 0
    images: int = 0
    chars: int = 0
    messages: int = 0
    human: bool = False
    usages: list[Usage] = field(default_factory=list)

    def add(self, event: Event) -> None:
        if isinstance(event, TurnStart):
            self.messages, self.human = 0, False
        elif isinstance(event, TurnEnd):
            self.turns += self.human
        elif isinstance(event, UserMessage):
            self._user(event)
        elif isinstance(event, AssistantMessage):
            self._assistant(event)
        elif isinstance(event, ToolCalled):
            self.calls += 1
            self.chars += len(event.data.arguments)
        elif isinstance(event, ToolResult):
            self._result(event)
        elif isinstance(event, Compaction):
            self.compactions += 1
        elif isinstance(event, Foreign):
            self._foreign(event)

    def _user(self, event: UserMessage) -> None:
        if type(event.surface_op) is Replace:
            self.compactions += 1
            return
        source = event.data.source
        if source.plugin in self.rules.uncounted or source.form in self.rules.uncounted:
            return
        glue = len(self.rules.between_messages) if self.messages else 0
        self.chars += glue + self._shown(event.data.content) + len(self.rules.after_messages)
        self.messages += 1
        self.human = self.human or is_human(event)

    def _assistant(self, event: AssistantMessage) -> None:
        self.steps += 1
        blocks = event.data.message.content
        texts = [block.text for block in blocks if isinstance(block, Text)]
        reasonings = [block.text for block in blocks if isinstance(block, Reasoning)]
        self.chars += len(self.rules.between_texts.join(texts))
        self.chars += len(self.rules.between_reasonings.join(reasonings))
        if event.data.usage is not None:
            self.usages.append(event.data.usage)

    def _result(self, event: ToolResult) -> None:
        if type(event.surface_op) is Replace:
            self.compactions += 1
            return
        if event.data.error == OUTCOME_UNKNOWN:
            return
        for block in event.data.message.content:
            if isinstance(block, ToolResultBlock):
                self.errors += bool(block.is_error)
                self.chars += self._shown(block.content)

    def _foreign(self, event: Foreign) -> None:
        self.compactions += event.kind in self.rules.compactions
        if event.kind == "x/compaction-summary":
            self.chars += len(msgspec.json.decode(event.data, type=_Summary).text)
        elif event.kind == "x/usage" and b'"inputTokens"' in bytes(event.data):
            self.usages.append(msgspec.json.decode(event.data, type=Usage))

    def _shown(self, blocks: Iterable[Block]) -> int:
        """The length of texts and pictures, joined by newlines."""
        shown: list[int] = []
        for block in blocks:
            if isinstance(block, OtherBlock) and self.rules.stand_ins:
                shown = shown[:-1]
            elif isinstance(block, Text):
                shown.append(len(block.text))
            elif isinstance(block, Image):
                self.images += 1
                shown.append(len("[image]"))
        return sum(shown) + max(0, len(shown) - 1)

    def counts(self) -> Counts:
        usage = None
        if self.usages:
            usage = UsageCounts(
                fresh=sum(u.input_tokens for u in self.usages),
                read=sum(u.cache_read_tokens or 0 for u in self.usages),
                written=sum(u.cache_write_tokens or 0 for u in self.usages),
                out=sum(u.output_tokens for u in self.usages),
                peak=max(map(_request, self.usages)),
            )
        return Counts(
            self.turns,
            self.steps,
            self.calls,
            self.errors,
            self.compactions,
            self.images,
            self.chars,
            usage,
        )


def _request(usage: Usage) -> int:
    return usage.input_tokens + (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
