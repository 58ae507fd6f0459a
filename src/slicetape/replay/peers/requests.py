"""The requests of a log as chat messages, each told by how it differs from the one before.

Every arm is read back from its own log, so peers and arms are measured by the same code. Pictures
of results weigh on the result they came with and are not shown to a peer.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from slicetape.log.events import (
    AssistantAttempt,
    AssistantMessage,
    Event,
    Header,
    TurnStart,
)
from slicetape.replay.nodes import Node, Nodes
from slicetape.replay.recorded_log import RecordedLog
from slicetape.surface import Edit, Session

Reply = AssistantMessage | AssistantAttempt


@dataclass(frozen=True, slots=True)
class Item:
    """One message of a request: its JSON and its tokens."""

    json: bytes
    tokens: int


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """The first `keep` messages of the request before, then `add`; `reply` answered it.

    `answer` is the reply as later requests repeat it. `first_in_turn` says that a turn begins.
    """

    keep: int
    add: tuple[Item, ...]
    reply: Reply
    answer: tuple[Item, ...]
    first_in_turn: bool


def requests(header: Header, events: Iterable[Event], nodes: Nodes) -> Iterator[ChatRequest]:
    """The request that each original reply of a log was the answer to.

    `nodes` must encode for the chat wire.
    """
    reader = _Reader(Session(RecordedLog(header), strict=False), nodes)
    for event in events:
        if isinstance(event, TurnStart):
            reader.first = True
        if isinstance(event, Reply) and event.is_original:
            yield reader.request(event)
        reader.session.append(event)


class _Reader:
    def __init__(self, session: Session, nodes: Nodes) -> None:
        self.session = session
        self.first = True
        self._nodes = nodes
        self._rows: list[tuple[Item, ...]] = []
        self._same = 0  # nodes before this one stand as they did in the last request
        self._ends = [0]  # messages before each node of the last request
        session.listen(self._edited)

    def request(self, reply: Reply) -> ChatRequest:
        """The surface as it stands."""
        keep = self._ends[self._same]
        new = self._rows[self._same :]
        del self._ends[self._same + 1 :]
        for row in new:
            self._ends.append(self._ends[-1] + len(row))
        self._same = len(self._rows)
        first, self.first = self.first, False
        add = tuple(item for row in new for item in row)
        return ChatRequest(keep, add, reply, _items(self._nodes.written(reply)), first)

    def _edited(self, event: Event, edit: Edit | None) -> None:
        if edit is None:
            return
        start, end = edit.position, edit.position + len(edit.removed)
        self._rows[start:end] = [_items(self._nodes.written(event))]
        self._same = min(self._same, start)


def _items(node: Node) -> tuple[Item, ...]:
    """The messages of a node; its tokens are shared out by size, and add up."""
    parts = node.fragment.items
    whole, left = sum(map(len, parts)), node.tokens
    items: list[Item] = []
    for part in parts:
        share = left if part is parts[-1] else node.tokens * len(part) // whole
        left -= share
        items.append(Item(part, share))
    return tuple(items)
