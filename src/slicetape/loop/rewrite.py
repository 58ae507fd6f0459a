"""The line of a result that is shown in another form: the original's, but for its texts.

Hosts write more into a result than slicetape reads. Whoever checks that a replacement changed
nothing but text compares all of it, so it is taken over from the original's own line.
"""

import json
from typing import Any

import msgspec

from slicetape.log.codec import encode_event
from slicetape.log.events import ToolResult
from slicetape.log.messages import Text, ToolResultBlock


def rewritten(line: bytes, original: ToolResult, shown: ToolResult) -> bytes | None:
    """The line that says `shown` with everything that `line`, the original's, says besides.

    `shown` carries the seq it will have. None when `original` says all that the line does, or
    when the line cannot be written again: `shown` is then written as it is.
    """
    if line == encode_event(original):
        return None
    try:
        row = json.loads(line)
        _change(row["data"]["message"]["content"], shown)
        row |= {
            "seq": shown.seq,
            "time": shown.time,
            "sourceEventSeqs": list(shown.sources),
            "surfaceOp": msgspec.to_builtins(shown.surface_op),
        }
        text = json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return None
    return text.encode("utf-8", "backslashreplace")


def _change(content: list[dict[str, Any]], shown: ToolResult) -> None:
    for row, block in zip(content, shown.data.message.content, strict=True):
        if isinstance(block, ToolResultBlock):
            for piece, part in zip(row["content"], block.content, strict=True):
                if isinstance(part, Text):
                    piece["text"] = part.text
