"""Old seqs to new ones, and every place of an event that cites a seq.

Text is never touched: a seq printed in an old entry keeps meaning the old file, and the
map tells where its event stands now.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from slicetape.log.seqs import pack
from slicetape.log.upgrade.rows import Json, Row, damaged, is_count, unsupported

PackedList = list[int | list[int]]


class SeqMap:
    """Which seq an event has now. Runs are kept, not events: memory grows with the gaps."""

    def __init__(self) -> None:
        self._olds: list[int] = []
        self._news: list[int] = []
        self._sizes: list[int] = []

    def add(self, old: int, new: int) -> None:
        """Note that `old` is `new` now. Cheap while both grow from one call to the next."""
        at = len(self._olds)
        if at and old < self._olds[-1]:
            at = bisect_right(self._olds, old)
        elif at and self._olds[-1] + self._sizes[-1] == old and self._follows(new):
            self._sizes[-1] += 1
            return
        self._olds.insert(at, old)
        self._news.insert(at, new)
        self._sizes.insert(at, 1)

    def _follows(self, new: int) -> bool:
        return self._news[-1] + self._sizes[-1] == new

    def get(self, old: int) -> int | None:
        """The seq now, or None when the event is no event of its own any more."""
        at = bisect_right(self._olds, old) - 1
        if at < 0 or old - self._olds[at] >= self._sizes[at]:
            return None
        return self._news[at] + old - self._olds[at]

    def runs(self) -> list[list[int]]:
        """The map as `[first old, last old, first new]` rows, as `x/import` stores it."""
        rows = zip(self._olds, self._sizes, self._news, strict=True)
        return [[old, old + size - 1, new] for old, size, new in rows]


def seq_now(runs: Sequence[Sequence[int]], old: int) -> int | None:
    """Look `old` up in the `seqMap` of an `x/import` event.

    None where the event was folded into another one. The answer explains an old locator;
    it must not be followed in its place.
    """
    at = bisect_right(runs, old, key=lambda run: run[0]) - 1
    if at < 0 or old > runs[at][1]:
        return None
    return runs[at][2] + old - runs[at][0]


def spans(row: Row, value: Any, *, below: int) -> list[tuple[int, int]]:
    """A packed list as spans of consecutive seqs, in the order cited, each under `below`."""
    if not isinstance(value, list):
        raise damaged(row, "a list of seqs is expected")
    out: list[tuple[int, int]] = []
    for entry in value:
        pair = entry if isinstance(entry, list) else [entry, entry]
        if len(pair) != 2 or not all(is_count(seq) for seq in pair):
            raise damaged(row, "a list of seqs holds something else")
        first, last = pair
        if last < first or last >= below:
            raise damaged(row, "a cited seq is not earlier than the event")
        if out and out[-1][1] + 1 == first:
            out[-1] = (out[-1][0], last)
        else:
            out.append((first, last))
    return out


def expand(row: Row, value: Any, *, below: int) -> list[int]:
    """The seqs of a packed list. Hostile ranges are bounded by the event's own seq."""
    cited = spans(row, value, below=below)
    if sum(last - first + 1 for first, last in cited) > below:
        raise damaged(row, "more seqs are cited than there are earlier events")
    return [seq for first, last in cited for seq in range(first, last + 1)]


def packed(seqs: Sequence[int]) -> PackedList:
    """A list of seqs as a log writes it."""
    return [list(entry) if isinstance(entry, tuple) else entry for entry in pack(seqs)]


def renumbered(row: Row, seq: int, get: Callable[[int], int | None]) -> Json:
    """The row's event under the number `seq`, with every declared reference mapped.

    UnsupportedFormat when it cites an event that is none any more. An ignorable event may
    cite such events; it loses the citation.
    """
    event = row.event
    old: int = event["seq"]
    ignorable = event.get("ignorable") is True

    def one(value: Any) -> int:
        if not is_count(value) or value >= old:
            raise damaged(row, "a cited seq is not earlier than the event")
        new = get(value)
        if new is None:
            raise unsupported(row, f"it cites seq {value}, which became part of another event")
        return new

    def many(value: Any) -> list[int]:
        return [one(cited) for cited in expand(row, value, below=old)]

    out = {**event, "seq": seq}
    sources = out.get("sourceEventSeqs")
    if sources is not None:
        cited = expand(row, sources, below=old)
        if ignorable:
            cited = [source for source in cited if get(source) is not None]
        out["sourceEventSeqs"] = packed([one(source) for source in cited])
        if not out["sourceEventSeqs"]:
            del out["sourceEventSeqs"]
    if isinstance(out.get("surfaceOp"), dict):
        out["surfaceOp"] = {
            key: value if key == "op" else one(value) for key, value in out["surfaceOp"].items()
        }
    if not ignorable:
        out["data"] = _payload(row, one, many)
    return out


def _payload(row: Row, one: Callable[[Any], int], many: Callable[[Any], list[int]]) -> Json:
    data = row.data
    match row.kind:
        case "command/done" if "sourceEventSeq" in data:
            return {**data, "sourceEventSeq": one(data["sourceEventSeq"])}
        case "compaction/prune" | "compaction/summary":
            span = data.get("shadowedRange")
            if not isinstance(span, dict):
                raise damaged(row, "shadowedRange must be an object")
            return {
                **data,
                "shadowedRange": {key: one(value) for key, value in span.items()},
                "shadowedSeqs": many(data.get("shadowedSeqs")),
            }
        case "session/title" | "session/title-llm-request" if "messageSeqs" in data:
            return {**data, "messageSeqs": many(data["messageSeqs"])}
        case "image/offload" if isinstance(data.get("targets"), list):
            return {**data, "targets": [_target(target, one) for target in data["targets"]]}
    return data


def _target(target: Any, one: Callable[[Any], int]) -> Any:
    if isinstance(target, dict) and "seq" in target:
        return {**target, "seq": one(target["seq"])}
    return target
