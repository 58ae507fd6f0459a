"""Whether everything an arm hid comes back byte for byte, through the calls it prints.

Only what a model could follow counts: the locators of an entry (the seqs of its `more` line and
the recipes of its header, filled in), those in the head of a view, and the locators on a page that
these return. What a reply says inside an entry, or a result inside a view, is not followed,
whatever it looks like.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from slicetape.errors import RecallError
from slicetape.log.events import AssistantMessage, ToolResult, UserMessage
from slicetape.log.messages import Block, Reasoning, Text, ToolCall, text_of
from slicetape.policy.entry import original_of
from slicetape.recall.records import result_blocks, source_name, text_parts
from slicetape.recall.tools import Recall, dispatch
from slicetape.replay.printed import EXPAND, named_results, named_turns, printed_lines
from slicetape.surface import View

Ask = Callable[[str, Mapping[str, object]], str]
"""A recall tool by name and its arguments, to the text it returns. RecallError when it fails."""

_HIT_TURN = re.compile(r'recall_turn\(\{"turn":"(\d{1,15})"')
_FULL = re.compile(r'recall_turn\(\{"turn":"(\d{1,15})","view":"full"\}\)')


@dataclass(frozen=True, slots=True)
class Recovery:
    """How many nodes entries and views hid, how many came back, the seqs of those that did not."""

    hidden: int
    recovered: int
    missing: tuple[int, ...] = ()

    @property
    def share(self) -> float:
        """Recovered over hidden; 1 when nothing was hidden."""
        return self.recovered / self.hidden if self.hidden else 1.0


def recover(
    recall: Recall,
    entries: Iterable[UserMessage],
    *,
    views: Iterable[ToolResult] = (),
    ask: Ask | None = None,
    reader: "Reader | None" = None,
) -> Recovery:
    """Follow the locators of every entry and view, and compare what comes back with the log.

    `ask` calls a tool; without it the tools of `recall` answer. A `reader` that has read some of
    it keeps what it was given.
    """
    reader = reader or Reader.of(recall, ask=ask)
    hidden = 0
    missing: list[int] = []
    for entry in entries:
        reader.follow(text_of(entry.data.content))
        for seq in entry.sources:
            hidden += 1
            if not reader.has(seq):
                missing.append(seq)
    for view in views:
        hidden += 1
        for block in result_blocks(view):
            for text in text_parts(block):
                reader.follow_view(text)
        if not reader.has(view.seq):
            missing.append(view.seq)
    return Recovery(hidden, hidden - len(missing), tuple(missing))


def _dispatched(recall: Recall, name: str, arguments: Mapping[str, object]) -> str:
    return dispatch(name, arguments, recall)


Said = tuple[tuple[str, ...], ...]
"""What a message says, block by block."""


class Reader:
    """A model that follows locators, and remembers the pages it was given."""

    def __init__(self, view: View, ask: Ask) -> None:
        self._view = view
        self._ask = ask
        self._results: dict[tuple[int, int], str] = {}
        self._dialogues: dict[int, str] = {}
        self._records: dict[int, Mapping[str, Sequence[Said]]] = {}

    @classmethod
    def of(cls, recall: Recall, *, ask: Ask | None = None) -> "Reader":
        """A reader that calls `ask`, or the tools of `recall`."""
        return cls(recall.view, ask or partial(_dispatched, recall))

    def follow(self, entry: str) -> None:
        """Call everything an entry names, then every result that a turn page names."""
        lines = list(printed_lines(entry))
        for turn in named_turns(lines, self._view):
            self._turn(turn)
        self._expand(named_results(lines))

    def follow_view(self, text: str) -> None:
        """Call what the head of a view names."""
        self._expand(EXPAND.findall(text.partition("\n")[0]))

    def search(self, query: str) -> None:
        """Search, and call what the hits name."""
        page = self._call("recall_search", {"query": query})
        for line in page.split("\n")[1:]:
            locator = line.rpartition(" → ")[2]
            self._expand(EXPAND.findall(locator))
            turn = _HIT_TURN.match(locator)
            if turn:
                self._turn(int(turn[1]))

    def has(self, seq: int) -> bool:
        """Whether the texts of a node came back as they were logged."""
        event = self._view.events[seq]
        turn = self._view.turns.owner(event)
        if isinstance(event, ToolResult):
            return self._has_result(original_of(self._view, seq))
        if isinstance(event, UserMessage):
            message, head = event.data, f"[{source_name(event.data.source)}]"
        else:
            assert isinstance(event, AssistantMessage)
            message, head = event.data.message, f"[step {event.data.step}]"
        said = tuple(_said(block) for block in message.content if isinstance(block, _SAYING))
        if all(isinstance(block, Text) for block in message.content):
            text = text_of(message.content)
            if not text or f"\n{head}\n{text}\n" in self._dialogues.get(turn, "") + "\n":
                return True
        return said in self._record(turn).get(message.id, ())

    def _has_result(self, seq: int) -> bool:
        """Whether a result came back: in one page, or in one for each of its blocks."""
        event = self._view.events[seq]
        assert isinstance(event, ToolResult)
        texts = ["\n".join(text_parts(block)) for block in result_blocks(event)]
        if (seq, 0) in self._results:
            return _body(self._results[seq, 0]) == "\n".join(texts)
        pages = [self._results.get((seq, at), "") for at in range(1, len(texts) + 1)]
        return any(pages) and [_body(page) for page in pages] == texts

    def _turn(self, turn: int) -> None:
        """Read the dialogue of a turn, and expand the results it names."""
        if turn not in self._dialogues:
            page = self._call("recall_turn", {"turn": str(turn), "view": "dialogue"})
            self._dialogues[turn] = page
            self._expand(EXPAND.findall(page))

    def _expand(self, locators: Iterable[tuple[str, str, str]]) -> None:
        for seq, version, block in locators:
            key = int(seq), int(block or 0)
            if key not in self._results:
                arguments = {"seq": key[0], "formatVersion": int(version)}
                arguments |= {"block": key[1]} if block else {}
                self._results[key] = self._call("expand_result", arguments)

    def _record(self, turn: int) -> Mapping[str, Sequence[Said]]:
        """What each message of a turn says, from the full page that its dialogue page names."""
        if turn not in self._records:
            found = _FULL.search(self._dialogues.get(turn, "").partition("\n")[0])
            page = ""
            if found:
                page = self._call("recall_turn", {"turn": found[1], "view": "full"})
            self._records[turn] = _messages_of(page)
        return self._records[turn]

    def _call(self, name: str, arguments: Mapping[str, object]) -> str:
        try:
            return self._ask(name, arguments)
        except RecallError as error:
            return str(error)


def _messages_of(page: str) -> Mapping[str, Sequence[Said]]:
    """The messages in the records of a full page, by id; none when the page is damaged."""
    found: dict[str, list[Said]] = {}
    try:
        for row in json.loads(page[page.rindex("\n[") :]):
            data = row["data"]
            message = data if row["type"] == "user/message" else data.get("message")
            if message:
                said = (_logged(block) for block in message["content"])
                found.setdefault(message["id"], []).append(tuple(filter(None, said)))
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    return found


def _logged(block: Mapping[str, str]) -> tuple[str, ...]:
    """What a block says, from its logged form."""
    if block["type"] == "tool-call":
        return "tool-call", block["id"], block["name"], block["arguments"]
    if block["type"] in ("text", "reasoning"):
        return block["type"], block["text"]
    return ()


_SAYING = (Text, Reasoning, ToolCall)


def _said(block: Block) -> tuple[str, ...]:
    if isinstance(block, ToolCall):
        return "tool-call", block.id, block.name, block.arguments
    assert isinstance(block, Text | Reasoning)
    return "text" if isinstance(block, Text) else "reasoning", block.text


def _body(page: str) -> str:
    return page.partition("\n")[2]
