"""What folding remembers of one session; all of it can be rebuilt from the log.

Events are taken in by log order, so a session that is opened again comes to the same counts: a
fold counts where its original stands, an expansion where it was answered.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from slicetape.log.arguments import integer, positive, span, whole
from slicetape.log.events import (
    FORMAT_VERSION,
    AssistantAttempt,
    AssistantMessage,
    Event,
    Replace,
    RequestHeader,
    ToolResult,
    TurnEnd,
)
from slicetape.log.spill import Spill
from slicetape.policy.backoff import Backoff, parsed
from slicetape.policy.forwarded import Behind, Forwarded
from slicetape.policy.repeats import Repeats
from slicetape.surface.view import View

FindSpill = Callable[[ToolResult, int, int], Spill | None]
"""What a text part (block, part, from 1) of an original result is a preview of, if of anything."""


@dataclass(frozen=True, slots=True)
class FoldStats:
    """What folding did in a session.

    `folded` results have a condensed block; `chars_before` and `chars_after` are the lengths of
    their texts. `expanded` are successful expansions of views, partial ones too; `backed_off` are
    the resources left whole; `spilled` results were kept outside the log.
    """

    folded: int = 0
    chars_before: int = 0
    chars_after: int = 0
    expanded: int = 0
    backed_off: tuple[str, ...] = ()
    spilled: int = 0


def no_spills(_event: ToolResult, _block: int, _part: int) -> Spill | None:
    """A session whose results are all in its log."""
    return None


@dataclass(slots=True)
class FoldState:
    """The memory of one live session object, made before anything is folded in it.

    `shown_through` is the last event that a model may have seen when the memory was made: results
    up to there are never folded.
    """

    shown_through: int = -1
    find: FindSpill = no_spills
    forwarded: Forwarded = field(default_factory=Forwarded)
    backoff: Backoff = field(default_factory=Backoff)
    repeats: Repeats = field(default_factory=Repeats)
    scanned: int = 0
    folded: int = 0
    chars_before: int = 0
    chars_after: int = 0
    expanded: int = 0
    spilled: int = 0
    _views: dict[int, dict[int, str]] = field(default_factory=dict)
    """Resource of each block that is shown as a view, by the seq of its original."""
    _executed: set[tuple[int, str]] = field(default_factory=set)
    _recovered: set[tuple[int, int]] = field(default_factory=set)

    @classmethod
    def of(
        cls, view: View, *, find: FindSpill = no_spills, behind: Behind = lambda _: None
    ) -> "FoldState":
        """A new memory. `behind` gives the full text of the previews that nested calls logged."""
        return cls(exposed_through(view, 0), find, Forwarded(behind))

    @property
    def stats(self) -> FoldStats:
        """The counts, up to the last plan."""
        return FoldStats(
            self.folded,
            self.chars_before,
            self.chars_after,
            self.expanded,
            tuple(self.backoff.off),
            self.spilled,
        )

    def shows(self, seq: int, blocks: dict[int, str]) -> None:
        """These blocks of the original at `seq` stand as views, each of its resource."""
        self._views.setdefault(seq, {}).update(blocks)
        for key in blocks.values():
            self.backoff.folded(key)

    def counts(self, before: int, after: int) -> None:
        """A result with a condensed block: the lengths of its texts, and of what is shown."""
        self.folded += 1
        self.chars_before += before
        self.chars_after += after

    def expands(self, view: View, at: int, execution: tuple[int, str], arguments: str) -> None:
        """A call of expand_result, answered without error at `at`: count what it brought back."""
        given = parsed(arguments)
        if execution in self._executed or not isinstance(given, dict):
            return
        seq = _addressed(view, at, given)
        blocks = self._views.get(seq, {}) if seq is not None else {}
        if given.get("block") is not None:
            number = positive(given["block"])
            blocks = {number: blocks[number]} if number in blocks else {}
        if seq is None or not blocks:
            return
        self._executed.add(execution)
        self.expanded += 1
        if not _is_partial(given):
            for number, key in blocks.items():
                if (seq, number) not in self._recovered:
                    self._recovered.add((seq, number))
                    self.backoff.recovered(key)


def exposed_through(view: View, start: int) -> int:
    """The last event from `start` on that proves or suggests that a request was sent; -1 if none.

    A turn that failed or was stopped may have sent one.
    """
    for seq in range(view.scanned - 1, start - 1, -1):
        event = view.events[seq]
        if is_sent(event):
            return seq
        if isinstance(event, TurnEnd) and event.data.reason.kind in _UNSURE:
            return seq
    return -1


def sent_through(view: View, start: int) -> int:
    """The last event from `start` on that proves that a request was sent; -1 if none."""
    seqs = range(view.scanned - 1, start - 1, -1)
    return next((seq for seq in seqs if is_sent(view.events[seq])), -1)


def is_sent(event: Event) -> bool:
    """Whether the event is logged only when a request is sent."""
    return isinstance(event, RequestHeader | AssistantMessage | AssistantAttempt)


_UNSURE = frozenset(("error", "aborted", "interrupted"))


def _is_partial(given: dict[str, object]) -> bool:
    """Whether an expansion asks for some lines only; what is malformed gets the whole text."""
    grep = given.get("grep")
    return (isinstance(grep, str) and bool(grep.strip())) or span(given.get("lines")) is not None


def _addressed(view: View, at: int, given: dict[str, object]) -> int | None:
    """The original that an expansion addresses, when it was logged before `at`."""
    if given.get("session") is not None:
        return None
    seq = _by_seq(view, given) if given.get("seq") is not None else _by_ordinal(view, given)
    return seq if seq is not None and seq < at else None


def _by_seq(view: View, given: dict[str, object]) -> int | None:
    seq = integer(given["seq"])
    if whole(given.get("formatVersion")) != FORMAT_VERSION or seq is None:
        return None
    if not 0 <= seq < view.scanned or not isinstance(view.events[seq], ToolResult):
        return None
    try:
        return view.original(seq)
    except (ValueError, IndexError):
        return None


def _by_ordinal(view: View, given: dict[str, object]) -> int | None:
    turn, step = positive(given.get("turn")), positive(given.get("step"))
    call = positive(1 if given.get("call") is None else given["call"])
    if not (turn and step and call):
        return None
    siblings = view.calls.results.get((turn, step), [])
    return siblings[call - 1] if call <= len(siblings) else None


def replacements(view: View, start: int) -> dict[int, ToolResult]:
    """The first replacement from `start` on of each original that it alone cites."""
    found: dict[int, ToolResult] = {}
    for event in _results(view, start):
        if isinstance(event.surface_op, Replace) and len(event.sources) == 1:
            original = view.events[event.sources[0]]
            if isinstance(original, ToolResult) and original.is_original:
                found.setdefault(original.seq, event)
    return found


def _results(view: View, start: int) -> Iterator[ToolResult]:
    for seq in range(start, view.scanned):
        event = view.events[seq]
        if isinstance(event, ToolResult):
            yield event


def arguments_text(arguments: bytes) -> str:
    """The arguments of a nested call as text; some hosts log them as a JSON string of it."""
    try:
        said = json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
    return said if isinstance(said, str) else arguments.decode("utf-8", "replace")
