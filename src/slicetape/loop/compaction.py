"""The host's compaction: prune large results, then replace old messages by a summary.

A foreign writer to the tape: what it writes is protected, and it may replace what stands ahead
of the last entry. The summary comes from the caller, so that a live loop asks a model and a
replay composes one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from slicetape.log.events import (
    CompactionEnd,
    CompactionPrune,
    CompactionStart,
    CompactionSummary,
    Replace,
    SystemMessage,
    ToolResult,
    UserMessage,
)
from slicetape.log.messages import Block, Message, Source, Text, ToolCall, ToolResultBlock
from slicetape.log.payloads import CompactionData, PruneData, SeqRange, SummaryData, Usage
from slicetape.loop.estimate import estimate, estimate_event
from slicetape.surface import Edit, Session, message_at

PREAMBLE = (
    "Everything up to here was condensed by the program to make room; nobody has typed it. Take "
    "what stands below as known: build on it, do not repeat it and do not answer it. The messages "
    "that follow are the newest and stand as they were said. Go on with these as though nothing "
    "at all had been taken out.\n\n<compacted-summary>"
)
"""As long as the host's own by its estimate, so that the same summaries are refused."""

PRUNED = "\n\n[... tool result middle pruned ...]\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionSettings:
    """The host's thresholds: shares of the window in tokens, and sizes in code points.

    `rounds` is how many summaries one step may ask for while the window stays too full.
    """

    window: int
    threshold: float = 0.8
    retain: float = 0.16
    prune_above: int = 8_192
    prune_head: int = 4_096
    prune_tail: int = 1_024
    summary_tokens: int = 8_192
    rounds: int = 2


@dataclass(frozen=True, slots=True)
class Route:
    """Who writes the summary."""

    provider: str
    model: str


Pressure = Callable[[], int]
"""How many tokens the next request has, asked after each change."""

Summarise = Callable[[Sequence[int]], str]
"""The nodes of a region to the summary that may stand for them."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A compaction under way: its mark, the seq of its start, and the nodes to summarise."""

    mark: CompactionData
    start: int
    region: tuple[int, ...]


