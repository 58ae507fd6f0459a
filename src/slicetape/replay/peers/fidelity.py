"""What is shown of each result in the first request that has it: lines that matter, whole sources.

The lines are those that the survey of peers counted. A line is shown when its own text stands in
what is shown. A result that never comes is shown not at all.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from slicetape.replay.peers.measure import read
from slicetape.replay.peers.requests import ChatRequest, Item

_NEEDLE = re.compile(r"NEEDLE-[\w-]{1,80}")
_READING = ("read", "view", "open", "cat")
_PATH_KEYS = ("path", "file_path", "filePath", "filename")
_SOURCE = re.compile(
    r"\.(c|cc|cpp|cs|css|go|h|hpp|html|java|js|jsx|kt|lua|php|pl|py|rb|rs|scala|sh|sql|swift|ts"
    r"|tsx|vue|zig)\Z"
)
_LINES: Mapping[str, Callable[[str], bool]] = {
    "errors": lambda line: " ERROR " in line,
    "warnings": lambda line: " WARNING " in line,
    "failures": lambda line: line.startswith("E       ") or "FAILED" in line,
}
KINDS = (*_LINES, "sources", "needles", "results")
"""What is counted: lines of three kinds, sources shown whole, planted words, whole results."""


class Shown(msgspec.Struct, frozen=True):
    """How many of how many are shown."""

    shown: int
    of: int


@dataclass(frozen=True, slots=True)
class Truth:
    """What one result holds, as it came."""

    text: str
    source: bool
    marks: Mapping[str, tuple[str, ...]]


class Truths:
    """The results of a session by the id of their call; the first where ids repeat."""

    def __init__(self) -> None:
        self.by_call: dict[str, Truth] = {}
        self._sources: set[str] = set()

    @classmethod
    def of(cls, requests: Iterable[ChatRequest]) -> "Truths":
        """The results in requests that show everything."""
        found = cls()
        for request in requests:
            for item in request.add:
                found.take(item)
        return found

    def take(self, item: Item) -> None:
        """Note the calls or the result of a message."""
        if item.json.startswith(b'{"role":"assistant"'):
            self._sources.update(_source_calls(item.json))
        result = result_of(item.json)
        if result is not None:
            id, text = result
            truth = Truth(text, id in self._sources, _marks(text))
            self.by_call.setdefault(id, truth)


class FirstSight:
    """Counts what one row shows of the results of `truths`, at first sight."""

    def __init__(self, truths: Truths) -> None:
        self._truths = truths
        self._seen: set[str] = set()
        self._counts = dict.fromkeys(KINDS, 0)

    def take(self, message: bytes) -> None:
        """See a message that was not in an earlier request in this form."""
        result = result_of(message)
        if result is None or result[0] in self._seen:
            return
        truth = self._truths.by_call.get(result[0])
        if truth is None:
            return
        self._seen.add(result[0])
        text, counts = result[1], self._counts
        whole = text == truth.text
        counts["results"] += whole
        counts["sources"] += whole and truth.source
        for kind, marks in truth.marks.items():
            counts[kind] += len(marks) if whole else sum(mark in text for mark in marks)

    def figures(self) -> dict[str, Shown]:
        """What was shown; kinds that the session has none of are left out."""
        of = dict.fromkeys(KINDS, 0)
        for truth in self._truths.by_call.values():
            of["results"] += 1
            of["sources"] += truth.source
            for kind, marks in truth.marks.items():
                of[kind] += len(marks)
        return {kind: Shown(self._counts[kind], of[kind]) for kind in KINDS if of[kind]}


def result_of(message: bytes) -> tuple[str, str] | None:
    """The call and the text of a tool message; None for any other message."""
    if b'"tool_call_id"' not in message:
        return None
    said = read(message)
    if said.role != "tool" or said.tool_call_id is None:
        return None
    return said.tool_call_id, said.text


def _marks(text: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {kind: [] for kind in _LINES}
    for line in text.split("\n"):
        for kind, fits in _LINES.items():
            if fits(line):
                found[kind].append(line.strip())
    marks = {kind: tuple(lines) for kind, lines in found.items()}
    return marks | {"needles": tuple(_NEEDLE.findall(text))}


def _source_calls(message: bytes) -> Iterable[str]:
    """The ids of calls that read a file of source code."""
    for call in json.loads(message).get("tool_calls") or ():
        function = call["function"]
        if not any(word in function["name"].lower() for word in _READING):
            continue
        try:
            arguments = json.loads(function["arguments"])
        except (ValueError, RecursionError):
            continue
        if isinstance(arguments, dict) and _names_source(arguments):
            yield call["id"]


def _names_source(arguments: Mapping[str, object]) -> bool:
    paths = (arguments.get(key) for key in _PATH_KEYS)
    return any(isinstance(path, str) and _SOURCE.search(path) for path in paths)
