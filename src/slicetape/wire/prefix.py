"""Whether a request extends the one before it; if not, the first changed byte and who changed it.

A provider's cache reads a request as tools, then system, then messages, so that is the order
compared here: the *head* (tools and whatever else stands before), then the stream of pieces
(`fragment`). A request extends the last one when the last one's head and stream are the start of
its own. Cache markers and the settings of a call belong to neither.

A break is of one kind:

    tape    the changed byte stands at or before the last entry of the request before;
            nothing may move there
    seal    behind the tape, at the first step of a turn: what sealing is for
    turn    behind the tape, inside a turn: nothing may move there either

`PrefixCheck` compares the bytes themselves, for a live loop. `IncrementalPrefix` is told the
edits and compares what was edited, for replay; both give the same answer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

from slicetape.wire.fragment import START, Fragment, Wire, pieces

Kind = Literal["tape", "seal", "turn"]

Cause = Callable[[int], int | None]
"""Position of a node in the new request to the seq of the event that last changed it."""

HEAD = -1
"""The position of a break in the head."""

_EXCERPT = 48
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a check needs to know of a request beyond its bytes.

    `tape` counts the nodes up to and including the last entry; `cause` names events.
    """

    first_in_turn: bool = False
    tape: int = 0
    head: bytes = b""
    cause: Cause | None = None


NO_STEP = Step()


@dataclass(frozen=True, slots=True)
class Break:
    """The first byte that differs from the request before.

    `byte` counts from the start of the head, `position` is the node the byte stands in (in the
    new request; `HEAD` for the head, one past the last node when the new request ends early),
    `seq` the event that last changed it where that is known.
    """

    kind: Kind
    byte: int
    position: int
    seq: int | None
    was: bytes
    now: bytes

    def __str__(self) -> str:
        place = "tools or settings" if self.position == HEAD else f"node {self.position}"
        event = "" if self.seq is None else f", changed by event {self.seq}"
        rule = {
            "tape": "which may never change",
            "seal": "at the first step of a turn",
            "turn": "inside a turn",
        }[self.kind]
        return f"byte {self.byte} in {place}{event}, {rule}: was {self.was!r}, is {self.now!r}"


@dataclass(frozen=True, slots=True)
class Change:
    """A difference, `byte` bytes into the stream and in the piece of the node at `position`."""

    byte: int
    position: int
    was: bytes
    now: bytes


class PrefixCheck:
    """Compares the exact bytes of each request with those of the one before."""

    def __init__(self) -> None:
        self._head = b""
        self._pieces: list[bytes] | None = None
        self._tape = 0

    def check(self, stream: Sequence[bytes], step: Step = NO_STEP) -> Break | None:
        """Take the next request; a `Break` when it does not extend the last one.

        `stream` is what `pieces` gives: one piece for each node, then one for what was held
        back. The first request extends nothing and is never a break.
        """
        last, self._pieces = self._pieces, list(stream)
        head, self._head = self._head, step.head
        tape, self._tape = self._tape, sum(map(len, self._pieces[: step.tape]))
        if last is None:
            return None
        if head != step.head:
            return _in_head(head, step.head)
        same = 0
        for before, now in zip(last, self._pieces, strict=False):
            if before != now:
                break
            same += 1
        start = sum(map(len, last[:same]))
        change = first_change(iter(last[same:]), iter(self._pieces[same:]), same, start)
        nodes = len(self._pieces) - 1
        return _broken(change, nodes, tape, step) if change else None


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

    def check(self, step: Step = NO_STEP) -> Break | None:
        """Take the next request, which is the nodes as they stand now."""
        head, self._head = self._head, step.head
        change = None
        if head == step.head:
            change = self._change()
        tape = self._tape
        self._measure()
        self._tape = self._ends[min(step.tape, len(self._nodes))]
        self._same, self._sent = len(self._nodes), []
        if head is not None and head != step.head:
            return _in_head(head, step.head)
        return _broken(change, len(self._nodes), tape, step) if change else None

    def _change(self) -> Change | None:
        self._measure(self._same)
        at = self._same
        for before in self._sent:
            if at == len(self._nodes) or self._nodes[at] != before:
                break
            at += 1
        was, now = islice(self._sent, at - self._same, None), islice(self._nodes, at, None)
        self._measure(at)
        seam = self._seams[at]
        return first_change(
            pieces(self._wire, was, seam), pieces(self._wire, now, seam), at, self._ends[at]
        )

    def _measure(self, upto: int | None = None) -> None:
        """Know how many bytes stand before each node up to `upto`, or before and behind all."""
        for node in islice(self._nodes, len(self._ends) - 1, upto):
            piece, seam = self._wire.join(self._seams[-1], node)
            self._seams.append(seam)
            self._ends.append(self._ends[-1] + len(piece))


def first_change(
    was: Iterator[bytes], now: Iterator[bytes], position: int, start: int
) -> Change | None:
    """Where `now` stops repeating `was`; None when it repeats all of it.

    The first piece of `now` is the node at `position`, `start` bytes into the stream.
    """
    old, new, position = b"", b"", position - 1
    while True:
        while not old:
            following = next(was, None)
            if following is None:
                return None
            old = following
        while not new:
            following = next(now, None)
            position += 1
            if following is None:
                return Change(start, position, old[:_EXCERPT], b"")
            new = following
        shared = common(old, new)
        start, old, new = start + shared, old[shared:], new[shared:]
        if old and new:
            rest = b"".join(chain([old], islice(was, 2))), b"".join(chain([new], islice(now, 2)))
            return Change(start, position, rest[0][:_EXCERPT], rest[1][:_EXCERPT])


def _broken(change: Change, nodes: int, tape: int, step: Step) -> Break:
    """The break that a change is, when the tape of the request before had `tape` bytes."""
    at = min(change.position, nodes)
    kind: Kind = "seal" if step.first_in_turn else "turn"
    seq = step.cause(at) if step.cause and at < nodes else None
    return Break(
        kind="tape" if change.byte < tape else kind,
        byte=len(step.head) + change.byte,
        position=at,
        seq=seq,
        was=change.was,
        now=change.now,
    )


def _in_head(was: bytes, now: bytes) -> Break:
    first = common(was, now)
    excerpts = was[first : first + _EXCERPT], now[first : first + _EXCERPT]
    return Break("tape", first, HEAD, None, *excerpts)


def common(one: bytes, two: bytes) -> int:
    """How many bytes two texts share at their start."""
    most = min(len(one), len(two))
    low = 0
    while low < most and one[low : low + _BLOCK] == two[low : low + _BLOCK]:
        low += _BLOCK
    if low >= most:
        return most
    high = min(low + _BLOCK, most)
    if one[low:high] == two[low:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle
    return low
