"""What each node adds to a request: tokens, code points, blocks and bytes; shared by all arms.

A recorded node is counted and encoded once, whatever the number of arms; only what an arm writes
itself is measured anew.
"""

from dataclasses import dataclass

from slicetape.log.events import Event, SystemMessage
from slicetape.replay.counting import Counts, chars
from slicetape.surface import message_at
from slicetape.wire.fragment import Fragment, Wire


@dataclass(frozen=True, slots=True)
class Node:
    """One node in a request. A node that sends nothing has no blocks and no tokens."""

    tokens: int
    chars: int
    blocks: int
    fragment: Fragment


NOTHING = Node(0, 0, 0, Fragment(""))


class Nodes:
    """The nodes of one recording on one wire. `encoded` says how many were encoded.

    Without `system`, prompts are sent but weigh nothing.
    """

    def __init__(self, counts: Counts, wire: Wire, *, system: bool = True) -> None:
        self.counts = counts
        self.wire = wire
        self.encoded = 0
        self._system = system
        self._recorded: dict[int, Node] = {}

    def recorded(self, event: Event) -> Node:
        """The node of a recorded event, known by its seq in the recording."""
        known = self._recorded.get(event.seq)
        if known is None:
            known = self._recorded[event.seq] = self.written(event)
        return known

    def written(self, event: Event) -> Node:
        """The node of an event that an arm wrote."""
        message = message_at(event)
        if message is None:
            return NOTHING
        self.encoded += 1
        fragment = self.wire.fragment(message)
        if isinstance(event, SystemMessage) and not self._system:
            return Node(0, 0, 0, fragment)
        return Node(self.counts.tokens(message), chars(message), len(message.content), fragment)
