"""The prefix check for a session: the same verdict as `PrefixCheck`, at the price of the edits."""

from collections.abc import Sequence

from slicetape.wire.fragment import START, Fragment, Wire, pieces
from slicetape.wire.prefix import NO_STEP, Break, Change, Step, broken, first_change, in_head


class IncrementalPrefix:
    """The same answer from edits, at the price of what was edited. Positions count from 0.

    Nodes are kept as fragments; what was sent is kept from the first edited node on.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._nodes: list[Fragment] = []
        self._same = 0  # nodes before this one stand as they were sent
        self._sent: list[Fragment] = []  # what was sent behind them
        self._ends = [0]  # stream bytes before each node, as far as they are known
        self._seams = [START]
        self._head: bytes | None = None
        self._tape = 0

    def append(self, fragment: Fragment) -> None:
        """Put a node behind the last one."""
        self.replace(len(self._nodes), len(self._nodes), (fragment,))

    def replace(self, start: int, end: int, fragments: Sequence[Fragment]) -> None:
        """Put nodes where the nodes from `start` up to, not including, `end` stood."""
        if not 0 <= start <= end <= len(self._nodes):
            raise IndexError(f"no nodes {start} to {end} among {len(self._nodes)}")
        if start < self._same:
            self._sent[:0] = self._nodes[start : self._same]
            self._same = start
        del self._ends[start + 1 :], self._seams[start + 1 :]
        self._nodes[start:end] = fragments

    def sent(self, step: Step = NO_STEP) -> Break | None:
        """Take the nodes as they stand now as the next request that goes out.

        A `Break` when it does not extend the last one.
        """
        head, tape = self._head, self._tape
        change = self._change() if head == step.head else None
        self._measure()
        self._head, self._tape = step.head, self._ends[min(step.tape, len(self._nodes))]
        self._same, self._sent = len(self._nodes), []
        if head is not None and head != step.head:
            return in_head(head, step.head)
        return broken(change, len(self._nodes), tape, step) if change else None

    def _change(self) -> Change | None:
        self._measure(self._same)
        at = self._same
        for before in self._sent:
            if at == len(self._nodes) or self._nodes[at] != before:
                break
            at += 1
        was, now = self._sent[at - self._same :], self._nodes[at:]
        self._measure(at)
        seam = self._seams[at]
        return first_change(
            pieces(self._wire, was, seam), pieces(self._wire, now, seam), at, self._ends[at]
        )

    def _measure(self, upto: int | None = None) -> None:
        """Know how many bytes stand before each node up to `upto`, or before and behind all."""
        for node in self._nodes[len(self._ends) - 1 : upto]:
            piece, seam = self._wire.join(self._seams[-1], node)
            self._seams.append(seam)
            self._ends.append(self._ends[-1] + len(piece))
