"""What was said and returned: the texts of original events, as recall prints and indexes them."""

from slicetape.log.events import ToolResult
from slicetape.log.messages import Source, Text, ToolResultBlock


def result_blocks(event: ToolResult) -> tuple[ToolResultBlock, ...]:
    """The result blocks of an event; the first is block 1."""
    return tuple(
        block for block in event.data.message.content if isinstance(block, ToolResultBlock)
    )


def text_parts(block: ToolResultBlock) -> tuple[str, ...]:
    """The text parts of a result block; the first is part 1."""
    return tuple(part.text for part in block.content if isinstance(part, Text))


def result_text(block: ToolResultBlock) -> str:
    """The text of a result block as it is measured and indexed: its non-empty parts by line."""
    return "\n".join(text for text in text_parts(block) if text)


def source_name(source: Source) -> str:
    """Who made generated context: the plugin, else the kind of source."""
    return source.plugin or source.kind or "generated"
