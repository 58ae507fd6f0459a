"""A story whose results are folded before every step, as every writer of a session does it."""

import json
from pathlib import Path
from typing import Any

from slicetape.errors import RecallError
from slicetape.log.events import Event, ToolResult
from slicetape.log.log import SessionLog
from slicetape.log.messages import Block, Message, Text, ToolResultBlock
from slicetape.log.spill import Blobs, SessionSpills, copy_spills
from slicetape.loop.postexecute import Ran, ToLog, after_tool
from slicetape.loop.prestep import Prepared, Prestep
from slicetape.policy.fold_state import FoldStats
from slicetape.policy.fold_view import Folding
from slicetape.policy.settings import DigestSettings, FoldSettings, HistorySettings
from slicetape.policy.views import RULES, Rules
from slicetape.recall.tools import Recall, dispatch
from slicetape.surface import messages
from story import Story, blocks

DIGEST = DigestSettings(
    min_chars=6000,
    log_min_chars=512,
    max_keep_ratio=0.55,
    structured_block_min=3,
    search_min_matches=120,
    search_min_chars=10_000,
    search_max_per_file=5,
    search_max_total=60,
)
"""The sizes that stories assume; those of the product may change."""


class FoldedStory(Story):
    """`says` enters a step first; without `history` nothing is sealed. Settings are `fold.*`."""

    def __init__(
        self,
        log: SessionLog | None = None,
        *,
        history: HistorySettings | None = None,
        digest: DigestSettings | None = None,
        rules: Rules = RULES,
        known: dict[str, str | None] | None = None,
        **fold: Any,
    ) -> None:
        super().__init__(log)
        self.made: list[Prepared] = []
        self.recalls = True
        self.spills = SessionSpills(self.session.log.events, self.session.log.blobs, known)
        self.folding = Folding(fold=FoldSettings(**fold), digest=digest or DIGEST, rules=rules)
        self.history = history
        self.prestep = self.new_prestep()

    def new_prestep(self) -> Prestep:
        return Prestep(self.session, self.history, folding=self.folding, spills=self.spills)

    @property
    def stats(self) -> FoldStats:
        return self.prestep.stats

    @property
    def views(self) -> list[ToolResult]:
        """Every view that was written, in order."""
        return [view for made in self.made for view in made.views]

    # --- steps

    def enter(self) -> Prepared:
        """The pre-step of the step to come."""
        made = self.prestep.before_step(self.step + 1, time=0, recalls=self.recalls)
        self.made.append(made)
        return made

    def says(self, *parts: str | Block, enter: bool = True, **more: Any) -> Event:
        if enter and "step" not in more:
            self.enter()
        return super().says(*parts, **more)

    def uses(
        self,
        tool: str,
        arguments: Any,
        *parts: str | Block,
        id: str = "",
        error: bool = False,
        meta: Any = None,
    ) -> ToolResult:
        """A step that runs one tool; its result event."""
        id = id or f"call-{len(self.session.log.events)}"
        self.says(calls={id: (tool, arguments)})
        return self.result(id, *parts, error=error, meta=meta)  # type: ignore[return-value]

    def runs(self, tool: str, arguments: Any, *parts: str | Block, **more: Any) -> ToolResult:
        """The same with the spill stage between the tool and the log."""
        id = f"call-{len(self.session.log.events)}"
        self.says(calls={id: (tool, arguments)})
        logged = self.spilled(tool, arguments, *parts, id=id, **more)
        meta = json.loads(bytes(logged.meta)) if logged.meta else None
        return self.results({id: logged.content}, meta=meta)  # type: ignore[return-value]

    def spilled(
        self, tool: str, arguments: Any, *parts: str | Block, id: str, **more: Any
    ) -> ToLog:
        ran = Ran(
            turn=self.turn,
            step=self.step,
            call_id=id,
            tool=tool,
            arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
            content=blocks(*parts),
            **{"call": 1, **more},
        )
        return after_tool(ran, self.prestep, recalls=self.recalls)

    def expands(self, _id: str = "", **arguments: Any) -> ToolResult:
        """A step that calls expand_result; the answer is the real one."""
        text, error = self.recalled("expand_result", **arguments)
        return self.uses("expand_result", arguments, text, id=_id, error=error)

    def recalled(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        """What a recall tool returns, and whether that is an error."""
        try:
            recall = Recall.of(self.view, spills=self.spills)
            return dispatch(tool, arguments, recall), False
        except RecallError as error:
            return str(error), True

    # --- what is shown

    def shown(self, result: Event, block: int = 1) -> str:
        """The text that stands for a block of an original result."""
        for event in map(self.view.events.__getitem__, self.view.surface.nodes):
            if isinstance(event, ToolResult) and self.view.original(event.seq) == result.seq:
                return text_at(event, block)
        raise LookupError(f"the result at {result.seq} is not on the surface")

    def is_folded(self, result: Event) -> bool:
        return any(view.sources == (result.seq,) for view in self.views)

    def request(self) -> list[Message]:
        return [message for _, message in messages(self.view)]

    def reopened(self, folder: Path, **more: Any) -> "FoldedStory":
        """The same session written to a file and opened again, by a new process."""
        path = folder / f"{len(self.events)}" / "log.jsonl"
        path.parent.mkdir()
        self.session.log.copy_to(path)
        copy_spills(self.events, self.session.log.blobs, Blobs.beside(path))
        return FoldedStory(SessionLog.open(path), **more)


def text_at(event: Event, block: int = 1) -> str:
    """The text parts of a result block."""
    assert isinstance(event, ToolResult)
    found = [b for b in event.data.message.content if isinstance(b, ToolResultBlock)]
    return "\n".join(part.text for part in found[block - 1].content if isinstance(part, Text))


def document(lines: int = 400, name: str = "row") -> str:
    """A text that is data: prose and settings, larger than what is shown whole."""
    return "\n".join(
        f"{name}_{at}: value {at}" if at % 5 == 0 else f"some prose about {name} {at} and more"
        for at in range(lines)
    )


def noisy_log(lines: int = 1200) -> str:
    """A log with one error in its middle."""
    return "\n".join(
        f"2026-09-04 10:{at // 60 % 60:02}:{at % 60:02} "
        + (
            "ERROR worker 7 failed: boom"
            if at == lines // 2
            else f"INFO step {at} is done and well"
        )
        for at in range(lines)
    )
