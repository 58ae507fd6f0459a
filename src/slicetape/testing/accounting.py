"""What a provider would bill for scripted answers, by the cache simulator over the request text.

It also follows each conversation: whether a request extends one before it, or rewrote what was
sent, and whether it did so inside a turn, where nothing may move.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from slicetape.prices.cache import Charge, PrefixCache, Request
from slicetape.prices.prefix import Prefix
from slicetape.prices.rules import cache_rules
from slicetape.prices.tokens import Counter, counter
from slicetape.testing.pieces import Piece, Wire, pieces

Growth = Literal["begun", "extended", "rewritten", "broken"]
"""A request that begins a conversation, extends one, rewrote it between turns, or inside one."""


@dataclass(frozen=True, slots=True)
class Bill:
    """One request: how its tokens are charged, those of its answer, and how it grew."""

    charge: Charge
    output: int
    reasoning: int
    growth: Growth

    @property
    def prompt(self) -> int:
        """Tokens of the prompt."""
        return self.charge.cached + self.charge.written + self.charge.fresh


class Account:
    """One account at a provider: its cache and its counter, named as in reports."""

    def __init__(self, wire: Wire, cache: str, tokens: str = "bytes") -> None:
        """Start with nothing cached. PriceError when there are no such rules or counter."""
        self.wire = wire
        self._cache = PrefixCache(cache_rules(cache))
        self._counter: Counter = counter(tokens)
        self._counts: dict[bytes, int] = {}
        self._root = Prefix()
        self._talk = _Talk()
        self.requests = 0
        self.cached = self.written = self.fresh = self.output = 0
        self.growth: dict[Growth, int] = {}

    def measure(self, body: Mapping[str, Any]) -> int:
        """Tokens of a request that is not billed."""
        return sum(self._count(piece) for piece in pieces(self.wire, body))

    def charge(self, body: Mapping[str, Any], answer: Piece, *, reasoning: str = "") -> Bill:
        """Bill a request and its answer; `reasoning` is the part of the answer that is thought."""
        path, marks, told = [self._root], list[Prefix](), list[Piece]()
        for piece in pieces(self.wire, body):
            path.append(path[-1].then(piece.key, self._count(piece), section=piece.section))
            told.append(piece)
            if piece.mark:
                marks.append(path[-1])
        prefix, output = path[-1], self._count(answer)
        said = prefix.then(answer.key, output) if output else None
        request = Request(prefix=prefix, breakpoints=tuple(marks[-4:]), answer=said)
        growth = self._talk.grown(path[1:], told)
        reasoned = self._counter.count(reasoning) if reasoning else 0
        bill = Bill(self._cache.charge(request), output, reasoned, growth)
        self._add(bill)
        return bill

    def _count(self, piece: Piece) -> int:
        known = self._counts.get(piece.key)
        if known is None:
            known = self._counts[piece.key] = self._counter.count(piece.text) if piece.text else 0
        return known

    def _add(self, bill: Bill) -> None:
        self.requests += 1
        self.cached += bill.charge.cached
        self.written += bill.charge.written
        self.fresh += bill.charge.fresh
        self.output += bill.output
        self.growth[bill.growth] = self.growth.get(bill.growth, 0) + 1


@dataclass(slots=True)
class _Seen:
    """A prefix that was sent: the last request through it, and whose piece it ends with."""

    latest: Prefix
    role: str


class _Talk:
    """What was sent so far, of all conversations of an account."""

    def __init__(self) -> None:
        self._seen: dict[Prefix, _Seen] = {}
        self._ends: set[Prefix] = set()
        self._firsts: set[bytes] = set()

    def grown(self, path: list[Prefix], told: list[Piece]) -> Growth:
        """How this request grew; it is remembered. `path` are its prefixes, piece by piece."""
        if not path:
            return "begun"
        kept = next((at for at, prefix in enumerate(path) if prefix not in self._seen), len(path))
        growth = self._judged(path, told, kept)
        first = next((piece.key for piece in told if piece.section == "messages"), b"")
        if growth != "extended" and first not in self._firsts:
            growth = "begun"
        self._firsts.add(first)
        for prefix, piece in zip(path, told, strict=True):
            self._seen[prefix] = _Seen(path[-1], piece.role)
        self._ends.add(path[-1])
        return growth

    def _judged(self, path: list[Prefix], told: list[Piece], kept: int) -> Growth:
        """`kept` pieces were sent before. Leaving out an answer that was sent is no growth."""
        if kept and path[kept - 1] in self._ends:
            latest = self._seen[path[kept - 1]].latest
            other = latest.at(kept + 1) if latest.depth > kept else None
            answers = other is not None and self._seen[other].role == "assistant"
            if kept == len(path) or not answers:
                return "extended"
        roles = [piece.role for piece in told]
        if "assistant" not in roles:
            return "begun"
        return "broken" if "tool" in roles[_last(roles, "assistant") :] else "rewritten"


def _last(roles: list[str], role: str) -> int:
    return len(roles) - 1 - roles[::-1].index(role)
