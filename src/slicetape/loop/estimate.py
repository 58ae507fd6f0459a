"""The host's estimate of tokens, which decides when it compacts (never what is charged).

Lengths are UTF-16 units, four to a token, plus four for each block and each message. The rule is
that of the host whose behaviour the `compact` arm reproduces.
"""

from slicetape.log.events import Event, SystemMessage
from slicetape.log.messages import (
    Block,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResultBlock,
    text_of,
)
from slicetape.surface import message_at

_FRAME = 4


def estimate(message: Message) -> int:
    """Estimated tokens of one message."""
    return _FRAME + sum(_block(block) for block in message.content)


def estimate_event(event: Event) -> int:
    """Estimated tokens of one node; 0 for one that sends nothing."""
    message = message_at(event)
    if message is None:
        return 0
    if isinstance(event, SystemMessage):
        return estimate_text(text_of(message.content))
    return estimate(message)


def estimate_text(text: str) -> int:
    """Estimated tokens of a text that stands alone: a system prompt or a tool list."""
    return _quarter(text) + _FRAME


def _block(block: Block) -> int:
    if isinstance(block, Text | Reasoning):
        return _quarter(block.text) + _FRAME
    if isinstance(block, ToolCall):
        return _quarter(block.name) + _quarter(block.arguments) + _FRAME
    if isinstance(block, ToolResultBlock):
        return _FRAME + sum(_block(part) for part in block.content)
    return _FRAME


def _quarter(text: str) -> int:
    units = len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
    return -(-units // 4)
