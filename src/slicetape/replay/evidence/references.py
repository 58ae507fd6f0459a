"""What the model used that stood in few places: references, found once for all arms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from slicetape.log.events import AssistantMessage, Event, SystemMessage, ToolResult, is_human
from slicetape.replay.evidence.tokens import argued, contained, said, strings, texts_of, tokens
from slicetape.replay.recording import Recording

MOST_SOURCES = 3
"""Events that may contain a rare token."""

Kind = Literal["tool", "said", "mixed"]
"""Where a reference comes from: only results, only what people and model said, or else."""

KINDS: tuple[Kind, ...] = ("tool", "said", "mixed")

_COMMON = (-1,) * (MOST_SOURCES + 1)


@dataclass(frozen=True, slots=True)
class Reference:
    """A rare token that the model wrote in a step. `sources` are seqs of the recording.

    `copied` says that it occurs in an argument of a call.
    """

    token: str
    sources: tuple[int, ...]
    kind: Kind
    copied: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One message of the model: its place, what it referred to, and the requests still to come.

    `seq` is that of the message in the recording; `later` counts the messages of the model that
    follow in the same turn.
    """

    seq: int
    turn: int
    step: int
    references: tuple[Reference, ...]
    later: int


@dataclass(frozen=True, slots=True)
class _Written:
    """The tokens of what the model said in a message, and of what it gave to tools."""

    said: set[str]
    argued: set[str]

    @property
    def both(self) -> set[str]:
        return self.said | self.argued


class References:
    """The references of one recording, and which of their tokens each event contains.

    `events` has the events that can be sources, by seq, `steps` each message of the model, by seq,
    `contained` the tokens of references in each event. `scanned` counts the code points that were
    looked through; each text is looked through once.
    """

    def __init__(self, recording: Recording) -> None:
        self.events: dict[int, Event] = {}
        self.steps: dict[int, Step] = {}
        self.contained: dict[int, frozenset[str]] = {}
        self.scanned = 0
        self._written = self._replies(recording)
        sources = dict.fromkeys(self._fixed(recording), _COMMON)
        wanted: frozenset[str] = frozenset().union(*(row.both for row in self._written.values()))
        for event in recording.events:
            if event.surface_op is None:
                continue
            if event.seq in self._written:
                found = self._written[event.seq].both
                self._step(event, sources)
            else:
                found = self._contained(event, wanted)
            if isinstance(event, SystemMessage):
                sources.update(dict.fromkeys(found, _COMMON))
                continue
            self.events[event.seq] = event
            self.contained[event.seq] = frozenset(found)
            for token in found:
                known = sources.get(token, ())
                if len(known) <= MOST_SOURCES:
                    sources[token] = (*known, event.seq)
        self._finish()

    @property
    def count(self) -> int:
        """All references."""
        return sum(len(step.references) for step in self.steps.values())

    def later(self) -> Mapping[int, frozenset[str]]:
        """The tokens of each event that a later step refers to with this event as a source."""
        found: dict[int, set[str]] = {}
        for step in self.steps.values():
            for reference in step.references:
                for seq in reference.sources:
                    found.setdefault(seq, set()).add(reference.token)
        return {seq: frozenset(used) for seq, used in found.items()}

    def _replies(self, recording: Recording) -> dict[int, "_Written"]:
        return {
            event.seq: _Written(self._of(said(event)), self._of(argued(event)))
            for event in recording.events
            if isinstance(event, AssistantMessage) and event.surface_op is not None
        }

    def _fixed(self, recording: Recording) -> set[str]:
        """The tokens of tool schemas, which are no evidence."""
        tools = recording.facts.tools
        return self._of(strings(tools, keys=True)) if tools else set()

    def _contained(self, event: Event, wanted: frozenset[str]) -> set[str]:
        found: set[str] = set()
        for text in texts_of(event):
            self.scanned += len(text)
            found |= contained(text, wanted)
        return found

    def _of(self, texts: Iterator[str]) -> set[str]:
        found: set[str] = set()
        for text in texts:
            self.scanned += len(text)
            found |= tokens(text)
        return found

    def _step(self, event: Event, sources: Mapping[str, tuple[int, ...]]) -> None:
        assert isinstance(event, AssistantMessage)
        written = self._written[event.seq]
        rows = []
        for token in sorted(written.both):
            seqs = sources.get(token, ())
            if 1 <= len(seqs) <= MOST_SOURCES:
                copied = token in written.argued
                rows.append(Reference(token, seqs, self._kind(token, seqs), copied))
        self.steps[event.seq] = Step(event.seq, event.data.turn, event.data.step, tuple(rows), 0)

    def _kind(self, token: str, seqs: tuple[int, ...]) -> Kind:
        kinds = {self._source_kind(token, self.events[seq]) for seq in seqs}
        return kinds.pop() if len(kinds) == 1 else "mixed"

    def _source_kind(self, token: str, event: Event) -> Kind:
        if isinstance(event, ToolResult):
            return "tool"
        if is_human(event):
            return "said"
        own = self._written.get(event.seq)
        return "said" if own and token in own.said else "mixed"

    def _finish(self) -> None:
        """Count what follows each step, and forget the tokens that no step refers to."""
        follow: dict[int, int] = {}
        for seq in reversed(self.steps):
            step = self.steps[seq]
            later = follow.get(step.turn, 0)
            follow[step.turn] = later + 1
            self.steps[seq] = Step(step.seq, step.turn, step.step, step.references, later)
        used = {row.token for step in self.steps.values() for row in step.references}
        for seq, found in self.contained.items():
            self.contained[seq] = found & used
        self._written.clear()
