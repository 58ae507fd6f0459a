"""Whether the texts that an arm hid come back through what its own requests print."""

from collections.abc import Iterable

from slicetape.log.events import ToolResult
from slicetape.replay.evidence.hits import Hits
from slicetape.replay.evidence.tokens import said
from slicetape.replay.evidence.visible import Hidden, Seen, Visibility
from slicetape.replay.recoverable import Reader


def recovered(visibility: Visibility, reader: Reader, hits: Hits) -> int:
    """How many hidden references have every source come back byte for byte.

    Called are the locators that the node prints which stands where the source stood, those on the
    pages that these return, and, for what they do not bring, those of a search.
    """
    follower = _Follower(visibility, reader, hits)
    return sum(follower.brings(seen, hidden) for seen, hidden in all_hidden(visibility.seen))


def all_hidden(seen: Iterable[Seen]) -> Iterable[tuple[Seen, Hidden]]:
    """Every hidden reference, with its step."""
    return ((step, hidden) for step in seen for hidden in step.hidden)


class _Follower:
    def __init__(self, visibility: Visibility, reader: Reader, hits: Hits) -> None:
        self._visibility = visibility
        self._reader = reader
        self._hits = hits
        self._followed: set[int] = set()
        self._back: dict[tuple[int, int], bool] = {}

    def brings(self, seen: Seen, hidden: Hidden) -> bool:
        sources = hidden.reference.sources
        return all(
            self._source(holder, seq) or self._searched(seen, hidden, seq)
            for holder, seq in zip(hidden.holders, sources, strict=True)
        )

    def _source(self, holder: int, seq: int) -> bool:
        key = holder, seq
        if key not in self._back:
            self._follow(holder)
            self._back[key] = self._reader.has(self._visibility.place(seq))
        return self._back[key]

    def _searched(self, seen: Seen, hidden: Hidden, seq: int) -> bool:
        self._reader.search(self._hits.query(seen.step, hidden.reference.token))
        return self._reader.has(self._visibility.place(seq))

    def _follow(self, holder: int) -> None:
        if holder in self._followed:
            return
        self._followed.add(holder)
        event = self._visibility.session.view.events[holder]
        texts = list(said(event))
        if isinstance(event, ToolResult):
            for text in texts:
                self._reader.follow_view(text)
        else:
            self._reader.follow("".join(texts))
