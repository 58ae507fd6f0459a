"""What a request begins with, as shared structure: equal prefixes are the same object.

A request is a chain of pieces in wire order (tools, system, then one piece for each message or
content block). `then` interns: asking the same prefix for the same key gives the same object, so
two requests share exactly the prefixes they have in common, a longer request costs only its new
pieces, and no token is ever stored or compared.
"""

from collections.abc import Hashable
from typing import Literal

from slicetape.errors import PriceError

Section = Literal["tools", "system", "messages"]


class Prefix:
    """The first pieces of a request; immutable, compared by identity.

    `tokens` and `blocks` count everything up to here; `head` is the prefix of one piece, `parent`
    the one that is shorter by one, `at` finds any in logarithmic time. A prefix keeps every longer
    one that was made from it.
    """

    __slots__ = ("_longer", "blocks", "depth", "head", "jump", "key", "parent", "section", "tokens")

    def __init__(self) -> None:
        """Start an empty request: the root that all requests of one session grow from."""
        self.parent: Prefix = self
        self.head: Prefix = self
        self.jump: Prefix = self
        self.key: Hashable = None
        self.section: Section = "tools"
        self.tokens = 0
        self.blocks = 0
        self.depth = 0
        self._longer: dict[Hashable, Prefix] | None = None

    def then(
        self, key: Hashable, tokens: int, *, section: Section = "messages", blocks: int = 1
    ) -> "Prefix":
        """The prefix that is longer by one piece of `tokens` tokens and `blocks` content blocks.

        `key` stands for the bytes of the piece: equal keys after the same prefix mean equal bytes.
        A second token count for the same key is refused, because one of the two must be wrong.
        """
        longer = self._longer
        if longer is None:
            longer = self._longer = {}
        known = longer.get(key)
        if known is not None:
            if known.tokens - self.tokens != tokens:
                raise PriceError(
                    f"piece {self.depth + 1} has {tokens} tokens and had "
                    f"{known.tokens - self.tokens} before; give changed bytes another key"
                )
            return known
        if tokens < 0 or blocks < 0:
            raise PriceError(f"piece {self.depth + 1} has fewer than 0 tokens or blocks")
        new = Prefix()
        new.parent, new.key, new.section = self, key, section
        new.tokens, new.blocks = self.tokens + tokens, self.blocks + blocks
        new.depth = self.depth + 1
        new.head = self.head if self.depth else new
        # Skip pointers: their spans depend on depth alone, so two chains can climb in step.
        over = self.jump
        same_span = self.depth - over.depth == over.depth - over.jump.depth
        new.jump = over.jump if same_span else self
        longer[key] = new
        return new

    def at(self, depth: int) -> "Prefix":
        """The prefix of this one that has `depth` pieces."""
        node = self
        while node.depth > depth:
            node = node.jump if node.jump.depth >= depth else node.parent
        return node

    def shared_with(self, other: "Prefix") -> "Prefix":
        """The longest prefix that both have, in whole pieces."""
        one, two = self.at(other.depth), other.at(self.depth)
        while one is not two:
            if one.jump is two.jump:
                one, two = one.parent, two.parent
            else:
                one, two = one.jump, two.jump
        return one

    def __repr__(self) -> str:
        return f"Prefix(depth={self.depth}, tokens={self.tokens})"
