"""The blocks and texts of a result, as folding counts them."""

from collections.abc import Iterator

from slicetape.log.events import ToolResult
from slicetape.log.messages import Message, Text, ToolResultBlock
from slicetape.policy.views import Rules


def chars_of(block: ToolResultBlock, rules: Rules) -> int:
    """The length of a block's texts: code points; UTF-16 units to follow the reference."""
    return sum(_chars(text, rules) for text in texts(block))


def _chars(text: str, rules: Rules) -> int:
    if rules.code_points or text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def result_blocks(event: ToolResult) -> tuple[ToolResultBlock, ...]:
    """The result blocks of an event; the first is block 1."""
    return blocks_in(event.data.message)


def blocks_in(message: Message) -> tuple[ToolResultBlock, ...]:
    """The result blocks of a message; the first is block 1."""
    return tuple(block for block in message.content if isinstance(block, ToolResultBlock))


def texts(block: ToolResultBlock) -> Iterator[str]:
    """The text parts of a block; the first is part 1."""
    return (part.text for part in block.content if isinstance(part, Text))
