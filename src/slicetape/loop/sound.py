"""Text that every provider takes: halves of surrogate pairs, which no UTF-8 can say, made whole.

What enters a session is made sound once, as it is logged. A half on its own would make every
later request invalid.
"""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from slicetape.log.messages import Block, Message, Reasoning, Text, ToolCall

Part = TypeVar("Part", bound=Block)


def sound_text(text: str) -> str:
    """The text with pairs joined, and halves without a partner as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def sound_blocks(blocks: Iterable[Part]) -> tuple[Part, ...]:
    """The blocks with every text of theirs made sound."""
    return tuple(map(_sound, blocks))


def sound_message(message: Message) -> Message:
    """The message with every text of its blocks made sound."""
    content = sound_blocks(message.content)
    if content == message.content:
        return message
    return msgspec.structs.replace(message, content=content)


def _sound(block: Part) -> Part:
    if isinstance(block, Text | Reasoning):
        text = sound_text(block.text)
        return block if text is block.text else msgspec.structs.replace(block, text=text)
    if isinstance(block, ToolCall):
        arguments = sound_text(block.arguments)
        if arguments is not block.arguments:
            return msgspec.structs.replace(block, arguments=arguments)
    return block
