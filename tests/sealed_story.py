"""A story whose turns are sealed at their first step, as every writer of a session does it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from slicetape.log.events import SNAPSHOT_PLUGIN, Event, UserMessage, is_entry
from slicetape.log.log import SessionLog
from slicetape.log.messages import Message, Source, Text, text_of
from slicetape.loop.prestep import Prepared, Prestep
from slicetape.policy.settings import HistorySettings
from slicetape.recall.tools import Recall, dispatch
from slicetape.surface import messages
from story import Story


class SealedStory(Story):
    """`start` opens a turn and runs its first pre-step; `sealed` keeps what each appended.

    Settings are the product's, except that segments are sealed whether shorter or not.
    """

    def __init__(self, log: SessionLog | None = None, **settings: Any) -> None:
        super().__init__(log)
        self.warnings: list[str] = []
        self.sealed: list[Prepared] = []
        history = HistorySettings(**{"seal_only_if_shorter": False, **settings})
        self.prestep = Prestep(self.session, history, warn=self.warnings.append)

    def start(self, turn: int | None = None, pending: Sequence[Message] = ()) -> Event:
        event = super().start(turn)
        self.seal(pending)
        return event

    def seal(self, pending: Sequence[Message] = ()) -> tuple[UserMessage, ...]:
        """The first pre-step of the turn that is open; the entries it appended."""
        self.sealed.append(self.prestep.before_step(1, time=0, pending=pending))
        return self.sealed[-1].entries

    def reopened(self, folder: Path, **settings: Any) -> "SealedStory":
        """The same session written to a file and opened again, by a new process."""
        path = folder / f"{len(self.events)}.jsonl"
        self.session.log.copy_to(path)
        return SealedStory(SessionLog.open(path), **settings)

    @property
    def entries(self) -> list[UserMessage]:
        """Every entry of the log, in log order."""
        return [event for event in self.events if is_entry(event)]  # type: ignore[misc]

    @property
    def tape(self) -> list[str]:
        """The texts of all entries."""
        return [text_of(entry.data.content) for entry in self.entries]

    @property
    def ranges(self) -> list[str]:
        """The turns that each entry says it covers; empty where it says none."""
        return [
            text.split(" · ")[1].removeprefix("turns ") if " · " in text else ""
            for text in self.tape
        ]

    @property
    def cited(self) -> set[int]:
        return {seq for entry in self.entries for seq in entry.sources}

    def recall(self, tool: str, **arguments: Any) -> str:
        """What a recall tool returns for this session."""
        return dispatch(tool, arguments, Recall.of(self.view))

    def page(self, turn: int, view: str = "full") -> str:
        return self.recall("recall_turn", turn=str(turn), view=view)

    def request(self) -> list[Message]:
        """The messages that the next request is built from."""
        return [message for _, message in messages(self.view)]

    def shown(self) -> str:
        """Everything a model can read in the next request."""
        return msgspec.json.encode(self.request()).decode()


def coming_snapshot(text: str = "newer") -> tuple[Message, ...]:
    """A runtime snapshot that the step being prepared is about to append."""
    source = Source(kind="plugin", plugin=SNAPSHOT_PLUGIN)
    return (Message("pending", "user", (Text(text),), source),)


def common_prefix(before: Sequence[Message], after: Sequence[Message]) -> int:
    """How many messages two requests share from their start."""
    pairs = zip(before, after, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))
