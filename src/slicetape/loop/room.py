"""The host's compaction in a live session: when the window fills, a model writes the summary.

The call extends the prefix that the provider has cached: the same system prompt and tools, the
nodes to summarise as they were sent, and one instruction behind them.
"""

from slicetape.log.events import AssistantMessage, Event, RequestHeader
from slicetape.log.messages import Message, Source, Text
from slicetape.log.payloads import HeaderConfig, Usage
from slicetape.loop.compaction import Begun, CompactionSettings, Compactor, Route
from slicetape.loop.estimate import estimate_text
from slicetape.loop.live import Live
from slicetape.loop.stream import Stream
from slicetape.surface import Edit

INSTRUCTION = """\
Write down what is needed to go on with this work after everything above is taken away. Do not \
call tools, do not answer anything above, and do not mention that a summary is being made. Use \
exactly these headings, every one of them, with short bullets in English; write "none" where \
there is nothing. Keep identifiers, paths, commands, numbers and quotations exactly as they are. \
Where an earlier summary stands above, merge it instead of repeating it.

# Primary Request and Intent
# Key Technical Concepts
# Files and Code
# Errors and Fixes
# Pending Jobs
# Current Work
# Next Step
# Critical Context

Keep every correction that the user made.
"""


class LiveCompaction:
    """Room in a full window, made by pruning large results and summarising old messages."""

    def __init__(self, live: Live, settings: CompactionSettings) -> None:
        self._live = live
        self._settings = settings
        route = live.model.route
        self._compactor = Compactor(live.session, settings, Route(route.provider, route.model))
        self._asked = False
        self._anchor: tuple[int, int] | None = None  # tokens of a request, estimate of its nodes
        for event in live.session.log.events:
            self._take(event)
        self._anchor = None
        live.session.listen(self._follow)

    @property
    def count(self) -> int:
        """Summaries that took their place."""
        return self._compactor.count

    def pressure(self) -> int:
        """Tokens of the next request: what the provider counted last, and the change since."""
        estimated = self._compactor.estimated
        if self._anchor is None:
            return estimated + estimate_text(bytes(self._live.tool_schemas).decode())
        counted, then = self._anchor
        return counted + estimated - then

    async def before_step(self, turn: int, step: int) -> None:
        """Prune, then summarise, as far as needed to come below the threshold."""
        limit = self._settings.window * self._settings.threshold
        if not self._asked or self.pressure() < limit:
            return
        self._compactor.prune(time=self._live.now())
        for _ in range(self._settings.rounds):
            if self.pressure() < limit or not await self._summarise(self._settings.retain):
                return

    async def when_full(self, turn: int, step: int) -> bool:
        """Summarise all that can be; whether the surface moved."""
        return await self._summarise(0)

    async def _summarise(self, retain: float) -> bool:
        live = self._live
        begun = self._compactor.begin(time=live.now(), retain=retain)
        if begun is None:
            return False
        try:
            text, usage, problem = await self._ask(begun)
        except BaseException:
            self._compactor.fail(begun, "the call for the summary was cut short", time=live.now())
            raise
        if problem:
            live.watcher.warning(f"compaction failed: {problem}")
            self._compactor.fail(begun, problem, time=live.now())
            return False
        return self._compactor.commit(begun, text, time=live.now(), usage=usage)

    async def _ask(self, begun: Begun) -> tuple[str, Usage | None, str]:
        """The summary, its usage, and what is wrong with it."""
        live, route = self._live, self._live.model.route
        through = live.session.view.surface.position(begun.region[-1])
        asked = Message("instruction", "user", (Text(INSTRUCTION),), Source("plugin", "compact"))
        config = HeaderConfig(route.provider, route.model, max_tokens=self._settings.summary_tokens)
        body = live.requests.prefix_body(
            through, route.wire.fragment(asked), config, live.tool_schemas
        )
        live.session.log.sync()
        stream = Stream()
        async for delta in live.model.stream(body, purpose="summary"):
            stream.take(delta, live.now())
        text = "\n".join(b.text for b in stream.blocks if isinstance(b, Text)).strip()
        finish = stream.finish
        if finish is None or finish.reason.kind in ("error", "aborted"):
            failure = finish.reason.failure if finish else None
            return "", stream.usage, failure.message if failure else "the stream broke off"
        if finish.reason.kind != "stop":
            return "", stream.usage, f"the summary ended with {finish.reason.kind}"
        return text, stream.usage, "" if text else "the summary is empty"

    def _follow(self, event: Event, _: Edit | None) -> None:
        self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, RequestHeader):
            self._asked = True
            self._anchor = None
        elif isinstance(event, AssistantMessage) and event.data.usage:
            counted = _total(event.data.usage)
            estimated = self._compactor.estimated
            self._anchor = (counted, estimated) if counted >= estimated else None


def _total(usage: Usage) -> int:
    return (
        usage.input_tokens
        + (usage.cache_read_tokens or 0)
        + (usage.cache_write_tokens or 0)
        + usage.output_tokens
    )