class Compactor:
    """Compacts one session before a step, when its next request fills too much of the window."""

    def __init__(self, session: Session, settings: CompactionSettings, route: Route) -> None:
        self._session = session
        self._settings = settings
        self._route = route
        self._sizes: dict[int, int] = {}
        self._large: list[int] = []
        self.count = 0
        """Summaries that took their place on the surface."""
        self.estimated = 0
        """The estimate of every message on the surface."""
        for seq in session.view.surface.nodes:
            self._add(seq)
        session.listen(self._follow)

    def before_step(self, *, time: int, pressure: Pressure, summarise: Summarise) -> None:
        """Prune, then summarise, as far as needed to come below the threshold.

        `summarise` is asked again as long as its answers are taken and `rounds` allow. The
        caller leaves this out before the first request of a session.
        """
        limit = self._settings.window * self._settings.threshold
        if pressure() < limit:
            return
        self._prune(time)
        for _ in range(self._settings.rounds):
            if pressure() < limit or not self._summarise(time, summarise):
                return

    def prune(self, *, time: int) -> None:
        """Shorten every large result; a turn must be open, and no step."""
        self._prune(time)

    def begin(self, *, time: int, retain: float | None = None) -> Begun | None:
        """Open a compaction: the nodes to summarise; None when there is nothing to do.

        `retain` is the share of the window that stays, by default that of the settings. Each one
        that was begun has to be ended by `commit` or `fail`.
        """
        region = self._region(self._settings.retain if retain is None else retain)
        if not region:
            return None
        view = self._session.view
        mark = CompactionData(f"compaction-{len(view.events)}", view.turns.open or None)
        start = self._session.append(CompactionStart(time=time, data=mark)).seq
        return Begun(mark, start, region)

    def commit(self, begun: Begun, text: str, *, time: int, usage: Usage | None = None) -> bool:
        """Put a summary where its region stands; False, logged, when that would gain nothing."""
        region, view = begun.region, self._session.view
        shadowed = sum(self._sizes[seq] for seq in region if seq in view.surface)
        message = _checkpoint(text, begun.mark.compaction_id)
        if not self._stands(region):
            self.fail(begun, "the nodes to summarise have changed", time=time)
            return False
        if estimate(message) >= shadowed:
            self.fail(begun, "the summary is not smaller than what it replaces", time=time)
            return False
        data = SummaryData(
            begun.mark.compaction_id,
            Raw(msgspec.json.encode([Text(text)])),
            SeqRange(region[0], region[-1]),
            region,
            shadowed,
            self._route.provider,
            self._route.model,
            llm_stream_call=True if usage else None,
            max_tokens=self._settings.summary_tokens,
            usage=usage,
        )
        summary = self._session.append(CompactionSummary(time=time, data=data)).seq
        self._session.append(
            UserMessage(
                time=time,
                data=message,
                surface_op=Replace(region[0], region[-1]),
                source_event_seqs=(begun.start, summary, *region),
            )
        )
        self._session.append(CompactionEnd(time=time, data=begun.mark))
        self.count += 1
        return True

    def fail(self, begun: Begun, why: str, *, time: int) -> None:
        """End a compaction that changed nothing."""
        error = Raw(msgspec.json.encode(why))
        failed = msgspec.structs.replace(begun.mark, error=error)
        self._session.append(CompactionEnd(time=time, data=failed))

    def _stands(self, region: Sequence[int]) -> bool:
        surface = self._session.view.surface
        if region[0] not in surface:
            return False
        first = surface.position(region[0])
        return surface.nodes[first : first + len(region)] == list(region)

    def _follow(self, _: object, edit: Edit | None) -> None:
        if edit is None:
            return
        self.estimated -= sum(self._sizes[seq] for seq in edit.removed)
        self._add(edit.added)

    def _add(self, seq: int) -> None:
        event = self._session.view.events[seq]
        self._sizes[seq] = estimate_event(event)
        self.estimated += self._sizes[seq]
        if isinstance(event, ToolResult):
            self._large.append(seq)

    def _prune(self, time: int) -> None:
        large, self._large = self._large, []
        for seq in large:
            event = self._session.view.events[seq]
            if seq not in self._session.view.surface or not isinstance(event, ToolResult):
                continue
            pruned = self._pruned(event)
            if pruned != event.data.message.content:
                self._replace_result(event, pruned, time)

    def _pruned(self, event: ToolResult) -> tuple[Block, ...]:
        blocks: list[Block] = []
        for block in event.data.message.content:
            if isinstance(block, ToolResultBlock):
                parts = tuple(
                    Text(self._cut(part.text)) if isinstance(part, Text) else part
                    for part in block.content
                )
                block = msgspec.structs.replace(block, content=parts)
            blocks.append(block)
        return tuple(blocks)

    def _cut(self, text: str) -> str:
        settings = self._settings
        if len(text) <= settings.prune_above:
            return text
        return text[: settings.prune_head] + PRUNED + text[-settings.prune_tail :]

    def _replace_result(self, event: ToolResult, content: tuple[Block, ...], time: int) -> None:
        seq = event.seq
        self._session.append(
            CompactionPrune(time=time, data=PruneData(SeqRange(seq, seq), (seq,), self._sizes[seq]))
        )
        message = msgspec.structs.replace(event.data.message, content=content)
        self._session.append(
            ToolResult(
                time=time,
                data=msgspec.structs.replace(event.data, message=message),
                surface_op=Replace(seq, seq),
                source_event_seqs=(seq,),
            )
        )

    def _region(self, retain: float) -> tuple[int, ...]:
        """The nodes to summarise: all but leading prompts and the tail that is retained.

        The tail is the newest nodes, as many as it takes to reach the retention budget.
        """
        view = self._session.view
        nodes, first = view.surface.nodes, 0
        while first < len(nodes) and isinstance(view.events[nodes[first]], SystemMessage):
            first += 1
        if first == len(nodes):
            return ()
        budget = self._settings.window * retain
        cut, kept = len(nodes) - 1, self._sizes[nodes[-1]]
        while cut > first and kept < budget:
            cut -= 1
            kept += self._sizes[nodes[cut]]
        return tuple(nodes[first : self._uncrossed(first, cut)])

    def _uncrossed(self, first: int, cut: int) -> int:
        """The cut, moved ahead of every call whose result stands behind it.

        A result whose call is nowhere moves nothing.
        """
        view = self._session.view
        behind, ahead = set[str](), set[str]()  # calls to be found for results on each side
        for position in range(len(view.surface.nodes) - 1, first - 1, -1):
            if position < cut and not behind:
                break
            message = message_at(view.events[view.surface.nodes[position]])
            for block in message.content if message else ():
                if isinstance(block, ToolResultBlock):
                    (behind if position >= cut else ahead).add(block.tool_call_id)
                elif isinstance(block, ToolCall) and block.id in behind and position < cut:
                    cut = position
                    behind |= ahead
                    ahead.clear()
            for block in message.content if message else ():
                if isinstance(block, ToolCall):
                    behind.discard(block.id)
                    ahead.discard(block.id)
        return cut

    def _summarise(self, time: int, summarise: Summarise) -> bool:
        """Whether a summary now stands where the region stood."""
        begun = self.begin(time=time)
        return begun is not None and self.commit(begun, summarise(begun.region), time=time)


def _checkpoint(text: str, compaction_id: str) -> Message:
    return Message(
        id=compaction_id,
        role="user",
        content=(Text(PREAMBLE), Text(text), Text("</compacted-summary>")),
        source=Source(kind="plugin", plugin="compact", compaction_id=compaction_id),
    )
