"""Whether `recall_search` finds what was hidden: its ranking, as of any step of a recording.

The documents of a log are its originals, which are the same in every arm; so are the hits.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from slicetape.log.events import AssistantMessage
from slicetape.recall.index import Shelf, documents_of
from slicetape.recall.ranking import MANY_TERMS, Found, Rank, Slots, ranked, rarest
from slicetape.recall.search import OUTPUT_SLOTS, terms
from slicetape.replay.evidence.queries import Questions, Vocabulary, words_of
from slicetape.replay.evidence.references import Reference, Step
from slicetape.replay.recording import Recording
from slicetape.surface import View

FIRST = 5
"""Hits that a model looks at."""


@dataclass(frozen=True, slots=True)
class _AsOf:
    """What a search at a step knows: the documents before it, and the turn that is open."""

    documents: int
    open: int
    words: tuple[str, ...]


class _Text(str):
    """A text that remembers how often it has a term, for the steps of a turn share their words."""

    __slots__ = ("_known",)

    def __init__(self, _: str) -> None:
        self._known: dict[tuple[str, int], int] = {}

    def count(self, term: str, start: int, end: int) -> int:  # type: ignore[override]
        key = term, end
        if key not in self._known:
            self._known[key] = super().count(term, start, end)
        return self._known[key]


class Hits:
    """Searches as of each step; the whole recording is read once, when it is first asked for."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._shelf = Shelf()
        self._vocabulary = Vocabulary()
        self._texts: list[_Text] = []
        self._as_of: dict[int, _AsOf] = {}
        self._ranks: dict[tuple[int, str, frozenset[int]], int | None] = {}
        self._owners: dict[int, int] = {}
        self.asked = 0
        """Searches that were run; each is run once for all arms."""

    def query(self, step: Step, token: str) -> str:
        """What is searched for a token at a step."""
        self._read()
        return " ".join((token, *self._as_of[step.seq].words))

    def found(
        self, step: Step, reference: Reference, folded: AbstractSet[int] = frozenset()
    ) -> int | None:
        """The rank, from 1, of the first hit that is a source; None when none of the first is.

        `folded` are the results that the arm shows as views, by seq of the recording.
        """
        self._read()
        hidden = self._hidden(step, folded)
        key = step.seq, reference.token, hidden
        if key not in self._ranks:
            seqs = self._search(step, reference.token, hidden)
            ranks = (at for at, seq in enumerate(seqs, 1) if seq in reference.sources)
            self._ranks[key] = next(ranks, None)
        return self._ranks[key]

    def in_open_turn(self, step: Step, reference: Reference) -> bool:
        """Whether every source belongs to the turn of the step, which a search leaves out."""
        self._read()
        now = self._as_of[step.seq]
        return all(self._owners.get(seq) == now.open for seq in reference.sources)

    def first(self, step: Step, token: str) -> list[int]:
        """The seqs, in the recording, of the first hits of a search for a token."""
        return list(self._search(step, token))

    def _hidden(self, step: Step, folded: AbstractSet[int]) -> frozenset[int]:
        """The folded results of the turn of a step, which a search finds all the same."""
        now = self._as_of[step.seq].open
        return frozenset(seq for seq in folded if seq < step.seq and self._owners.get(seq) == now)

    def _search(
        self, step: Step, token: str, hidden: AbstractSet[int] = frozenset()
    ) -> Iterator[int]:
        """Hit after hit; nothing behind the last one asked for is ranked."""
        self._read()
        self.asked += 1
        now, wanted = self._as_of[step.seq], terms(self.query(step, token))
        slots = Slots(FIRST, outputs=OUTPUT_SLOTS)
        for found in self._ranked(self._groups(now, wanted, hidden), wanted):
            had = len(slots.taken)
            full = slots.take(found)
            if len(slots.taken) > had:
                yield found.document.seq
            if full or len(slots.taken) == FIRST:
                return

    def _ranked(self, groups: dict[Rank, list[int]], wanted: tuple[str, ...]) -> Iterator[Found]:
        """The documents from the best down; a group is read when all better ones are used up."""
        if len(wanted) >= MANY_TERMS:
            yield from ranked({rank: self._found(group) for rank, group in groups.items()}, wanted)
            return
        for rank in sorted(groups, reverse=True):
            yield from ranked({rank: self._found(groups[rank])}, wanted)

    def _groups(
        self, now: _AsOf, wanted: tuple[str, ...], hidden: AbstractSet[int]
    ) -> dict[Rank, list[int]]:
        """The documents that have any term, by rank."""
        documents = self._shelf.documents
        having: dict[str, list[int]] = {}
        matched: Counter[int] = Counter()
        for term, times in Counter(wanted).items():
            numbers = self._vocabulary.having(term)
            before = numbers[: bisect_left(numbers, now.documents)]
            having[term] = [
                number
                for number in before
                if documents[number].turn != now.open or documents[number].seq in hidden
            ]
            for _ in range(times):
                matched.update(having[term])
        anchor = rarest({term: len(held) for term, held in having.items()}, wanted)
        anchored = frozenset(having[anchor] if anchor is not None else ())
        groups: dict[Rank, list[int]] = {}
        for number, count in matched.items():
            groups.setdefault((number in anchored, count), []).append(number)
        return groups

    def _found(self, numbers: Iterable[int]) -> list[Found]:
        shelf, texts = self._shelf, self._texts
        return [Found(shelf.documents[at], texts[at], shelf.runs[at]) for at in numbers]

    def _read(self) -> None:
        if self._as_of:
            return
        events = self._recording.events
        view = View(events)
        questions = Questions(events)
        for event in events:
            if isinstance(event, AssistantMessage):
                turns = view.turns
                words = questions.words(event.data.turn)
                self._as_of[event.seq] = _AsOf(len(self._shelf.documents), turns.open, words)
            view.turns.advance(event)
            view.calls.advance(event)
            self._owners[event.seq] = turn = view.turns.owner(event)
            questions.heard(event, turn)
            for document, text in documents_of(view, event):
                self._shelf.add(document, text)
                self._texts.append(_Text(self._shelf.texts[-1]))
                held = set(words_of(self._shelf.texts[-1]))
                self._vocabulary.add(len(self._shelf.documents) - 1, held)
                questions.logged(event.seq, held)
