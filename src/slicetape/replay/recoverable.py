"""Whether everything the tape hid comes back byte for byte, through the calls it prints.

Only what a model could follow counts: the locators of an entry (the seqs of its `more` line and
the recipes of its header, filled in), locators on a page that these return, or a search.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from slicetape.errors import RecallError
from slicetape.log.events import (
    FORMAT_VERSION,
    AssistantMessage,
    Event,
    ToolResult,
    UserMessage,
)
from slicetape.log.messages import Reasoning, Text, ToolCall, ToolResultBlock, text_of
from slicetape.policy.entry import original_of
from slicetape.recall.tools import Recall, dispatch

_EXPAND = re.compile(r'expand_result\(\{"seq":(\d{1,15}),"formatVersion":(\d{1,3})')
_TURN = re.compile(r"^\[turn (\d{1,15})\]$", re.MULTILINE)
_MORE = re.compile(r"^\[\+\d+ more tool results · seqs ([\d, …]+)\]$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Recovery:
    """How much of what entries hid came back, and the seqs of what did not."""

    hidden: int
    recovered: int
    missing: tuple[int, ...] = ()

    @property
    def share(self) -> float:
        """Recovered over hidden; 1 when nothing was hidden."""
        return self.recovered / self.hidden if self.hidden else 1.0


def recover(recall: Recall, entries: Iterable[UserMessage]) -> Recovery:
    """Follow the locators of every entry and compare what comes back with the log."""
    reader = _Reader(recall)
    hidden = 0
    missing: list[int] = []
    for entry in entries:
        reader.follow(text_of(entry.data.content))
        for seq in entry.sources:
            hidden += 1
            if not reader.has(seq):
                missing.append(seq)
    return Recovery(hidden, hidden - len(missing), tuple(missing))


class _Reader:
    """A model that follows locators, and remembers the pages it was given."""

    def __init__(self, recall: Recall) -> None:
        self._recall = recall
        self._results: dict[int, str] = {}
        self._dialogues: dict[int, str] = {}
        self._records: dict[int, Mapping[str, list[str]]] = {}

    def follow(self, entry: str) -> None:
        """Call everything an entry names, then every result that a turn page names."""
        seqs = [int(seq) for seq, _ in _EXPAND.findall(entry)]
        for more in _MORE.findall(entry):
            seqs += [int(seq) for seq in re.findall(r"\d+", more)]
        for turn in map(int, _TURN.findall(entry)):
            if turn not in self._dialogues:
                page = self._call("recall_turn", {"turn": str(turn), "view": "dialogue"})
                self._dialogues[turn] = page
            seqs += [int(seq) for seq, _ in _EXPAND.findall(self._dialogues[turn])]
        for seq in seqs:
            if seq not in self._results:
                arguments = {"seq": seq, "formatVersion": FORMAT_VERSION}
                self._results[seq] = self._call("expand_result", arguments)

    def has(self, seq: int) -> bool:
        """Whether the texts of a node came back as they were logged."""
        view = self._recall.view
        event = view.events[seq]
        if isinstance(event, ToolResult):
            original = original_of(view, seq)
            page = self._results.get(original, "")
            return page.partition("\n")[2] == _result_text(view.events[original])
        turn = view.turns.owner(event)
        if isinstance(event, UserMessage):
            return text_of(event.data.content) in self._dialogues.get(turn, "")
        if isinstance(event, AssistantMessage):
            return self._has_assistant(turn, event)
        return False

    def _has_assistant(self, turn: int, event: AssistantMessage) -> bool:
        blocks = event.data.message.content
        plain = text_of(blocks) in self._dialogues.get(turn, "")
        if plain and not any(isinstance(block, Reasoning | ToolCall) for block in blocks):
            return True
        wanted = [_text_of(block) for block in blocks if isinstance(block, _SAID)]
        return wanted == self._record(turn).get(event.data.message.id)

    def _record(self, turn: int) -> Mapping[str, list[str]]:
        """What each assistant message held, from the full page that a dialogue page names."""
        if turn not in self._records:
            page = self._call("recall_turn", {"turn": str(turn), "view": "full"})
            rows = json.loads(page[page.rindex("\n[") :])
            said = [row["data"]["message"] for row in rows if row["type"] == "assistant/message"]
            self._records[turn] = {
                message["id"]: [
                    block["arguments" if block["type"] == "tool-call" else "text"]
                    for block in message["content"]
                    if block["type"] in ("text", "reasoning", "tool-call")
                ]
                for message in said
            }
        return self._records[turn]

    def _call(self, name: str, arguments: Mapping[str, object]) -> str:
        try:
            return dispatch(name, arguments, self._recall)
        except RecallError as error:
            return str(error)


_SAID = (Text, Reasoning, ToolCall)


def _text_of(block: Text | Reasoning | ToolCall) -> str:
    return block.arguments if isinstance(block, ToolCall) else block.text


def _result_text(event: Event) -> str:
    assert isinstance(event, ToolResult)
    return "\n".join(
        "\n".join(part.text for part in block.content if isinstance(part, Text))
        for block in event.data.message.content
        if isinstance(block, ToolResultBlock)
    )
