"""The caches against a model that keeps every stored prompt as a whole list of tokens."""

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from slicetape.prices.cache import PrefixCache, Request
from slicetape.prices.prefix import Prefix
from slicetape.prices.rules import CacheRules

SIZES = (1, 3, 5, 8)


@dataclass(frozen=True)
class Sent:
    """One request of the plain model: pieces by name, and what it says of time and order."""

    pieces: tuple[tuple[int, int], ...]
    answer: tuple[tuple[int, int], ...]
    marks: tuple[int, ...]
    time: int
    answered: int | None
    parallel: bool


def tokens_of(pieces) -> tuple:
    """Pieces with the same first number begin alike: the first half of their tokens is the same."""
    out = []
    for stem, own in pieces:
        size = SIZES[stem % len(SIZES)] + own
        out += [(stem, at) if at < size // 2 else (stem, own, at) for at in range(size)]
    return tuple(out)


def common(one, two) -> int:
    size = 0
    while size < min(len(one), len(two)) and one[size] == two[size]:
        size += 1
    return size


class Lists:
    """A prefix cache that remembers prompts, not structure. Quadratic, and plain to read."""

    def __init__(self, rules: CacheRules) -> None:
        self.rules = rules
        self.stored: list[tuple[tuple, int]] = []  # pieces of a prompt, when it was last used
        self.born: dict[tuple, int] = {}
        self.entries: dict[tuple, int] = {}
        self.waiting: list[tuple[int, Sent]] = []
        self.now = 0

    def charge(self, sent: Sent, before: Sent | None) -> tuple[int, int]:
        self.now = max(self.now, sent.time)
        self.arrive(sent)
        if not sent.pieces:
            return 0, 0
        total = len(tokens_of(sent.pieces))
        if self.rules.mode == "breakpoints":
            cached, upto = self.search(sent)
        else:
            cached, upto = self.rules.round(self.reach(sent, before)), self.rules.round(total)
        begun = self.now if sent.answered is None else max(self.now, sent.answered)
        self.waiting.append((begun, sent))
        return cached, max(0, upto - cached)

    def arrive(self, sent: Sent) -> None:
        rest = []
        for begun, earlier in sorted(self.waiting, key=lambda row: row[0]):
            ready = begun <= self.now if earlier.answered is not None else not sent.parallel
            if not ready:
                rest.append((begun, earlier))
                continue
            pieces = earlier.answer if self.rules.keeps_output else earlier.pieces
            self.stored.append((pieces, begun))
            self.born.setdefault(pieces[:1], begun)
            for mark in self.marks(earlier):
                key = earlier.pieces[:mark]
                self.entries[key] = max(begun, self.entries.get(key, begun))
        self.waiting = rest

    def reach(self, sent: Sent, before: Sent | None) -> int:
        head, rules = sent.pieces[:1], self.rules
        for first in {head, before.pieces[:1] if before else head}:
            outlived = self.now - self.born.get(first, self.now) > (rules.life_ms or 10**9)
            if outlived and first == head:
                self.stored = [row for row in self.stored if row[0][:1] != first]
                del self.born[first]
        since = self.now - (rules.idle_ms or 10**9)
        live = [pieces for pieces, used in self.stored if used >= since]
        best = max((common(pieces, sent.pieces) for pieces in live), default=0)
        reach = len(tokens_of(sent.pieces[:best]))
        if best:
            self.stored.append((sent.pieces[:best], self.now))
        if before and any(common(pieces, before.pieces) == len(before.pieces) for pieces in live):
            young = self.now - self.born.get(before.pieces[:1], -(10**9)) <= (
                rules.life_ms or 10**9
            )
            if young and before.pieces:
                reach = max(reach, common(tokens_of(before.pieces), tokens_of(sent.pieces)))
        return reach

    def marks(self, sent: Sent) -> list[int]:
        wanted = sorted(sent.marks) or [len(sent.pieces)]
        least = max(1, self.rules.minimum)
        return [mark for mark in wanted if len(tokens_of(sent.pieces[:mark])) >= least]

    def search(self, sent: Sent) -> tuple[int, int]:
        marks = self.marks(sent)
        hits = [0]
        for mark in marks:
            for end in range(mark, max(0, mark - self.rules.lookback - 1), -1):
                used = self.entries.get(sent.pieces[:end])
                if used is not None and used >= self.now - (self.rules.idle_ms or 10**9):
                    self.entries[sent.pieces[:end]] = self.now
                    hits.append(len(tokens_of(sent.pieces[:end])))
                    break
        return max(hits), len(tokens_of(sent.pieces[: marks[-1]])) if marks else 0


piece = st.tuples(st.integers(0, 3), st.integers(0, 2))
step = st.tuples(
    st.sampled_from(["append", "append", "append", "rewrite", "side", "back"]),
    st.integers(0, 6),
    st.lists(piece, min_size=1, max_size=4),
    st.sampled_from([0, 1, 4, 11, 40]),
    st.sampled_from([None, None, 0, 3, 20]),
    st.sampled_from([False, False, False, True]),
    st.lists(st.integers(0, 5), max_size=2),
)


def play(steps) -> list[Sent]:
    """A session: appended, rewritten from somewhere, interrupted by side calls, rolled back."""
    sent, chain, time = [], (), 0
    for do, place, new, gap, wait, parallel, marks in steps:
        time += gap
        pieces = chain
        if do == "side":
            pieces = tuple(new)
        elif do == "append":
            pieces = chain = chain + tuple(new)
        elif do == "rewrite":
            pieces = chain = chain[:place] + tuple(new)
        else:
            pieces = chain = sent[place % len(sent)].pieces if sent else tuple(new)
        answer = (*pieces, new[0])
        ends = tuple(sorted({max(1, len(pieces) - mark) for mark in marks}))
        answered = None if wait is None else time + wait
        sent.append(Sent(pieces, answer, ends, time, answered, parallel))
    return sent


def prefix_of(root: Prefix, pieces) -> Prefix:
    end = root
    for stem, own in pieces:
        end = end.then((stem, own), SIZES[stem % len(SIZES)] + own)
    return end


def agree(rules: CacheRules, session: list[Sent], *, shared: bool) -> None:
    root, cache, lists, before = Prefix(), PrefixCache(rules, expiry=True), Lists(rules), None
    for sent in session:
        end = prefix_of(root, sent.pieces)
        same = before is not None and shared
        request = Request(
            prefix=end,
            shared=common(tokens_of(before.pieces), tokens_of(sent.pieces)) if same else 0,
            breakpoints=tuple(end.at(mark) for mark in sent.marks),
            answer=prefix_of(root, sent.answer),
            time_ms=sent.time,
            answered_ms=sent.answered,
            parallel=sent.parallel,
        )
        charge = cache.charge(request)
        cached, written = lists.charge(sent, before if shared else None)
        assert (charge.cached, charge.written) == (cached, written if rules.writes else 0)
        assert charge.cached + charge.written + charge.fresh == end.tokens
        before = sent


PLAIN = CacheRules(id="x", mode="ideal", block=4, minimum=8, keeps_output=True)
MARKS = CacheRules(
    id="x", mode="breakpoints", minimum=6, writes=True, lookback=3, max_breakpoints=4
)


@given(st.lists(step, min_size=1, max_size=30))
def test_blocks_equal_the_lists(steps):
    for rules in (
        PLAIN,
        replace_rules(PLAIN, keeps_output=False, writes=True),
        replace_rules(PLAIN, idle_ms=10),
        replace_rules(PLAIN, idle_ms=30, keeps_output=False, block=1, minimum=0),
    ):
        agree(rules, play(steps), shared=False)


@given(st.lists(step, min_size=1, max_size=30))
def test_blocks_with_a_limited_life_equal_the_lists(steps):
    agree(replace_rules(PLAIN, life_ms=25), play(steps), shared=False)
    agree(replace_rules(PLAIN, life_ms=60, idle_ms=12), play(steps), shared=False)


@given(st.lists(step, min_size=1, max_size=30))
def test_tokens_shared_inside_a_piece_equal_the_lists(steps):
    agree(PLAIN, play(steps), shared=True)


@given(st.lists(step, min_size=1, max_size=30))
def test_breakpoints_equal_the_lists(steps):
    for rules in (MARKS, replace_rules(MARKS, idle_ms=10), replace_rules(MARKS, minimum=0)):
        agree(rules, play(steps), shared=False)


@given(st.lists(step, min_size=1, max_size=20))
def test_a_cache_without_side_calls_never_reads_less_for_a_longer_memory(steps):
    session = play([(do, *rest) for do, *rest in steps if do != "side"])
    short, long = (
        PrefixCache(replace_rules(PLAIN, idle_ms=idle), expiry=True) for idle in (10, None)
    )
    root = Prefix()
    for sent in session:
        sent = replace(sent, parallel=False, answered=None)
        request = Request(prefix=prefix_of(root, sent.pieces), time_ms=sent.time)
        assert short.charge(request).cached <= long.charge(request).cached


def replace_rules(rules: CacheRules, **changes) -> CacheRules:
    import msgspec

    return msgspec.structs.replace(rules, **changes)
