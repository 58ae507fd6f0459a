"""Which documents match best: how many of the terms they have, then how often, then the newest."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import log2

from slicetape.log.catalogrows import Kind
from slicetape.recall.index import Document, Index, is_run

MOST_OFTEN = 10
"""Occurrences that count in a score."""

_Weight = tuple[str, int, bool]
"""A term, how often the query has it, and whether it is one CJK run."""


@dataclass(slots=True)
class Found:
    """A document, its lower-cased text, the CJK runs of that, and its score when worked out."""

    document: Document
    lowered: str
    runs: str
    score: float = 0


@dataclass(slots=True)
class Slots:
    """Hits in order of rank: `limit` in all, or beside at most `outputs` of tool output."""

    limit: float
    outputs: int | None
    taken: list[Found] = field(default_factory=list)
    others: int = 0
    printed: int = 0

    def take(self, found: Found) -> bool:
        """Keep a document when there is room; whether there is no room for any more."""
        if self.outputs is None:
            self.taken.append(found)
            return len(self.taken) >= int(self.limit)
        if found.document.kind == "tool_output":
            if self.printed < self.outputs:
                self.printed += 1
                self.taken.append(found)
        elif self.others < self.limit:
            self.others += 1
            self.taken.append(found)
        return self.printed >= self.outputs and self.others >= self.limit


def matched_groups(
    index: Index, kinds: Sequence[Kind], wanted: Sequence[str]
) -> dict[int, list[Found]]:
    """The documents that have any term, by how many they have."""
    still_open = index.view.turns.open
    groups: dict[int, list[Found]] = {}
    for kind in dict.fromkeys(kinds):
        shelf = index.shelves[kind]
        matched = [0] * len(shelf.texts)
        for term, times, in_runs in _weights(wanted):
            texts = shelf.runs if in_runs else shelf.texts
            matched = [
                count + times if term in text else count
                for count, text in zip(matched, texts, strict=True)
            ]
        for at, count in enumerate(matched):
            if count and shelf.documents[at].turn != still_open:
                found = Found(shelf.documents[at], shelf.texts[at], shelf.runs[at])
                groups.setdefault(count, []).append(found)
    return groups


def ranked(groups: dict[int, list[Found]], wanted: Sequence[str]) -> Iterator[Found]:
    """Documents from the best score down; a group is scored when all better ones are used up.

    What repetition adds to a score is less than 5, so with many terms groups may overlap.
    """
    if len(wanted) >= 200:
        everything = [(count, found) for count, group in groups.items() for found in group]
        yield from _best_first(everything, wanted)
        return
    for count in sorted(groups, reverse=True):
        yield from _best_first([(count, found) for found in groups[count]], wanted)


def _best_first(group: list[tuple[int, Found]], wanted: Sequence[str]) -> Iterator[Found]:
    """Every document in order; one is scored only when no other could still be better."""
    weights = _weights(wanted)
    for matched, found in group:
        found.score = _score(matched, found, wanted, MOST_OFTEN)
    heap = [(_order(found), False, at) for at, (_, found) in enumerate(group)]
    heapify(heap)
    while heap:
        _, scored, at = heappop(heap)
        matched, found = group[at]
        if scored:
            yield found
            continue
        found.score = _score(matched, found, wanted, _often(found, weights))
        heappush(heap, (_order(found), True, at))


def _score(matched: int, found: Found, wanted: Sequence[str], often: int) -> float:
    return 1000 * matched / len(wanted) + often / log2(4 + found.document.length / 200)


def _weights(wanted: Sequence[str]) -> list[_Weight]:
    return [(term, times, is_run(term)) for term, times in Counter(wanted).items()]


def _order(found: Found) -> tuple[float, int, int, int]:
    document = found.document
    return -found.score, -document.turn, document.seq, document.place


def _often(found: Found, weights: Sequence[_Weight]) -> int:
    """How often the terms occur, up to the 10 that count; the start of a text mostly tells."""
    often = 0
    for end in (2_000, len(found.lowered)):
        often = 0
        for term, times, in_runs in weights:
            text = found.runs if in_runs else found.lowered
            often += text.count(term, 0, end) * times
            if often >= MOST_OFTEN:
                return MOST_OFTEN
    return often
