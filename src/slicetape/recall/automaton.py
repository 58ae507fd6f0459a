r"""Whether a regular expression occurs in a line, in time that is linear in the line.

`re` backtracks, so `(a+)+$` on one long line would hold the session for ever. Here the parsed
expression becomes a state machine whose states are worked out once, as the text asks for them,
and whose answer is the same yes or no. What needs a memory of the text (back-references,
look-around, possessive and conditional groups) cannot be put this way: `Unsupported`.

The parse tree is the one of `re` itself, and each character class is decided by `re`, so case
is as in `re.IGNORECASE`. Edges of words are those of `(?a:\b)`.
"""

import re
from collections.abc import Iterable, Sequence
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

MOST_NODES = 2_000
"""Nodes of a machine; a state holds at most so many."""

MOST_WORK = 1_000_000
"""Nodes looked at while states are worked out, for one expression."""

LEAVES = frozenset(
    {_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN, _constants.CATEGORY}
)
REPEATS = frozenset({_constants.MAX_REPEAT, _constants.MIN_REPEAT})
PLAIN_FLAGS = (0, re.ASCII)
"""Flags of a group that change nothing here: word edges are ASCII in every case."""

ENDLESS = int(_constants.MAXREPEAT)

Tree = Sequence[tuple[Any, Any]]
"""A parsed expression, as `re` draws it: (operation, operands)."""

_ACCEPT = 0
"""The node that is reached by a match."""


class Unsupported(Exception):
    """The expression has no machine, or a larger one than is worth building."""


def parse(pattern: str) -> Tree:
    """The tree of an expression that ignores case."""
    tree: Tree = _parser.parse(pattern, re.IGNORECASE)
    return tree


class Automaton:
    """A machine for one expression; `occurs_in` may be asked of any number of lines."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.nodes: list[tuple[str, Any, tuple[int, ...]]] = [("accept", None, ())]
        self.start = self._sequence(tree, _ACCEPT)
        self.work = 0
        self._states: dict[tuple[frozenset[int], str], _State] = {}
        self._first = self.state(frozenset({self.start}), "start")

    def occurs_in(self, line: str) -> bool:
        """Whether the expression matches anywhere in `line`. Unsupported when it costs too much."""
        state, accepted = self._first, self.state(frozenset({_ACCEPT}), "accepted")
        for character in line:
            state = state[character]
            if state is accepted:
                return True
        return _ACCEPT in self.closure(state.members, state.before, "end")

    def state(self, members: frozenset[int], before: str) -> "_State":
        """The one state of these nodes behind a character of kind `before`."""
        key = (members, before)
        if key not in self._states:
            self._states[key] = _State(self, members, before)
        return self._states[key]

    def closure(self, members: Iterable[int], before: str, after: str) -> set[int]:
        """Every node that can be reached between two characters of these kinds."""
        reached: set[int] = set()
        todo = list(members)
        while todo:
            node = todo.pop()
            if node in reached:
                continue
            reached.add(node)
            self.work += 1
            kind, operand, targets = self.nodes[node]
            if kind == "split" or (kind == "at" and _stands(operand, before, after)):
                todo.extend(targets)
        if self.work > MOST_WORK:
            raise Unsupported
        return reached

    def _node(self, kind: str, operand: Any, *targets: int) -> int:
        if len(self.nodes) >= MOST_NODES:
            raise Unsupported
        self.nodes.append((kind, operand, targets))
        return len(self.nodes) - 1

    def _sequence(self, tree: Tree, target: int) -> int:
        for operation, operands in reversed(list(tree)):
            target = self._item(operation, operands, target)
        return target

    def _item(self, operation: Any, operands: Any, target: int) -> int:
        if operation in LEAVES:
            return self._node("character", self._leaf(operation, operands), target)
        if operation is _constants.AT:
            return self._node("at", operands, target)
        if operation is _constants.BRANCH:
            branches = (self._sequence(branch, target) for branch in operands[1])
            return self._node("split", None, *branches)
        if operation is _constants.SUBPATTERN and operands[1] in PLAIN_FLAGS and not operands[2]:
            return self._sequence(operands[3], target)
        if operation in REPEATS:
            return self._repeat(*operands, target=target)
        raise Unsupported

    def _repeat(self, least: int, most: int, tree: Tree, *, target: int) -> int:
        if int(most) >= ENDLESS:
            loop = self._node("split", None)
            body = self._sequence(tree, loop)
            self.nodes[loop] = ("split", None, (body, target))
            target = loop
        else:
            end = target
            for _ in range(int(most) - least):
                target = self._node("split", None, self._sequence(tree, target), end)
        for _ in range(least):
            target = self._sequence(tree, target)
        return target

    def _leaf(self, operation: Any, operands: Any) -> Any:
        single = _parser.SubPattern(self._tree.state, [(operation, operands)])  # type: ignore[attr-defined]
        return _compiler.compile(single, re.IGNORECASE).match


class _State(dict[str, "_State"]):
    """Nodes that may come next; the items say which state follows a character."""

    __slots__ = ("before", "machine", "members")

    def __init__(self, machine: Automaton, members: frozenset[int], before: str) -> None:
        super().__init__()
        self.machine, self.members, self.before = machine, members, before

    def __missing__(self, character: str) -> "_State":
        machine, after = self.machine, _kind(character)
        reached = machine.closure(self.members, self.before, after)
        if _ACCEPT in reached:
            self[character] = following = machine.state(frozenset({_ACCEPT}), "accepted")
            return following
        members = {machine.start}
        for node in reached:
            kind, accepts, targets = machine.nodes[node]
            if kind == "character" and accepts(character):
                members.update(targets)
        self[character] = following = machine.state(frozenset(members), after)
        return following


def _kind(character: str) -> str:
    word = character.isascii() and (character.isalnum() or character == "_")
    return "word" if word else "other"


def _stands(anchor: Any, before: str, after: str) -> bool:
    if anchor in (_constants.AT_BEGINNING, _constants.AT_BEGINNING_STRING):
        return before == "start"
    if anchor in (_constants.AT_END, _constants.AT_END_STRING):
        return after == "end"
    at_edge = (before == "word") != (after == "word")
    return at_edge if anchor is _constants.AT_BOUNDARY else not at_edge
