"""Format 1 to 2: the deltas of a model call move into its message, and seqs close up.

What a call streamed without a message becomes one `assistant/attempt` where its last delta
stood. Only the attempt that is open is held in memory.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from slicetape.log.upgrade.restart import Restarts
from slicetape.log.upgrade.rows import PACKED, Json, Row, damaged, members, unsupported
from slicetape.log.upgrade.seqs import SeqMap, renumbered, spans
from slicetape.log.upgrade.stream import Stream

_SETTLES = frozenset({"turn/start", "turn/end", "step/end", "llm/retry", "llm/retry-started"})


@dataclass(slots=True)
class _Attempt:
    """The deltas of one model call so far, and events that came since the last of them."""

    line: int
    turn: object
    step: object
    spans: list[tuple[int, int]] = field(default_factory=list)
    stream: Stream = field(default_factory=Stream)
    time: int = 0
    finished: bool = False
    held: list[Row] = field(default_factory=list)

    def add(self, row: Row) -> None:
        first, last = row.origin, row.origin + members(row) - 1
        if self.spans and self.spans[-1][1] + 1 == first:
            self.spans[-1] = (self.spans[-1][0], last)
        else:
            self.spans.append((first, last))
        if row.kind in PACKED:
            self.time = self.stream.packed(row)
        else:
            self.time = self.stream.chunk(row)
            self.finished = row.data["chunk"].get("type") == "finish"


def embed_streams(rows: Iterable[Row], *, seed_length: int | None) -> Iterator[Row]:
    """The rows of a format 1 file as format 2 says them.

    `seed_length` is the header's count of inherited events, None in a session that
    inherited nothing. UnsupportedFormat where an event cites a delta, or a message cites
    other deltas than its attempt has.
    """
    folding = _Folding(seed_length)
    for row in rows:
        yield from folding.take(row)
    yield from folding.end()


class _Folding:
    def __init__(self, seed_length: int | None) -> None:
        self._cut = seed_length
        self._marked = seed_length is None
        self._open: _Attempt | None = None
        self._restarts = Restarts()
        self._map = SeqMap()
        self._next = 0
        self._last = (0, 0)

    def take(self, row: Row) -> Iterator[Row]:
        kind = row.kind
        closing = self._restarts.closing(row.event)
        self._last = (row.line, row.event.get("time", self._last[1]))
        if kind in PACKED or kind == "assistant/chunk":
            yield from self._delta(row)
            return
        if kind == "assistant/message":
            yield from self._message(row)
            return
        if kind in _SETTLES:
            yield from self._settle()
        elif self._open is not None:
            self._open.held.append(row)
            return
        if closing is not None:
            yield from self._emit(row, closing, stands_for=False)
        yield from self._survivor(row)

    def end(self) -> Iterator[Row]:
        yield from self._settle()
        if not self._marked:
            line, time = self._last
            self._marked = True
            yield self._marker(line, time)

    def _delta(self, row: Row) -> Iterator[Row]:
        turn, step = row.data.get("turn"), row.data.get("step")
        attempt = self._open
        if attempt is None or attempt.finished or (attempt.turn, attempt.step) != (turn, step):
            yield from self._settle()
            attempt = self._open = _Attempt(row.line, turn, step)
        yield from self._release(attempt)
        self._same_side(row, attempt.spans[0][0] if attempt.spans else row.origin)
        self._same_side(row, row.origin + members(row) - 1)
        attempt.add(row)

    def _message(self, row: Row) -> Iterator[Row]:
        attempt = self._open
        where = (row.data.get("turn"), row.data.get("step"))
        cited = row.event.get("sourceEventSeqs")
        claims = attempt is not None and (attempt.turn, attempt.step) == where and cited != []
        if cited:
            wanted = spans(row, cited, below=row.origin)
            if not claims or attempt is None or attempt.spans != wanted:
                raise unsupported(row, "it does not cite the deltas of one whole model call")
        if attempt is None or not claims:
            yield from self._settle()
            records: list[Json] = []
        else:
            self._same_side(row, attempt.spans[0][0])
            yield from self._release(attempt)
            records = attempt.stream.records
            self._open = None
        event = {key: value for key, value in row.event.items() if key != "sourceEventSeqs"}
        yield from self._emit(row, {**event, "data": {**row.data, "stream": records}})

    def _settle(self) -> Iterator[Row]:
        """What was streamed without a message becomes an attempt."""
        attempt, self._open = self._open, None
        if attempt is None:
            return
        last = attempt.spans[-1][1]
        data = {"turn": attempt.turn, "step": attempt.step, "stream": attempt.stream.records}
        event = {"type": "assistant/attempt", "seq": last, "time": attempt.time, "data": data}
        yield from self._emit(Row(attempt.line, last, event), event, stands_for=False)
        yield from self._release(attempt)

    def _release(self, attempt: _Attempt) -> Iterator[Row]:
        held, attempt.held = attempt.held, []
        for row in held:
            yield from self._survivor(row)

    def _survivor(self, row: Row) -> Iterator[Row]:
        goal = _goal_change(row)
        if goal is None:
            yield from self._emit(row, row.event)
            return
        change, message = goal
        yield from self._emit(row, change, stands_for=False)
        yield from self._emit(row, message)

    def _emit(self, row: Row, event: Json, *, stands_for: bool = True) -> Iterator[Row]:
        """One event under its new number, behind the mark of the inherited cut if it is due."""
        if not self._marked and self._cut is not None and row.origin >= self._cut:
            self._marked = True
            if row.origin == self._cut and event["type"] == "session/end-seed":
                event = {**event, "data": {"inherited": True}}
            else:
                yield self._marker(row.line, event["time"])
        seq, self._next = self._next, self._next + 1
        if stands_for:
            self._map.add(row.origin, seq)
        moved = renumbered(Row(row.line, row.origin, event), seq, self._map.get)
        yield Row(row.line, row.origin if stands_for else -1, moved)

    def _marker(self, line: int, time: int) -> Row:
        seq, self._next = self._next, self._next + 1
        data = {"inherited": True}
        return Row(line, -1, {"type": "session/end-seed", "seq": seq, "time": time, "data": data})

    def _same_side(self, row: Row, seq: int) -> None:
        if self._cut is not None and (seq < self._cut) != (row.origin < self._cut):
            raise damaged(row, f"seedLength {self._cut} splits a model call")


def _goal_change(row: Row) -> tuple[Json, Json] | None:
    """A message that also set a goal, as the goal event and the plain message."""
    source = row.data.get("source") if row.kind == "user/message" else None
    if not isinstance(source, dict) or source.get("kind") != "goal":
        return None
    change = source.get("change")
    if not isinstance(change, dict):
        return None
    event = row.event
    goal = {"type": "goal/change", "seq": event["seq"], "time": event["time"], "data": change}
    data = {**row.data, "source": {"kind": "plugin", "plugin": "goal"}}
    return goal, {**event, "data": data}
