"""The bytes of a conversation that grows: pieces are joined once and kept until an edit."""

from collections.abc import Sequence

from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.cache_marks import Marks, with_marks
from slicetape.wire.fragment import START, Fragment, Seam
from slicetape.wire.openai_chat import ChatWire


class Growing:
    """The nodes of one conversation on one wire. `joined` counts the pieces that were joined.

    A request costs the pieces behind the first edit since the last one, and one copy of its
    bytes.
    """

    __slots__ = ("_pieces", "_seams", "fragments", "joined", "wire")

    def __init__(self, wire: ChatWire | MessagesWire) -> None:
        self.wire = wire
        self.fragments: list[Fragment] = []
        self.joined = 0
        self._pieces: list[bytes] = []
        self._seams: list[Seam] = [START]

    def replace(self, start: int, end: int, fragment: Fragment) -> None:
        """Put a node where the nodes from `start` up to, not including, `end` stood."""
        self.fragments[start:end] = [fragment]
        del self._pieces[start:], self._seams[start + 1 :]

    def stream(self) -> Sequence[bytes]:
        """One piece for each node, then one for what was held back; not to be changed."""
        self._join()
        return [*self._pieces, self.wire.flush(self._seams[-1])]

    def history(self, tape: int) -> bytes:
        """The history of a request, as the `body` of the wire takes it.

        `tape` counts the nodes up to the last entry: behind it, and at the end, a provider that
        takes cache marks gets one.
        """
        self._join()
        wire = self.wire
        if not isinstance(wire, MessagesWire):
            return b"[" + b"".join(self._pieces) + wire.flush(self._seams[-1]) + b"]"
        pieces, last = list(self._pieces), len(self.fragments) - 1
        nodes = tuple(sorted({at for at in (tape - 1, last) if at >= 0}))
        marked = with_marks(self.fragments, Marks(nodes))
        for node in nodes:
            at = node
            while at >= 0 and marked[at] is self.fragments[at]:
                at -= 1
            if at >= 0:
                pieces[at], _ = wire.join(self._seams[at], marked[at])
        return wire.closed(pieces, self._seams[-1])

    def _join(self) -> None:
        for fragment in self.fragments[len(self._pieces) :]:
            piece, seam = self.wire.join(self._seams[-1], fragment)
            self._pieces.append(piece)
            self._seams.append(seam)
            self.joined += 1
