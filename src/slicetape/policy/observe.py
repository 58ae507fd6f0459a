"""Read observations: what a file-reading tool returned, taken from the log once each.

Binding is by execution (turn, step, call id), never by a call id alone, since models reuse ids.
"""

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from slicetape.log.events import Dispatch, Event, ToolResult
from slicetape.log.messages import Block, Text, ToolResultBlock
from slicetape.policy.fingerprint import fingerprint
from slicetape.surface.calls import Call
from slicetape.surface.view import View

READ_TOOLS = frozenset({"read", "read_section", "read_file"})
PATH_KEYS = ("path", "file_path", "filePath")


@dataclass(frozen=True, slots=True)
class Observation:
    """One successful read: identity, place and fingerprint of the text returned.

    `block` is the result block from 1; None for a read made by running code (`code log`).
    """

    target: str
    tool: str
    window: str
    turn: int
    step: int
    seq: int
    block: int | None
    digest: str
    lines: int

    @property
    def key(self) -> tuple[str, str, str, bool]:
        """What two reads must share to be compared: target, tool, window and channel."""
        return self.target, self.tool, self.window, self.block is None


class _History:
    """The reads of one key: the last of each turn, by the turn's first appearance."""

    __slots__ = ("_ascending", "_last", "_turns")

    def __init__(self) -> None:
        self._turns: list[int] = []
        self._last: dict[int, Observation] = {}
        self._ascending = True

    def add(self, observation: Observation) -> None:
        turn = observation.turn
        if turn not in self._last:
            self._ascending &= not self._turns or self._turns[-1] < turn
            self._turns.append(turn)
        self._last[turn] = observation

    def before(self, turn: int) -> Observation | None:
        """The newest read in a turn smaller than `turn`."""
        if self._ascending:
            at = bisect_left(self._turns, turn)
            return self._last[self._turns[at - 1]] if at else None
        return next((self._last[n] for n in reversed(self._turns) if n < turn), None)


class Evidence:
    """The reads of a session, advanced by log suffix; each payload is hashed once.

    A restored session builds equal evidence by one pass over its log. Only metadata is kept.
    """

    __slots__ = ("_by_key", "_of_result", "_waiting", "hashed", "scanned")

    def __init__(self) -> None:
        self.scanned = 0
        self.hashed = 0
        self._of_result: dict[int, list[Observation]] = {}
        self._by_key: dict[tuple[str, str, str, bool], _History] = {}
        self._waiting: dict[tuple[int, int, str], list[Observation]] = {}

    def advance(self, view: View) -> None:
        """Take in what the view has taken in since."""
        for seq in range(self.scanned, view.scanned):
            event = view.events[seq]
            if isinstance(event, ToolResult):
                if event.is_original:
                    self._take_result(view, event)
            elif isinstance(event, Dispatch):
                self._take_dispatch(view, event)
        self.scanned = view.scanned

    def of_results(self, seqs: Sequence[int]) -> list[Observation]:
        """One representative a key over the reads of these results, by first appearance."""
        latest: dict[tuple[str, str, str, bool], Observation] = {}
        for seq in sorted(seqs):
            for observation in self._of_result.get(seq, ()):
                latest[observation.key] = observation
        return list(latest.values())

    def before(self, observation: Observation, turn: int) -> Observation | None:
        """The newest read of the same key in a turn smaller than `turn`."""
        return self._by_key[observation.key].before(turn)

    def _take_result(self, view: View, event: ToolResult) -> None:
        found: list[Observation] = []
        blocks = [b for b in event.data.message.content if isinstance(b, ToolResultBlock)]
        calls = view.calls.answered[event.seq]
        for number, (block, call) in enumerate(zip(blocks, calls, strict=True), 1):
            key = (event.data.turn, event.data.step, block.tool_call_id)
            found += self._waiting.pop(key, ())
            if call and not block.is_error:
                found += self._observe(call, call.arguments, block.content, (event, number))
        if found:
            self._of_result[event.seq] = found

    def _take_dispatch(self, view: View, event: Dispatch) -> None:
        root = view.calls.roots.get(event.seq)
        if root is None or event.data.is_error or event.data.name not in READ_TOOLS:
            return
        call = Call(root.turn, root.step, root.id, event.data.name, "")
        found = self._observe(call, bytes(event.data.arguments), event.data.content, (event, None))
        self._waiting.setdefault(root.key, []).extend(found)

    def _observe(
        self,
        call: Call,
        arguments: str | bytes,
        content: Sequence[Block],
        at: tuple[Event, int | None],
    ) -> list[Observation]:
        texts = [block.text for block in content if isinstance(block, Text)]
        where = _read_of(call.name, arguments) if texts else None
        if where is None:
            return []
        event, block = at
        digest, lines = self._hash(event, block, texts)
        observation = Observation(
            where[0], call.name, where[1], call.turn, call.step, event.seq, block, digest, lines
        )
        self._by_key.setdefault(observation.key, _History()).add(observation)
        return [observation]

    def _hash(self, event: Event, block: int | None, texts: list[str]) -> tuple[str, int]:
        original = _spilled(event, block) if len(texts) == 1 else None
        if original:
            return original
        self.hashed += 1
        text = "".join(texts)
        return fingerprint(text, 8), text.count("\n") + 1 if text else 0


class _SpillRow(msgspec.Struct):
    sha256: str
    lines: int
    block: int = 1


class _SpillMeta(msgspec.Struct):
    spill: tuple[_SpillRow, ...] = ()


def _spilled(event: Event, block: int | None) -> tuple[str, int] | None:
    """Fingerprint and lines of the stored original of a spilled read, from its metadata."""
    meta = bytes(event.data.meta) if isinstance(event, ToolResult) else b""
    if b'"spill"' not in meta:
        return None
    try:
        rows = msgspec.json.decode(meta, type=_SpillMeta).spill
    except msgspec.DecodeError:
        return None
    row = next((row for row in rows if row.block == block), None)
    return (row.sha256[:8], row.lines) if row else None


def _read_of(tool: str, arguments: str | bytes) -> tuple[str, str] | None:
    """Target and window of a read; None when the call reads no file we can name."""
    if tool not in READ_TOOLS:
        return None
    values = _parse(arguments)
    if isinstance(values, str):
        values = _parse(values)
    if not isinstance(values, dict):
        return None
    target = next((values[key] for key in PATH_KEYS if values.get(key) is not None), None)
    if not isinstance(target, str) or not target.strip():
        return None
    rest = {key: value for key, value in values.items() if key not in PATH_KEYS}
    try:
        return target, _window(rest)
    except RecursionError:  # nested so deep that no tool can have understood it
        return None


def _window(rest: dict[str, object]) -> str:
    if not rest:
        return "default"
    return json.dumps(_plain(rest), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _plain(value: object) -> object:
    """Numbers as the calls print them: a float without a fraction is an integer."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _parse(text: str | bytes) -> object:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")
