"""The searchable text of one session, grown event by event.

Each text is lower-cased and kept once; the original stays in the log, from where a hit reads it
again. A search therefore costs one scan of the kinds that are asked for, and an appended event
only its own text.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import get_args

from slicetape.log.catalogrows import Kind
from slicetape.log.events import (
    AssistantMessage,
    Event,
    ToolCalled,
    ToolResult,
    UserMessage,
    is_human,
)
from slicetape.log.locator import RECALL_TOOLS
from slicetape.log.messages import ToolCall, text_of
from slicetape.recall.records import result_blocks, result_text
from slicetape.surface.view import View

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Document:
    """One text that a search can find, and where it stands.

    `place` is the number of a result block, or the position of a call among the blocks of its
    message, from 1 (0 for what was said); `siblings` is how many result blocks the event has;
    `length` is in code points.
    """

    seq: int
    turn: int
    step: int
    kind: Kind
    place: int
    siblings: int
    length: int

    @property
    def block(self) -> int | None:
        """The block that a locator must name: only where an event holds several results."""
        return self.place if self.siblings > 1 else None


@dataclass(slots=True)
class Shelf:
    """The documents of one kind in log order, and their lower-cased texts beside them."""

    documents: list[Document] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


class Index:
    """The documents of a session, by kind. `catch_up` takes in what was appended since."""

    __slots__ = ("calls", "shelves", "steps", "taken", "title", "view")

    def __init__(self, view: View) -> None:
        self.view = view
        self.taken = 0
        """How many events were taken in."""
        self.steps = 0
        """Messages of the model."""
        self.calls = 0
        """Started tool calls."""
        self.title = ""
        """The first line that a person wrote, at most 80 code points."""
        self.shelves: dict[Kind, Shelf] = {kind: Shelf() for kind in KINDS}

    @classmethod
    def of(cls, view: View) -> "Index":
        """An index of everything in the view."""
        index = cls(view)
        index.catch_up()
        return index

    def catch_up(self) -> int:
        """Take in the events that the view has and the index has not; how many there were."""
        fresh = self.view.scanned - self.taken
        for seq in range(self.taken, self.view.scanned):
            event = self.view.events[seq]
            self._count(event)
            for document, text in documents_of(self.view, event):
                shelf = self.shelves[document.kind]
                shelf.documents.append(document)
                shelf.texts.append(text.lower())
        self.taken += fresh
        return fresh

    def _count(self, event: Event) -> None:
        if isinstance(event, AssistantMessage) and event.is_original:
            self.steps += 1
        elif isinstance(event, ToolCalled):
            self.calls += 1
        elif isinstance(event, UserMessage) and not self.title and is_human(event):
            self.title = text_of(event.data.content).strip().split("\n", 1)[0][:80]

    def text(self, document: Document) -> str:
        """The original text of a document."""
        for found, text in documents_of(self.view, self.view.events[document.seq]):
            if found.place == document.place and found.kind == document.kind:
                return text
        raise KeyError(document)


def documents_of(view: View, event: Event) -> Iterator[tuple[Document, str]]:
    """The documents that an event gives, with their texts.

    None for replacements, blank texts, messages that belong to no turn, and for calls of the
    recall family and their results, block by block.
    """
    if not event.is_original:
        return
    turn = view.turns.owner(event)
    if turn < 1:
        return
    if isinstance(event, UserMessage):
        found = _heard(event, turn)
    elif isinstance(event, AssistantMessage):
        found = _said(event)
    elif isinstance(event, ToolResult):
        found = _returned(event, view.calls.names[event.seq])
    else:
        return
    for document, text in found:
        if text.strip():
            yield document, text


def _heard(event: UserMessage, turn: int) -> Iterator[tuple[Document, str]]:
    kind: Kind = "user" if event.data.source.kind == "user" else "context"
    text = text_of(event.data.content)
    yield Document(event.seq, turn, 0, kind, 0, 0, len(text)), text


def _said(event: AssistantMessage) -> Iterator[tuple[Document, str]]:
    data = event.data
    text = text_of(data.message.content)
    yield Document(event.seq, data.turn, data.step, "assistant", 0, 0, len(text)), text
    for place, block in enumerate(data.message.content, start=1):
        if isinstance(block, ToolCall) and block.name not in RECALL_TOOLS:
            text = f"{block.name} {block.arguments}"
            yield Document(event.seq, data.turn, data.step, "tool_input", place, 0, len(text)), text


def _returned(event: ToolResult, names: tuple[str, ...]) -> Iterator[tuple[Document, str]]:
    data, blocks = event.data, result_blocks(event)
    for place, (block, name) in enumerate(zip(blocks, names, strict=True), start=1):
        if name not in RECALL_TOOLS:
            kind: Kind = "tool_error" if block.is_error else "tool_output"
            text = result_text(block)
            at = (event.seq, data.turn, data.step, kind, place, len(blocks), len(text))
            yield Document(*at), text
