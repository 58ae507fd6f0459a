"""A provider's prefix cache, replayed: which tokens of a request are read, written and fresh.

The cache holds prefixes (`prefix.py`), never tokens. A request costs work for the pieces in which
it differs from the request before it under the same first piece, plus the lookback of its
breakpoints; its total size does not matter. Requests come in the order they were sent.

The file is longer than most because a lookup and the reason for its result need the same state.
"""

from bisect import bisect_right, insort
from dataclasses import dataclass
from typing import Literal

from slicetape.errors import PriceError
from slicetape.prices.prefix import Prefix, Section
from slicetape.prices.recency import Recency
from slicetape.prices.rules import CacheRules

Why = Literal[
    "first-use",
    "tool-change",
    "system-change",
    "history-rewrite",
    "ttl",
    "below-minimum",
    "lookback",
    "parallel",
]

_CHANGES: dict[Section, Why] = {
    "tools": "tool-change",
    "system": "system-change",
    "messages": "history-rewrite",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One model call as a cache sees it.

    `prefix` is the whole prompt. `shared` is the exact common prefix, in tokens, with the request
    charged before this one; it matters where two different pieces begin alike, and 0 leaves whole
    pieces to decide. `breakpoints` are prefixes of the prompt where entries are wanted (none: the
    end of the prompt). `answer` is the prompt and the model's output, for providers that store it.

    `time_ms` and `answered_ms` say when it was sent and when its response began: an entry exists
    from then on. Without times, `parallel` says that the response to the request before had not
    begun.
    """

    prefix: Prefix
    shared: int = 0
    breakpoints: tuple[Prefix, ...] = ()
    answer: Prefix | None = None
    time_ms: int | None = None
    answered_ms: int | None = None
    parallel: bool = False

    @property
    def total(self) -> int:
        """Tokens of the prompt."""
        return self.prefix.tokens


@dataclass(frozen=True, slots=True)
class Charge:
    """How the tokens of one prompt are billed; the three counts add up to the prompt.

    `why` names what kept the request from reading all that an earlier one left for it, None when
    nothing did. `written` is 0 where a provider bills no writes.
    """

    cached: int
    written: int
    fresh: int
    why: Why | None


@dataclass(frozen=True, slots=True)
class _Match:
    """What is stored of a prompt: `known` at any time, `live` unexpired, `reach` in tokens."""

    known: Prefix
    live: Prefix
    reach: int


@dataclass(frozen=True, slots=True)
class _Found:
    """A lookup's result: what is read, up to where is written, and whether an entry had expired."""

    cached: int
    upto: int
    expired: bool = False


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request whose response had not begun when the last one was sent."""

    since_ms: int
    request: Request
    match: _Match


class PrefixCache:
    """One provider's cache for one account.

    Entries expire only when `expiry` is asked for, and then by the times of the requests (a request
    without a time comes at the time of the one before it).
    """

    def __init__(self, rules: CacheRules, *, expiry: bool = False) -> None:
        """Start empty."""
        self.rules = rules
        self.expiry = expiry
        self._now = 0
        self._heads: dict[Prefix, Recency] = {}
        self._ends: dict[Prefix, Prefix] = {}
        self._entries: dict[Prefix, int] = {}
        self._divided: dict[Prefix, list[int]] = {}
        self._waiting: list[_Waiting] = []
        self._previous: Prefix | None = None

    def charge(self, request: Request) -> Charge:
        """Bill one request, and store what it leaves once its response begins.

        PriceError when a breakpoint or `answer` does not belong to the prompt, when there are more
        breakpoints than the provider takes, or when `shared` exceeds the prompt.
        """
        self._check(request)
        if request.time_ms is not None:
            self._now = max(self._now, request.time_ms)
        self._begin_answers(request)
        total = request.total
        if self.rules.mode == "none" or not request.prefix.depth:
            self._previous = request.prefix
            return Charge(0, 0, total, None)
        match = self._match(request)
        found = self._look(request, match)
        why = self._why(request, match, found)
        begun = self._now if request.answered_ms is None else max(self._now, request.answered_ms)
        self._waiting.append(_Waiting(begun, request, match))
        self._previous = request.prefix
        written = max(0, found.upto - found.cached) if self.rules.writes else 0
        return Charge(found.cached, written, total - found.cached - written, why)

    def _check(self, request: Request) -> None:
        prefix, rules = request.prefix, self.rules
        if not 0 <= request.shared <= prefix.tokens:
            raise PriceError(f"{request.shared} shared tokens in a prompt of {prefix.tokens}")
        if not all(_begins(prefix, mark) for mark in request.breakpoints):
            raise PriceError("a breakpoint is not a prefix of its prompt")
        if request.answer is not None and not _begins(request.answer, prefix):
            raise PriceError("an answer does not begin with its prompt")
        if rules.mode == "breakpoints" and len(request.breakpoints) > rules.max_breakpoints:
            raise PriceError(
                f"{len(request.breakpoints)} breakpoints; {rules.id} takes {rules.max_breakpoints}"
            )

    # --- what is stored -------------------------------------------------------------------------

    def _begin_answers(self, request: Request) -> None:
        """Store every earlier request whose response began before this one was sent."""
        if not self._waiting:
            return
        later = []
        for row in sorted(self._waiting, key=lambda row: row.since_ms):
            timed = row.request.answered_ms is not None and request.time_ms is not None
            if (row.since_ms <= self._now) if timed else not request.parallel:
                self._store(row, min(row.since_ms, self._now))
            else:
                later.append(row)
        self._waiting = later

    def _store(self, row: _Waiting, time: int) -> None:
        request, match = row.request, row.match
        end = request.prefix
        if request.answer is not None and self.rules.keeps_output:
            end = request.answer
        head = end.head
        recency = self._heads.get(head)
        if recency is None:
            recency = self._heads[head] = Recency(head.parent, time)
        recency.touch(end, time)
        marks = self._marks(request) if self.rules.mode == "breakpoints" else []
        for mark in marks:
            self._entries[mark] = max(time, self._entries.get(mark, time))
        self._ends[request.prefix] = marks[-1] if marks else head.parent
        if end is not request.prefix:
            self._ends[end] = end
        if self.rules.mode == "boundary" and (
            match.reach > match.live.tokens or match.live not in self._ends
        ):
            insort(self._divided.setdefault(match.live, []), match.reach)

    def _marks(self, request: Request) -> list[Prefix]:
        """The breakpoints that get an entry, shortest first; without any, the end of the prompt."""
        wanted = sorted(request.breakpoints, key=lambda mark: mark.depth) or [request.prefix]
        return [mark for mark in wanted if mark.tokens >= max(1, self.rules.minimum)]

    # --- what is found --------------------------------------------------------------------------

    def _since(self) -> int:
        """The oldest last use that has not expired."""
        idle = self.rules.idle_ms
        return self._now - idle if self.expiry and idle is not None else 0

    def _outlived(self, recency: Recency) -> bool:
        life = self.rules.life_ms
        return self.expiry and life is not None and self._now - recency.born > life

    def _match(self, request: Request) -> _Match:
        prefix = request.prefix
        head = prefix.head
        known = live = head.parent
        recency = self._heads.get(head)
        if self.rules.mode == "previous":
            lives = self._previous is not None and self._previous_lives()
            known = live = prefix.shared_with(self._previous) if self._previous and lives else known
        elif recency is not None:
            known = live = recency.deepest(prefix)
            if self._outlived(recency):
                del self._heads[head]
                live = head.parent
            elif self.rules.mode != "breakpoints":
                live = recency.live(known, self._since())
                recency.touch(live, self._now)
        reach = live.tokens
        if request.shared > reach and self._previous_lives():
            reach = request.shared
        return _Match(known, live, reach)

    def _previous_lives(self) -> bool:
        """Whether the request before is stored and has not expired."""
        previous = self._previous
        recency = self._heads.get(previous.head) if previous is not None else None
        if previous is None or recency is None or self._outlived(recency):
            return False
        used = recency.used(previous)
        return used is not None and used >= self._since()

    def _look(self, request: Request, match: _Match) -> _Found:
        rules = self.rules
        if rules.mode == "breakpoints":
            return self._search(request)
        reach = self._boundary(match) if rules.mode == "boundary" else match.reach
        return _Found(rules.round(reach), rules.round(request.total))

    def _boundary(self, match: _Match) -> int:
        """The last unit that ends within the reach: a stored end, or where requests parted before.

        A unit found this way is not forgotten when its prefix expires.
        """
        node, reach = match.live, match.reach
        while True:
            parted = self._divided.get(node, [])
            below = bisect_right(parted, reach)
            if below:
                return parted[below - 1]
            if not node.depth or node in self._ends:
                return node.tokens
            node, reach = node.parent, node.parent.tokens

    def _search(self, request: Request) -> _Found:
        """Read the longest live entry within the lookback of a breakpoint; refresh what is used."""
        marks = self._marks(request)
        since, lookback = self._since(), self.rules.lookback
        hit, expired = 0, 0
        for mark in marks:
            node = mark
            while node.depth and mark.blocks - node.blocks <= lookback:
                used = self._entries.get(node)
                if used is not None and used >= since:
                    self._entries[node] = self._now
                    hit = max(hit, node.tokens)
                    break
                if used is not None:
                    expired = max(expired, node.tokens)
                node = node.parent
        return _Found(hit, marks[-1].tokens if marks else 0, expired > hit)

    # --- why it was no more ---------------------------------------------------------------------

    def _why(self, request: Request, match: _Match, found: _Found) -> Why | None:
        prefix, known = request.prefix, match.known
        if any(known.depth < prefix.shared_with(row.request.prefix).depth for row in self._waiting):
            return "parallel"
        if not self._ends:
            return "first-use"
        if found.expired or match.live is not known:
            return "ttl"
        if known is prefix and self.rules.mode != "breakpoints":
            return None
        end, previous = self._ends.get(known), self._previous
        if end is None or (previous and previous is not known and _begins(previous, known)):
            return self._change(prefix, known)
        if self.rules.mode != "breakpoints":
            return "below-minimum" if known.tokens < self.rules.minimum else None
        if not end.tokens:
            return "below-minimum"
        return "lookback" if found.cached < end.tokens else None

    def _change(self, prefix: Prefix, known: Prefix) -> Why:
        """The section of the first changed piece, the earlier one on the wire of old and new."""
        sections = set()
        for chain in (prefix, self._previous):
            if chain is not None and chain is not known and _begins(chain, known):
                sections.add(chain.at(known.depth + 1).section)
        changes = (why for section, why in _CHANGES.items() if section in sections)
        return next(changes, "history-rewrite")


def _begins(prefix: Prefix, start: Prefix) -> bool:
    return prefix.at(start.depth) is start
