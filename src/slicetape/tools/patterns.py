r"""Glob patterns: `*`, `?`, `[…]`, `{a,b}`, `\` ahead of a letter, and `**` across folders.

No pattern takes long: those with few repeats are given to `re`, which backtracks; all others run
as a state machine that looks at each letter of a path once.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

VCS = frozenset({".git", ".hg", ".svn", ".jj", "CVS"})
"""Folders of version control, which no search looks into."""

_MOST = 1_000
_MOST_STATES = 5_000
_FEW = 2
"""Repeats that `re` may try: the work grows with the path to their power."""


class BadPattern(ValueError):
    """A pattern that means nothing."""


@dataclass(frozen=True, slots=True)
class _One:
    """One letter, or any number of them; `folders` is any number of whole folders."""

    letter: str
    many: bool = False
    folders: bool = False


@dataclass(frozen=True, slots=True)
class _Either:
    ways: list[list["_One | _Either"]] = field(default_factory=lambda: [[]])


_Items = Sequence[_One | _Either]


class Glob:
    """A pattern for relative paths with `/`; one without `/` is held against the last part."""

    def __init__(self, pattern: str) -> None:
        items = _parsed(pattern.removeprefix("./"))
        self._last_part = "/" not in pattern
        try:
            self._expression = re.compile(_written(items), re.DOTALL)
        except (re.error, RecursionError) as error:
            raise BadPattern(str(error)) from None
        self._machine = _Machine(items) if _repeats(items) > _FEW else None

    def fullmatch(self, path: str) -> bool:
        """Whether the whole path, or its last part, is as the pattern says."""
        text = path.rpartition("/")[2] if self._last_part else path
        if self._machine is not None:
            return self._machine.accepts(text)
        return self._expression.fullmatch(text) is not None


@cache
def compiled(pattern: str) -> Glob:
    """The pattern, ready to match. Raises BadPattern."""
    if not pattern.strip() or len(pattern) > _MOST:
        raise BadPattern("the pattern is empty or longer than 1000 characters")
    return Glob(pattern)


_TOKEN = re.compile(r"\*\*/|\*+|\?|\[[!^]?[^\]][^\]]*\]|\\.|.", re.DOTALL)


def _parsed(pattern: str) -> list[_One | _Either]:
    top = _Either()
    open_ones = [top]
    for found in _TOKEN.finditer(pattern):
        piece, inner = found[0], open_ones[-1]
        if piece == "{":
            inner.ways[-1].append(made := _Either())
            open_ones.append(made)
        elif piece == "}" and len(open_ones) > 1:
            open_ones.pop()
        elif piece == "," and len(open_ones) > 1:
            inner.ways.append([])
        else:
            inner.ways[-1].append(_one(piece))
    if len(open_ones) > 1:
        raise BadPattern("a { without its }")
    return top.ways[0]


def _one(piece: str) -> _One:
    if piece == "**/":
        return _One("[^/]", folders=True)
    if piece[0] == "*":
        return _One("[^/]" if len(piece) == 1 else r"[\s\S]", many=True)
    if piece == "?":
        return _One("[^/]")
    if piece == "[":
        raise BadPattern("a [ without its ]")
    if piece[0] == "[":
        negated = piece[1] in "!^"
        inner = re.sub(r"([\\\[^&~|])", r"\\\1", piece[2 if negated else 1 : -1])
        return _One(f"[{'^/' if negated else ''}{inner}]")
    return _One(re.escape(piece[-1]))


def _written(items: _Items) -> str:
    """The items as a regular expression."""
    made = []
    for item in items:
        if isinstance(item, _Either):
            made.append(f"(?:{'|'.join(_written(way) for way in item.ways)})")
        elif item.folders:
            made.append("(?:[^/]+/)*")
        else:
            made.append(item.letter + "*" * item.many)
    return "".join(made)


def _repeats(items: _Items) -> int:
    return sum(
        sum(map(_repeats, item.ways))
        if isinstance(item, _Either)
        else int(item.many or item.folders)
        for item in items
    )


_Test = Callable[[str], object]


class _Machine:
    """The items as states: after each letter, the set of places that the pattern may be at."""

    def __init__(self, items: _Items) -> None:
        self._nodes: list[tuple[_Test | None, tuple[int, ...]]] = [(None, ())]
        self._first = self._reached([self._add(items, 0)])
        self._known: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def accepts(self, text: str) -> bool:
        """Whether all of `text` leads to the end."""
        state = self._first
        for letter in text:
            state = self._after(state, letter)
            if not state:
                return False
        return 0 in state

    def _after(self, state: frozenset[int], letter: str) -> frozenset[int]:
        key = (state, letter)
        known = self._known.get(key)
        if known is None:
            nodes = (self._nodes[at] for at in state)
            known = self._reached(to for test, tos in nodes if test and test(letter) for to in tos)
            if len(self._known) >= _MOST_STATES:
                self._known.clear()
            self._known[key] = known
        return known

    def _reached(self, places: Iterable[int]) -> frozenset[int]:
        """The places, and those behind them that need no letter."""
        reached: set[int] = set()
        todo = list(places)
        while todo:
            place = todo.pop()
            if place not in reached:
                reached.add(place)
                test, following = self._nodes[place]
                todo += () if test else following
        return frozenset(reached)

    def _add(self, items: _Items, target: int) -> int:
        for item in reversed(items):
            if isinstance(item, _Either):
                target = self._node(None, *(self._add(way, target) for way in item.ways))
                continue
            test = re.compile(item.letter, re.DOTALL).fullmatch
            if item.folders:
                loop = self._node(None)
                more = self._node(None)
                inside = self._node(test, more)
                self._nodes[more] = (None, (inside, self._node("/".__eq__, loop)))
                self._nodes[loop] = (None, (inside, target))
                target = loop
            elif item.many:
                loop = self._node(None)
                self._nodes[loop] = (None, (self._node(test, loop), target))
                target = loop
            else:
                target = self._node(test, target)
        return target

    def _node(self, test: _Test | None, *targets: int) -> int:
        self._nodes.append((test, targets))
        return len(self._nodes) - 1
