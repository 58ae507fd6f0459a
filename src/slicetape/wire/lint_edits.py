"""The linter for a session: the same verdict as `lint`, at the price of what was edited.

A session's surface changes by appending nodes and by replacing runs of them, and every request
of thousands is linted. `count` judges again only the nodes that an edit touched, their group (a
message and the results directly behind it) and the first message behind; everything else keeps
its number of problems. `problems` lists them by the full linter, and only where there are any.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from slicetape.wire.fragment import Fragment, Role
from slicetape.wire.lint import (
    Problem,
    Rules,
    lacks_reasoning,
    lint,
    local_problems,
    not_first,
    wants_reasoning,
)


class _Node:
    """A node on the surface and what is known about it."""

    __slots__ = ("digest", "first_sent", "fragment", "moved", "problems")

    def __init__(self, fragment: Fragment) -> None:
        self.fragment = fragment
        self.problems = 0
        self.digest = b""
        self.first_sent = b""
        self.moved = False


class IncrementalLint:
    """The problems of the next request, kept up to date by edits. Positions count from 0."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._nodes: list[_Node] = []
        self._dirty = False
        self._head = self._tail = 0  # how many nodes at each end were judged and not edited since
        self._local = self._repeats = self._reasoned = self._lacking = self._moved = 0
        self._calls: Counter[str] = Counter()
        self._before = [b""]  # digests of what stands before each node, as far as they are known
        self._unsent = 0  # nodes before this one stand as they were sent

    def append(self, fragment: Fragment) -> None:
        """Put a node behind the last one."""
        self.replace(len(self._nodes), len(self._nodes), (fragment,))

    def replace(self, start: int, end: int, fragments: Sequence[Fragment]) -> None:
        """Put nodes where the nodes from `start` up to, not including, `end` stood."""
        if not 0 <= start <= end <= len(self._nodes):
            raise IndexError(f"no nodes {start} to {end} among {len(self._nodes)}")
        if not self._dirty:
            self._dirty, self._head, self._tail = True, len(self._nodes), len(self._nodes)
        self._head = min(self._head, start)
        self._tail = min(self._tail, len(self._nodes) - end)
        self._unsent = min(self._unsent, start)
        del self._before[start + 1 :]
        for node in self._nodes[start:end]:
            self._local -= node.problems
            self._moved -= node.moved
            self._drop(node.fragment)
        for fragment in fragments:
            self._add(fragment)
        self._nodes[start:end] = map(_Node, fragments)

    def sent(self) -> None:
        """Remember that a request with these nodes goes out.

        Signed reasoning in it counts as moved once bytes before it change.
        """
        self._judge()
        if self._rules.signed:
            for at in range(self._unsent, len(self._nodes)):
                node = self._nodes[at]
                if node.fragment.facts.signed and not node.first_sent:
                    node.first_sent = self._before[at]
        self._unsent = len(self._nodes)

    @property
    def count(self) -> int:
        """How many problems the next request has."""
        self._judge()
        found = self._local + self._repeats + self._moved
        if wants_reasoning(self._rules, self._reasoned > 0):
            found += self._lacking
        if self._rules.user_first:
            found += not_first(node.fragment for node in self._nodes) is not None
        return found

    def problems(self) -> list[Problem]:
        """The problems of the next request, by position."""
        if not self.count:
            return []
        moved = [at for at, node in enumerate(self._nodes) if node.moved]
        return lint((node.fragment for node in self._nodes), self._rules, moved=moved)

    def _add(self, fragment: Fragment) -> None:
        self._reasoned += fragment.facts.reasoned
        self._lacking += lacks_reasoning(fragment)
        for call_id in self._ids(fragment):
            self._repeats += self._calls[call_id] > 0
            self._calls[call_id] += 1

    def _drop(self, fragment: Fragment) -> None:
        self._reasoned -= fragment.facts.reasoned
        self._lacking -= lacks_reasoning(fragment)
        for call_id in self._ids(fragment):
            self._calls[call_id] -= 1
            if self._calls[call_id]:
                self._repeats -= 1
            else:
                del self._calls[call_id]

    def _ids(self, fragment: Fragment) -> Iterable[str]:
        if not self._rules.unique_calls:
            return ()
        return dict.fromkeys(filter(None, fragment.facts.calls))

    def _judge(self) -> None:
        """Bring the problems of what was edited up to date."""
        if not self._dirty:
            return
        self._dirty = False
        start, end = self._run()
        run = self._nodes[start:end]
        self._local -= sum(node.problems for node in run)
        for node in run:
            node.problems = 0
        before = self._role_before(start)
        for problem in local_problems((node.fragment for node in run), self._rules, before, start):
            self._nodes[problem.position].problems += 1
            self._local += 1
        if self._rules.signed:
            self._follow_bytes()

    def _run(self) -> tuple[int, int]:
        """The nodes to judge: the edited ones, their group, and the first message behind."""
        start, end = self._head, len(self._nodes) - self._tail
        while start > 0:
            start -= 1
            if self._opens(start):
                break
        while end < len(self._nodes) and not self._nodes[end].fragment.role:
            end += 1
        end = min(end + 1, len(self._nodes))
        while end < len(self._nodes) and not self._opens(end):
            end += 1
        return start, max(start, end)

    def _opens(self, at: int) -> bool:
        """Whether a message without results stands here, where a run may begin."""
        fragment = self._nodes[at].fragment
        return bool(fragment.role) and not fragment.facts.results

    def _role_before(self, at: int) -> Role:
        while at > 0:
            at -= 1
            if role := self._nodes[at].fragment.role:
                return role
        return ""

    def _follow_bytes(self) -> None:
        """Extend the digests over what was edited, and see what signed reasoning moved."""
        for at in range(len(self._before) - 1, len(self._nodes)):
            node = self._nodes[at]
            moved = bool(node.first_sent) and node.first_sent != self._before[at]
            self._moved += moved - node.moved
            node.moved = moved
            self._before.append(self._digest(node, self._before[at]))

    def _digest(self, node: _Node, before: bytes) -> bytes:
        if not node.fragment.items:
            return before
        node.digest = node.digest or node.fragment.digest()
        return blake2b(before + node.digest, digest_size=16).digest()
