"""What a view shows of a result when the model first sees it, by kind of line."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from slicetape.log.events import Event, ToolResult
from slicetape.policy.kind import SEARCH_TOOLS, is_source_path
from slicetape.policy.views.lines import bare_lines
from slicetape.policy.views.logs import likenesses
from slicetape.recall.records import result_blocks
from slicetape.replay.evidence.above import above
from slicetape.replay.evidence.lines import LINE_KINDS, kind_of, telling
from slicetape.replay.evidence.references import References
from slicetape.replay.evidence.tokens import said, tokens
from slicetape.replay.evidence.visible import Folded
from slicetape.surface import View

WHOLE = ("source", "error-result")
"""What must be shown whole: results are counted, not lines."""

KEPT = "kept-referenced"
"""Tokens that a later step refers to, of all results."""

NEEDLE = "needle"
"""Strings that generated transcripts plant in results, to be looked for; others have none."""

KINDS = (*LINE_KINDS, *WHOLE, KEPT, NEEDLE)

_PLANTED = re.compile(r"NEEDLE-[\w-]{1,80}")

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
            missing, grouped = self._missing(one, view, places[one.seq])
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
                whole = _whole(view, places[seq], event)
                rows = () if whole else _telling(view, places[seq], event)
                known = self._totals[seq] = Counter(kind for _, kind in rows)
                known[KEPT] = len(self._later.get(seq, ()))
                known[NEEDLE] = _planted(event).total()
                if whole:
                    known[whole] = 1

    def _missing(self, one: Folded, view: View, place: int) -> tuple[Counter[str], Counter[str]]:
        """By kind, what a view does not show, and how much of that is in the number of a group."""
        total = self._totals[one.seq]
        missing: Counter[str] = Counter({kind: 1 for kind in WHOLE if total[kind]})
        grouped: Counter[str] = Counter()
        unseen = self._later.get(one.seq, frozenset()) - one.shown
        missing[KEPT] = len(unseen)
        if total[NEEDLE]:
            planted = _planted(self.references.events[one.seq]) - _planted(one.view)
            missing[NEEDLE] = planted.total()
        lines = _lines(one.view)
        once = above(lines[1:], _lines(self.references.events[one.seq]))
        grouped[KEPT] = len(unseen & tokens("\n".join(once.lines)))
        if any(total[kind] for kind in WHOLE):
            grouped.update(kind for kind in WHOLE if total[kind] and once.complete)
            return missing, grouped & missing
        standing = Counter(lines)
        grouped.update(of for line in once.lines if (of := kind_of(line)))
        for line, kind in _telling(view, place, self.references.events[one.seq]):
            if standing[line]:
                standing[line] -= 1
            else:
                missing[kind] += 1
        for kind, hidden in _groups(lines):
            grouped[kind] += hidden
        return missing, grouped & missing


def _groups(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The kind of each group that a view counts, and how many of its lines are not shown."""
    if not any(map(_GROUP.match, lines)):
        return
    alike = likenesses(bare_lines(lines))
    often = Counter(alike)
    for at, line in enumerate(lines[1:]):
        group = _GROUP.match(line)
        kind = kind_of(lines[at]) if group else None
        if group and kind:
            yield kind, max(0, int(group[1]) - often[alike[at]])


def _lines(event: Event) -> list[str]:
    return [line.removesuffix("\r") for text in said(event) for line in text.split("\n")]


def _planted(event: Event) -> Counter[str]:
    return Counter(found for text in said(event) for found in _PLANTED.findall(text))


def _telling(view: View, seq: int, event: Event) -> Iterator[tuple[str, str]]:
    """The lines of a result that have a kind; what a search found and JSON are no such lines."""
    if not _is_search(view, seq):
        for text in said(event):
            if not _is_json(text):
                yield from telling(text)


def _whole(view: View, seq: int, event: ToolResult) -> str | None:
    """What a result is that must be shown whole; None when lines of it may be left out."""
    if any(block.is_error for block in result_blocks(event)):
        return "error-result"
    calls = [call for call in view.calls.answered.get(seq, ()) if call is not None]
    source = any(is_source_path(_path(call.arguments)) for call in calls)
    return "source" if source and not _is_search(view, seq) else None


def _is_search(view: View, seq: int) -> bool:
    return any(name.lower() in SEARCH_TOOLS for name in view.calls.names.get(seq, ()))


def _is_json(text: str) -> bool:
    bare = text.strip()
    return bare[:1] in ("{", "[") and bare[-1:] in ("}", "]")


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
