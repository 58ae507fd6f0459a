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

`PrefixCheck` compares the bytes themselves, for a live loop. `prefix_edits.IncrementalPrefix` is
told the edits and compares what was edited, for replay; both give the same answer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

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
        """Compare the next request; a `Break` when it does not extend the last one.

        `stream` is what `pieces` gives: one piece for each node, then one for what was held
        back. The first request extends nothing and is never a break. Nothing is remembered
        before `sent` says that the request went out.
        """
        if self._pieces is None:
            return None
        if self._head != step.head:
            return in_head(self._head, step.head)
        same = 0
        for before, now in zip(self._pieces, stream, strict=False):
            if before != now:
                break
            same += 1
        start = sum(map(len, self._pieces[:same]))
        change = first_change(iter(self._pieces[same:]), iter(stream[same:]), same, start)
        return broken(change, len(stream) - 1, self._tape, step) if change else None

    def sent(self, stream: Sequence[bytes], step: Step = NO_STEP) -> None:
        """Take this request as the one that the next has to extend."""
        self._head, self._pieces = step.head, list(stream)
        self._tape = sum(map(len, self._pieces[: step.tape]))


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
        shared = shared_bytes(old, new)
        start, old, new = start + shared, old[shared:], new[shared:]
        if old and new:
            rest = b"".join(chain([old], islice(was, 2))), b"".join(chain([new], islice(now, 2)))
            return Change(start, position, rest[0][:_EXCERPT], rest[1][:_EXCERPT])


def broken(change: Change, nodes: int, tape: int, step: Step) -> Break:
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


def in_head(was: bytes, now: bytes) -> Break:
    """The break of a head that is not what it was."""
    first = shared_bytes(was, now)
    excerpts = was[first : first + _EXCERPT], now[first : first + _EXCERPT]
    return Break("tape", first, HEAD, None, *excerpts)


def shared_bytes(one: bytes, two: bytes) -> int:
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
