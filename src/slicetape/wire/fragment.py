"""What one node puts on a wire, and how the fragments of neighbours join to one stream.

A node is encoded once, to a `Fragment` that does not depend on its neighbours. The request is
a stream: each node adds a *piece*, which is its fragment plus what its neighbour asks for (a
comma, the opening of a message). A piece depends on the fragment and on the `Seam` before it,
so the bytes of any prefix are the sum of its pieces and nothing behind an edit is encoded again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal, Protocol

from slicetape.log.messages import Message, Reasoning, Text, ToolCall, ToolResultBlock
from slicetape.wire.json_text import is_broken

Role = Literal["", "system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the linter asks about one node or wire message."""

    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    empty: bool = False
    broken: bool = False
    reasoned: bool = False
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Fragment:
    """One node on a wire.

    `role` is empty when the node leaves nothing there, "tool" when it holds results and nothing
    else. `items` are whole messages (chat) or content blocks (Messages). `held` are parts whose
    place depends on the neighbours: pictures of results (chat), the in-place form of a system
    prompt (Messages).
    """

    role: Role
    items: tuple[bytes, ...] = ()
    held: tuple[bytes, ...] = ()
    facts: Facts = field(default=Facts(), repr=False)

    def digest(self) -> bytes:
        """Sixteen bytes that name what this node puts on the wire."""
        mark = blake2b(self.role.encode(), digest_size=16)
        for group in (self.items, self.held):
            mark.update(b"\n%d" % len(group))
            for item in group:
                mark.update(b"\n%d\n" % len(item))
                mark.update(item)
        return mark.digest()


@dataclass(frozen=True, slots=True)
class Seam:
    """What a wire remembers of the nodes before: the last role, and parts not yet placed."""

    role: Role = ""
    held: tuple[bytes, ...] = ()


START = Seam()


class Wire(Protocol):
    """One provider family's way of writing messages."""

    def fragment(self, message: Message) -> Fragment:
        """What `message` puts on the wire."""
        ...

    def join(self, seam: Seam, fragment: Fragment) -> tuple[bytes, Seam]:
        """The piece that `fragment` adds behind `seam`, and the seam after it."""
        ...

    def flush(self, seam: Seam) -> bytes:
        """What still has to be said when nothing follows."""
        ...


def pieces(wire: Wire, fragments: Iterable[Fragment], seam: Seam = START) -> Iterator[bytes]:
    """The stream of `fragments`: a piece for each, and a last one for what was held back."""
    for fragment in fragments:
        piece, seam = wire.join(seam, fragment)
        yield piece
    yield wire.flush(seam)


def facts_of(message: Message, *, empty: bool = False, signed: bool = False) -> Facts:
    """The facts of a message of ours."""
    blocks = message.content
    return Facts(
        calls=tuple(block.id for block in blocks if type(block) is ToolCall),
        results=tuple(block.tool_call_id for block in blocks if type(block) is ToolResultBlock),
        empty=empty,
        broken=any(map(is_broken, _strings(message))),
        reasoned=any(type(block) is Reasoning and block.text for block in blocks),
        signed=signed,
    )


def _strings(message: Message) -> Iterator[str]:
    for block in message.content:
        if type(block) is Text or type(block) is Reasoning:
            yield block.text
        elif type(block) is ToolCall:
            yield from (block.id, block.name, block.arguments)
        elif type(block) is ToolResultBlock:
            yield block.tool_call_id
            yield from (part.text for part in block.content if type(part) is Text)
