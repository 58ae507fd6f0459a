"""What a view shows of a result when the model first sees it, by kind of line."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import msgspec

from slicetape.log.events import Event, ToolResult
from slicetape.policy.kind import is_source_path
from slicetape.recall.records import result_blocks
from slicetape.replay.evidence.lines import LINE_KINDS, Classify, kind_of, likeness, telling
from slicetape.replay.evidence.references import References
from slicetape.replay.evidence.tokens import said
from slicetape.replay.evidence.visible import Folded
from slicetape.surface import View

WHOLE = ("source", "error-result")
"""What must be shown whole: results are counted, not lines."""

KEPT = "kept-referenced"
"""Tokens that a later step refers to, of all results."""

KINDS = (*LINE_KINDS, *WHOLE, KEPT)

_GROUP = re.compile(r"…\[×([0-9]{1,12}) like the line above")


class Shown(msgspec.Struct, frozen=True):
    """Of `total`, how many stood in the view, and how many only in the number of a group."""

    shown: int = 0
    counted: int = 0
    total: int = 0

    def __add__(self, other: "Shown") -> "Shown":
        return Shown(
            self.shown + other.shown, self.counted + other.counted, self.total + other.total
        )


@dataclass(slots=True)
class Fidelity:
    """First sights of one recording. The results are looked through once, for all arms.

    `view` is that of any arm, for the calls that results answer; `place` finds a result there.
    """

    references: References
    classify: Classify = kind_of
    _totals: dict[int, Counter[str]] = field(default_factory=dict)
    _later: Mapping[int, frozenset[str]] = field(default_factory=dict)

    def of(
        self, view: View, places: Mapping[int, int], folded: Sequence[Folded]
    ) -> dict[str, Shown]:
        """What was shown at first sight of all results, when `folded` were views then."""
        self._count(view, places)
        lost: Counter[str] = Counter()
        counted: Counter[str] = Counter()
        for one in folded:
            missing, grouped = self._missing(one)
            lost += missing
            counted += grouped
        totals: Counter[str] = sum(self._totals.values(), Counter())
        return {
            kind: Shown(totals[kind] - lost[kind], counted[kind], totals[kind])
            for kind in KINDS
            if totals[kind]
        }

    def _count(self, view: View, places: Mapping[int, int]) -> None:
        if self._totals:
            return
        self._later = self.references.later()
        for seq, event in self.references.events.items():
            if isinstance(event, ToolResult):
                known = self._totals[seq] = Counter()
                known[KEPT] = len(self._later.get(seq, ()))
                if any(block.is_error for block in result_blocks(event)):
                    known["error-result"] = 1
                elif _is_source(view, places[seq]):
                    known["source"] = 1
                else:
                    known.update(kind for text in said(event) for _, kind in self._telling(text))

    def _telling(self, text: str) -> list[tuple[str, str]]:
        return list(telling(text, self.classify))

    def _missing(self, one: Folded) -> tuple[Counter[str], Counter[str]]:
        """By kind, what a view does not show, and how much of that is in the number of a group."""
        total = self._totals[one.seq]
        missing: Counter[str] = Counter({kind: 1 for kind in WHOLE if total[kind]})
        grouped: Counter[str] = Counter()
        missing[KEPT] = len(self._later.get(one.seq, frozenset()) - one.shown)
        if any(total[kind] for kind in WHOLE):
            return missing, grouped
        lines = _lines(one.view)
        standing = Counter(lines)
        for line, kind in self._lines_of(self.references.events[one.seq]):
            if standing[line]:
                standing[line] -= 1
            else:
                missing[kind] += 1
        for kind, hidden in self._groups(lines):
            grouped[kind] += hidden
        return missing, grouped & missing

    def _lines_of(self, event: Event) -> list[tuple[str, str]]:
        return [row for text in said(event) for row in self._telling(text)]

    def _groups(self, lines: Sequence[str]) -> list[tuple[str, int]]:
        """The kind of each group that a view counts, and how many of its lines are not shown."""
        found: list[tuple[str, int]] = []
        alike = Counter(likeness(line) for line in lines)
        for above, line in pairwise(lines):
            group = _GROUP.match(line)
            kind = self.classify(above) if group else None
            if group and kind:
                found.append((kind, max(0, int(group[1]) - alike[likeness(above)])))
        return found


def _lines(view: ToolResult) -> list[str]:
    return [line.removesuffix("\r") for text in said(view) for line in text.split("\n")]


def _is_source(view: View, seq: int) -> bool:
    """Whether a result answers a call on a file of source code."""
    for call in view.calls.answered.get(seq, ()):
        if call is not None and is_source_path(_path(call.arguments)):
            return True
    return False


def _path(arguments: str) -> str | None:
    try:
        found = msgspec.json.decode(arguments, type=_Path)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    paths = (found.file_path, found.path, found.filePath, found.filename)
    return next((path for path in paths if isinstance(path, str)), None)


class _Path(msgspec.Struct):
    file_path: object = None
    path: object = None
    filePath: object = None  # noqa: N815
    filename: object = None
