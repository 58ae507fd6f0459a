"""Tokens and code points of messages; `nodes` sees to it that each text is counted once."""

from collections.abc import Callable, Iterator

from slicetape.log.messages import (
    Block,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResultBlock,
)

FRAME = 4
"""Tokens that role and punctuation of one message are taken for."""

IMAGE = 1_000
"""Tokens that a picture is taken for; its base64 is never counted as text."""


class Counts:
    """Tokens by one counter. `counted` says how many texts it was given."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count
        self.counted = 0

    def tokens(self, message: Message) -> int:
        """Tokens of a message on the wire, its frame included; 0 for one without content."""
        if not message.content:
            return 0
        return FRAME + sum(self._block(block) for block in message.content)

    def text(self, text: str) -> int:
        """Tokens of one text."""
        if not text:
            return 0
        self.counted += 1
        return self.count(text)

    def _block(self, block: Block) -> int:
        if isinstance(block, Image):
            return IMAGE
        return sum(self.text(text) for text in _texts(block)) + sum(
            IMAGE for part in _parts(block) if isinstance(part, Image)
        )


def chars(message: Message) -> int:
    """Code points of the texts that `Counts` counts."""
    return sum(len(text) for block in message.content for text in _texts(block))


def _parts(block: Block) -> tuple[Block, ...]:
    return block.content if isinstance(block, ToolResultBlock) else ()


def _texts(block: Block) -> Iterator[str]:
    if isinstance(block, Text | Reasoning):
        yield block.text
    elif isinstance(block, ToolCall):
        yield block.name
        yield block.arguments
    else:
        yield from (part.text for part in _parts(block) if isinstance(part, Text))
