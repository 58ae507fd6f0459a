"""The searchable text of one session, grown event by event.

Each text is lower-cased and kept once; the original stays in the log, from where a hit reads it
again. A search therefore costs one scan of the kinds that are asked for, and an appended event
only its own text.
"""

import re
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
from slicetape.log.locator import is_recall_tool
from slicetape.log.messages import ToolCall, text_of
from slicetape.recall.records import result_blocks, result_text
from slicetape.surface.view import View

CJK_RUN = re.compile(
    "[\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c"
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\uff66-\uffdc\U00016ff0-\U0001b2ff\U00020000-\U000323af]{2,}"
)
"""Two or more letters in a row of Han, Hiragana, Katakana, Bopomofo or Hangul."""
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
    """The documents of one kind in log order, and their lower-cased texts beside them.

    `runs` has only the CJK runs of each text, so that words of CJK, which a query breaks into
    many terms, are not looked for in text of other scripts.
    """

    documents: list[Document] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)

    def add(self, document: Document, text: str) -> None:
        """Put a document at the end."""
        lowered = text.lower()
        self.documents.append(document)
        self.texts.append(lowered)
        self.runs.append("" if lowered.isascii() else " ".join(CJK_RUN.findall(lowered)))


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
                self.shelves[document.kind].add(document, text)
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
        event = self.view.events[document.seq]
        return next(text for found, text in documents_of(self.view, event) if found == document)


def is_run(term: str) -> bool:
    """Whether a term is one CJK run, and so stands in the runs of a text or nowhere in it."""
    return not term.isascii() and CJK_RUN.fullmatch(term) is not None


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
        if isinstance(block, ToolCall) and not is_recall_tool(block.name):
            text = f"{block.name} {block.arguments}"
            yield Document(event.seq, data.turn, data.step, "tool_input", place, 0, len(text)), text


def _returned(event: ToolResult, names: tuple[str, ...]) -> Iterator[tuple[Document, str]]:
    data, blocks = event.data, result_blocks(event)
    for place, (block, name) in enumerate(zip(blocks, names, strict=True), start=1):
        if not is_recall_tool(name):
            kind: Kind = "tool_error" if block.is_error else "tool_output"
            text = result_text(block)
            at = (event.seq, data.turn, data.step, kind, place, len(blocks), len(text))
            yield Document(*at), text
