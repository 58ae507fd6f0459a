"""Which lines of a view, an entry or a summary stand in what it stands for.

Text that a policy wrote shows a word only where the original line is still to be read: whole, cut
by the marker of long lines, or as an item of JSON that kept its bytes. A list of names shows none.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from slicetape.replay.evidence.tokens import contained, tokens

Lines = Mapping[str, frozenset[str]]
"""Lines that stand in the original, and the tokens that each of them shows."""

_CUT = re.compile(r" ?…\[\+([0-9]{1,12}) chars([^\]\n]{0,40})\]… ?")
_SHORT_REPLY = re.compile(r"\[reply step [0-9]{1,15} seq [0-9]{1,15}\] ")
_READS = "[files read this turn: "
_READ = re.compile(
    r"(?:\[files read this turn: |\), )(.{1,200}?) \([0-9]{1,12} lines, [0-9a-f]{8}, "
)
_SHORTENED = "…[label shortened]"
_MOST_FAILED_ITEMS = 16
"""Lines that look like JSON and stand nowhere, after which no more are looked for."""


class Originals:
    """The texts that a written text stands for; what is asked of them is worked out when asked."""

    def __init__(self, texts: Callable[[], Iterable[str]], earlier: Sequence[Lines] = ()) -> None:
        self._texts = texts
        self._earlier = earlier

    def shows(self, line: str, named: frozenset[str], *, items: bool = True) -> frozenset[str]:
        """Which of the tokens `named` in `line` it shows; none when it does not stand in it.

        Without `items` it is not looked for among the items of JSON.
        """
        whole = line in self._lines or any(line in lines for lines in self._earlier)
        if whole:
            return named
        cut = _CUT.search(line)
        if cut:
            return named & self._of_cut(line[: cut.start()], line[cut.end() :], cut)
        return named if items and self._is_item(line) else frozenset()

    @cached_property
    def _lines(self) -> frozenset[str]:
        return frozenset(line for text in self._texts() for line in lines_of(text))

    @cached_property
    def _by_length(self) -> Mapping[int, Sequence[str]]:
        """The original lines by length."""
        found: dict[int, list[str]] = {}
        for line in self._lines:
            found.setdefault(len(line), []).append(line)
        return found

    @cached_property
    def _squeezed(self) -> str:
        """The original texts without blanks, which no item keeps where they mean nothing."""
        return "\n".join("".join(text.split()) for text in self._texts())

    def _of_cut(self, head: str, tail: str, cut: re.Match[str]) -> set[str]:
        """The tokens of the original line that begins with `head` and ends with `tail`.

        A reply that an entry cut may begin and end in different lines.
        """
        if not cut[2]:
            same = self._by_length.get(len(head) + int(cut[1]) + len(tail), ())
            whole = (line for line in same if line.startswith(head) and line.endswith(tail))
            return tokens(next(whole, ""))
        begins = next((line for line in self._lines if line.startswith(head)), None)
        ends = next((line for line in self._lines if line.endswith(tail)), None)
        if begins is None or ends is None:
            return set()
        return tokens(begins) | tokens(ends)

    def _is_item(self, line: str) -> bool:
        """Whether a line is an item of JSON that stands in the original, blanks left aside."""
        item = line.strip().removesuffix(",")
        if item[:1] not in ("{", "[") or item[-1:] not in ("}", "]"):
            return False
        return "".join(item.split()) in self._squeezed


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text, without what ends them."""
    return (line.removesuffix("\r") for line in text.split("\n"))


def standing(texts: Iterable[str], originals: Originals, wanted: frozenset[str]) -> Lines:
    """The lines of the written `texts` that show any of the tokens `wanted`."""
    found: dict[str, frozenset[str]] = {}
    failed = 0
    for text in texts:
        if not contained(text, wanted):
            continue
        for line in lines_of(text):
            named = contained(line, wanted)
            if not named:
                continue
            bare = _unwrapped(line)
            shown = originals.shows(bare, named, items=failed < _MOST_FAILED_ITEMS)
            if not shown and bare.startswith(_READS):
                shown = named & _read_paths(bare)
            if shown:
                found[bare] = shown
            elif bare[:1] in ("{", "["):
                failed += 1
    return found


def _unwrapped(line: str) -> str:
    """A reply without what a compact entry writes before it on the same line."""
    wrapped = _SHORT_REPLY.match(line)
    return line[wrapped.end() :] if wrapped else line


def _read_paths(line: str) -> set[str]:
    """The tokens of the paths in a read index; the end of a shortened path is no token."""
    found: set[str] = set()
    for path in _READ.findall(line):
        if path.endswith(_SHORTENED):
            path = re.sub(r"[A-Za-z0-9_./:\-]*$", "", path.removesuffix(_SHORTENED))
        found |= tokens(path)
    return found
