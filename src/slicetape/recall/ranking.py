"""Which documents match best: those with the rarest term, then more terms, more often, newer."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import log2

from slicetape.log.catalogrows import Kind
from slicetape.recall.index import Document, Index, is_run

MANY_TERMS = 200
"""From so many terms on, repetition may outweigh a term."""

MOST_OFTEN = 10
"""Occurrences that count in a score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Where a search departs from the reference; each rule can be switched off.

    `rarest_first`: documents that have the rarest term of the query come before all others.
    `hidden_results`: results of the open turn that requests show as views are searched as well.
    """

    rarest_first: bool = True
    hidden_results: bool = True


RANKING = Ranking()
REFERENCE = Ranking(rarest_first=False, hidden_results=False)

Rank = tuple[bool, int]
"""Whether a document has the rarest term of the query, and how many of the terms it has."""

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
    index: Index, kinds: Sequence[Kind], wanted: Sequence[str], ranking: Ranking = RANKING
) -> dict[Rank, list[Found]]:
    """The documents that have any term, by rank.

    The open turn is left out, but for what its requests hide.
    """
    found: list[tuple[int, Found]] = []
    having: Counter[str] = Counter()
    weights = _weights(wanted)
    for kind in dict.fromkeys(kinds):
        shelf = index.shelves[kind]
        shown = [at for at, one in enumerate(shelf.documents) if _is_shown(one, index, ranking)]
        matched = [0] * len(shelf.texts)
        for term, times, in_runs in weights:
            texts = shelf.runs if in_runs else shelf.texts
            has = [term in text for text in texts]
            having[term] += sum(has) - sum(has[at] for at in shown)
            matched = [
                count + times if held else count for count, held in zip(matched, has, strict=True)
            ]
        for at in shown:
            matched[at] = 0
        found += [
            (count, Found(shelf.documents[at], shelf.texts[at], shelf.runs[at]))
            for at, count in enumerate(matched)
            if count
        ]
    anchor = rarest(having, wanted) if ranking.rarest_first else None
    in_runs = anchor is not None and is_run(anchor)
    groups: dict[Rank, list[Found]] = {}
    for count, one in found:
        has_it = anchor is not None and anchor in (one.runs if in_runs else one.lowered)
        groups.setdefault((has_it, count), []).append(one)
    return groups


def rarest(having: Mapping[str, int], wanted: Sequence[str]) -> str | None:
    """The term that the fewest documents have; of several the first. None when no one has any."""
    held = [term for term in dict.fromkeys(wanted) if having.get(term)]
    return min(held, key=lambda term: having[term], default=None)


def _is_shown(document: Document, index: Index, ranking: Ranking) -> bool:
    """Whether a document stands in the open turn where the model sees it."""
    view = index.view
    if document.turn != view.turns.open:
        return False
    hidden = document.kind == "tool_output" and document.seq not in view.surface
    return not (ranking.hidden_results and hidden)


def ranked(groups: Mapping[Rank, list[Found]], wanted: Sequence[str]) -> Iterator[Found]:
    """Documents from the best rank down; a group is scored when all better ones are used up.

    What repetition adds to a score is less than 5, so with many terms the number of terms alone
    does not decide, and those of one kind are scored together.
    """
    if len(wanted) >= MANY_TERMS:
        for has_it in (True, False):
            together = [
                (count, found)
                for (anchored, count), group in groups.items()
                for found in group
                if anchored is has_it
            ]
            yield from _best_first(together, wanted)
        return
    for rank in sorted(groups, reverse=True):
        yield from _best_first([(rank[1], found) for found in groups[rank]], wanted)


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
