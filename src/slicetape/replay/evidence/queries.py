"""What a model would search for: the token it misses, and the rarest words of what it was asked.

Everything that was logged before a step is known here for all steps at once, so that an arm asks
about a step without an index of its own.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heappush

from slicetape.log.events import Event, UserMessage, is_human
from slicetape.log.messages import text_of

WORDS = 3
"""Words that a query has beside the token."""

LEAST_WORD = 2
"""Characters of a word that `recall_search` looks for."""


_WORD = re.compile(r"[\w.\-]+")


def words_of(lowered: str) -> list[str]:
    """The words that `recall_search` tells apart, in order, with those too short to look for."""
    return _WORD.findall(lowered)


class Questions:
    """The rarest words of what people asked, as of each step; fed event by event, in log order."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._wanted = frozenset(word for event in events for word in _asking(event))
        self._events: dict[str, list[int]] = {}
        self._asked: dict[int, _Asked] = {}

    def logged(self, seq: int, words: AbstractSet[str]) -> None:
        """Take in the words of one text of an event."""
        for word in self._wanted & words:
            held = self._events.setdefault(word, [])
            if not held or held[-1] != seq:
                held.append(seq)

    def heard(self, event: Event, turn: int) -> None:
        """Take in what people asked in a turn; other events add nothing."""
        words = _asking(event)
        if words:
            self._asked.setdefault(turn, _Asked(self._events)).add(words)

    def words(self, turn: int) -> tuple[str, ...]:
        """The words of a query in this turn, as of the events taken in."""
        asked = self._asked.get(turn)
        return asked.rarest() if asked else ()


def _asking(event: Event) -> list[str]:
    """The words of a human message."""
    if not isinstance(event, UserMessage) or not is_human(event) or not event.is_original:
        return []
    text = text_of(event.data.content).lower()
    return [word for word in words_of(text) if len(word) >= LEAST_WORD]


class _Asked:
    """The words of the human messages of a turn, by the number of events that have them.

    Numbers only grow, so the first word whose number is still right is the rarest.
    """

    def __init__(self, events: Mapping[str, list[int]]) -> None:
        self._events = events
        self._known: set[str] = set()
        self._heap: list[tuple[int, int, str]] = []

    def add(self, words: Iterable[str]) -> None:
        for word in words:
            if word not in self._known:
                self._known.add(word)
                self._heap.append((0, len(self._known), word))
        heapify(self._heap)

    def rarest(self) -> tuple[str, ...]:
        found: list[tuple[int, int, str]] = []
        while self._heap and len(found) < WORDS:
            often, order, word = heappop(self._heap)
            now = len(self._events.get(word, ()))
            if now == often:
                found.append((often, order, word))
            else:
                heappush(self._heap, (now, order, word))
        for row in found:
            heappush(self._heap, row)
        return tuple(word for _, _, word in found)


class Vocabulary:
    """Which documents have a term somewhere in them, without a walk through their texts.

    A term of a search lies within one word of a text, so it is looked for in the words that there
    are, each of them once.
    """

    def __init__(self) -> None:
        self._documents: dict[str, list[int]] = {}
        self._text = ""
        self._starts: list[int] = []
        self._words: list[str] = []
        self._having: dict[str, list[int]] = {}

    def add(self, document: int, words: Iterable[str]) -> None:
        """Take in the words of a document, each once; numbers ascend."""
        for word in words:
            self._documents.setdefault(word, []).append(document)

    def having(self, term: str) -> list[int]:
        """The documents that have `term`, ascending."""
        if not self._text:
            self._join()
        known = self._having.get(term)
        if known is None:
            words = self._words_with(term)
            found = {number for word in words for number in self._documents[word]}
            known = self._having[term] = sorted(found)
        return known

    def _join(self) -> None:
        self._words = list(self._documents)
        at = 0
        for word in self._words:
            self._starts.append(at)
            at += len(word) + 1
        self._text = "\n".join(self._words) + "\n"

    def _words_with(self, term: str) -> Iterator[str]:
        at = self._text.find(term)
        while at >= 0:
            place = bisect_left(self._starts, at + 1) - 1
            yield self._words[place]
            at = self._text.find(term, self._starts[place] + len(self._words[place]) + 1)
