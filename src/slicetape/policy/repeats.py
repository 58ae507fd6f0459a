"""Lines that stand above: said once, and counted where they come again.

A file that is read again, or read after it was written, repeats what the request shows already.
Of such a run the first line is kept, and a marker counts the lines that follow it as they do
above. Nothing is hidden: they stand, whole, in an earlier result or call of the turn, or in a
message. Work is proportional to the lines of the new text.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from slicetape.log.events import ToolResult
from slicetape.log.messages import Message

_FEWEST_LINES, _FEWEST_CHARS = 2, 70
"""Fewer lines, or fewer characters, are shown again."""

_SHORTEST_FIRST = 12
"""Characters of a line that may begin a run, without its number."""

_DEEPEST = 4
_NUMBER = re.compile(r"( *)([0-9]{1,9})(→|\t|: |\| |[:|])")


@dataclass(slots=True)
class Shown:
    """What the surface shows of the original event at `seq`: its own text, or that of `view`.

    `node` is the event that carries the view; `gone` the one that put something else in its place.
    """

    seq: int
    view: Message | None = None
    node: int | None = None
    gone: int | None = None


Stands = Callable[[Shown], bool]
"""Whether an event still shows, in the request that is about to be sent, what it showed."""


@dataclass(slots=True)
class _Lines:
    """Lines as they stand, one event after the other; None where one text ends."""

    lines: list[str | None] = field(default_factory=list)
    last: dict[str, int] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)

    def add(self, shown: Shown, texts: Iterable[str]) -> None:
        last, lines = self.last, self.lines
        self.starts.append(len(lines))
        self.shown.append(shown)
        for text in texts:
            for line in text.split("\n"):
                if _is_marker(line):
                    lines.append(None)
                    continue
                bare = _bare(line)
                if len(bare) >= _SHORTEST_FIRST:
                    last[bare] = len(lines)
                lines.append(line)
            lines.append(None)

    def find(self, bare: str) -> tuple[Shown, int] | None:
        """The event that shows the last copy of a line, and where its lines have it."""
        at = self.last.get(bare)
        return None if at is None else (self.shown[bisect_right(self.starts, at) - 1], at)


@dataclass(slots=True)
class Repeats:
    """The lines that stand: of messages for good, of calls and results for one turn."""

    _turn: int = 0
    _messages: _Lines = field(default_factory=_Lines)
    _results: _Lines = field(default_factory=_Lines)
    _here: set[str] = field(default_factory=set)
    """Lines of the next event itself, which stand nearer than any above it."""

    def enter(self, turn: int) -> None:
        """Say which turn the next event is of; what calls and results before it showed is gone."""
        self._here.clear()
        if turn != self._turn:
            self._turn = turn
            self._results = _Lines()

    def add(self, shown: Shown, texts: Iterable[str]) -> None:
        """Take in the texts of a call or result as the surface shows them."""
        self._results.add(shown, texts)

    def add_message(self, seq: int, texts: Iterable[str]) -> None:
        """Take in the texts of a message that no policy moves."""
        self._messages.add(Shown(seq), texts)

    def settle(self, replaced: Mapping[int, ToolResult]) -> None:
        """Learn what was put in the place of results, by the seq of the original."""
        for shown in self._results.shown if replaced else ():
            by = replaced.get(shown.seq)
            if by is not None and by.data.message == shown.view:
                shown.node = by.seq
            elif by is not None:
                shown.gone = by.seq

    def said_once(self, text: str, stands: Stands) -> tuple[str, int] | None:
        """The text without what stands above, and how many lines that leaves out; None if none."""
        if not (self._results.last or self._messages.last):
            return None
        lines = text.split("\n")
        kept: list[str] = []
        left_out = at = 0
        while at < len(lines):
            kept.append(lines[at])
            end, how = self._run(lines, at, stands)
            if end > at + 1:
                kept.append(marker(lines[at + 1 : end], how))
                left_out += end - at - 1
            at = end
        return ("\n".join(kept), left_out) if left_out else None

    def _run(self, lines: Sequence[str], at: int, stands: Stands) -> tuple[int, str]:
        """Where the run that begins at `at` ends, and how it differs; the next line for no run.

        It is found by its first line: below the last copy of it that stands above.
        """
        bare = _bare(lines[at])
        near = bare in self._here
        self._here.add(bare)
        found = None if near else self._above(bare)
        if found is None or not stands(found[0]):
            return at + 1, ""
        how, expected = _expected(lines[at], found[1].lines, found[2])
        end = at + 1
        for line in expected:
            if end == len(lines) or line != lines[end]:
                break
            end += 1
        again = lines[at + 1 : end]
        enough = len(again) >= _FEWEST_LINES and sum(map(len, again)) >= _FEWEST_CHARS
        return (end, how) if enough else (at + 1, "")

    def _above(self, bare: str) -> tuple[Shown, _Lines, int] | None:
        """What shows the last copy of a line, and where."""
        pairs = ((rows, rows.find(bare)) for rows in (self._results, self._messages))
        found = [(at[0], rows, at[1]) for rows, at in pairs if at]
        return max(found, key=lambda row: row[0].seq, default=None)


def marker(lines: Sequence[str], how: str = "") -> str:
    """The marker for lines that stand above: how many, and their characters with line ends."""
    return f"…[+{len(lines)} lines / {sum(map(len, lines)) + len(lines)} chars as above{how}]…"


def strings(value: object, depth: int = 0) -> Iterator[str]:
    """The texts of several lines among the arguments of a call."""
    if isinstance(value, str):
        if "\n" in value:
            yield value
    elif depth < _DEEPEST and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item, depth + 1)


def _expected(line: str, old: Sequence[str | None], above: int) -> tuple[str, Iterator[str]]:
    """How lines that follow `line` differ from those above, and what they are if they repeat."""
    number = _NUMBER.match(line)
    following = _following(old, above + 1)
    if line == old[above]:
        return "", following
    if number is None:
        return ", without numbers", map(_bare, following)
    start, width = int(number[2]) + 1, len(number[1] + number[2]) if number[1] else 0
    numbered = (f"{n:>{width}}{number[3]}{_bare(of)}" for n, of in enumerate(following, start))
    return ", numbered on", numbered


def _following(old: Sequence[str | None], at: int) -> Iterator[str]:
    """The lines from `at` on, up to where the text ends or others are left out."""
    while (line := old[at]) is not None:
        yield line
        at += 1


def _bare(line: str) -> str:
    """A line without the number that a tool put before it."""
    number = _NUMBER.match(line)
    return line[number.end() :] if number else line


def _is_marker(line: str) -> bool:
    """Whether a line of a shown text may be ours, and so stands for others."""
    if "…[" in line or line.startswith("[... and "):
        return True
    return line.startswith("[") and (
        line.endswith(" returns the full text]") or " lines omitted: " in line
    )
