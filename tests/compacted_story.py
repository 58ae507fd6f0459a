"""A story with the host's compactor at work."""

from collections.abc import Callable, Sequence

from slicetape.log.messages import Text, ToolResultBlock
from slicetape.loop.compaction import CompactionSettings, Compactor, Route
from slicetape.surface import messages
from story import Story

SETTINGS = CompactionSettings(window=1_000)
"""Summaries begin at 800 estimated tokens, and keep a tail of 160 or a little more."""

TEXT = "four" * 100
"""A text of a hundred tokens, by the host's estimate."""


class Compacted(Story):
    """A story with a compactor that asks for summaries; `regions` are what it asked about."""

    def __init__(
        self, settings: CompactionSettings = SETTINGS, *, summary: str = "short", head: int = 0
    ) -> None:
        super().__init__()
        self.compactor = Compactor(self.session, settings, Route("p", "m"))
        self.regions: list[tuple[int, ...]] = []
        self.summary = summary
        self.head = head

    def compact(self, pressure: Callable[[], int] | None = None) -> None:
        self.compactor.before_step(time=7, pressure=pressure or self.full, summarise=self.summarise)

    def full(self) -> int:
        return self.head + self.compactor.estimated

    def summarise(self, region: Sequence[int]) -> str:
        self.regions.append(tuple(region))
        return self.summary

    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events]

    def shown(self) -> list[str]:
        return [
            "".join(part.text for part in _texts(message.content))
            for _, message in messages(self.view)
        ]

    def talk(self, count: int, text: str = TEXT) -> None:
        """Messages of about a hundred tokens each, a person's and the model's in turn."""
        for number in range(count):
            self.human(text) if number % 2 == 0 else self.says(text)


def _texts(content: Sequence[object]) -> list[Text]:
    found: list[Text] = []
    for block in content:
        if isinstance(block, Text):
            found.append(block)
        elif isinstance(block, ToolResultBlock):
            found += _texts(block.content)
    return found
