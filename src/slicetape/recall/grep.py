"""Which lines of a result match the expression a model wrote, whatever it wrote.

No expression can hold the session: cheap ones run in `re`, all others in `Automaton`, and the few
that only backtracking can decide are refused when their worst case is too dear.
"""

import re
import warnings
from collections.abc import Sequence
from re import _constants  # type: ignore[attr-defined]
from typing import Any

from slicetape.errors import RecallError
from slicetape.recall.automaton import LEAVES, REPEATS, Automaton, Tree, Unsupported, parse
from slicetape.recall.expression import Invalid, python_expression

LONGEST_PATTERN = 1_000
CHEAP = 512
"""Comparisons at one place of a line, at worst, up to which `re` may try an expression."""

DEAREST = 300_000_000
"""Comparisons over all lines, at worst, that backtracking may take."""

ENDLESS = 1_000_000_000


def matching(pattern: str, lines: Sequence[str]) -> list[int]:
    """The places, from 0, of the lines that match, case ignored. RecallError when it cannot run."""
    if len(pattern) > LONGEST_PATTERN:
        raise RecallError(
            f"expand_result: a regex of {len(pattern)} characters is too long "
            f"(at most {LONGEST_PATTERN}); grep for a shorter part of it"
        )
    compiled, tree = _compiled(pattern)
    if _cost(tree) <= CHEAP:
        return [at for at, line in enumerate(lines) if compiled.search(line)]
    try:
        machine = Automaton(tree)
        return [at for at, line in enumerate(lines) if machine.occurs_in(line)]
    except Unsupported:
        pass
    degree = _degree(tree)
    if degree is None or sum(len(line) ** (degree + 1) for line in lines) > DEAREST:
        raise RecallError(
            f'expand_result: regex "{pattern}" could take too long on this result; write it '
            "without look-around, back-references and nested repeats"
        )
    return [at for at, line in enumerate(lines) if compiled.search(line)]


def _compiled(pattern: str) -> tuple[re.Pattern[str], Tree]:
    try:
        python = python_expression(pattern)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(python, re.IGNORECASE), parse(python)
    except (re.error, Invalid, OverflowError, RecursionError):
        raise RecallError(f'expand_result: invalid regex "{pattern}"') from None


def _cost(tree: Tree) -> int:
    """Comparisons at one starting place, at worst: ways through the tree times its length."""
    ways, length = _extent(tree)
    return min(ways * max(length, 1), ENDLESS)


def _extent(tree: Tree) -> tuple[int, int]:
    ways, length = 1, 0
    for operation, operands in tree:
        inner = [_extent(part) for part in _parts(operation, operands)]
        if operation in REPEATS:
            least, most, _ = operands
            if least != most:
                return ENDLESS, ENDLESS
            times = int(most)
            ways *= min(inner[0][0], 1000) ** min(times, 40)
            length += inner[0][1] * times
        elif inner:
            ways *= sum(way for way, _ in inner)
            length += max(size for _, size in inner)
        else:
            length += _weight(operation, operands)
        ways, length = min(ways, ENDLESS), min(length, ENDLESS)
    return ways, length


def _weight(operation: Any, operands: Any) -> int:
    """What one item may cost; an inner edge is kept from `re`, which denies it of empty lines."""
    if operation is _constants.AT:
        return CHEAP if operands is _constants.AT_NON_BOUNDARY else 1
    return 1 if operation in LEAVES else 50


def _degree(tree: Tree, *, repeated: bool = False) -> int | None:
    """How many variable repeats multiply each other; None when one stands in another."""
    total = inside = 0
    for operation, operands in tree:
        repeats = operation in REPEATS
        if repeated and (repeats or operation is _constants.BRANCH):
            return None
        total += repeats
        for part in _parts(operation, operands):
            degree = _degree(part, repeated=repeated or repeats)
            if degree is None:
                return None
            if operation in (_constants.ASSERT, _constants.ASSERT_NOT):
                inside = max(inside, degree)
            else:
                total += degree
    return total + inside


def _parts(operation: Any, operands: Any) -> list[Tree]:
    """The trees directly within one item."""
    if operation is _constants.BRANCH:
        return list(operands[1])
    if operation in REPEATS:
        return [operands[2]]
    if operation is _constants.SUBPATTERN:
        return [operands[3]]
    if operation in (_constants.ASSERT, _constants.ASSERT_NOT):
        return [operands[1]]
    return []
