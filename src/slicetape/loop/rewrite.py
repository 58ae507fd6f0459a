"""The line of a result that is shown in another form: the original's, but for its texts.

Hosts write more into a result than slicetape reads. Whoever checks that a replacement changed
nothing but text compares all of it, so it is taken over from the original's own line.
"""

import json
from collections.abc import Sequence

import msgspec
from msgspec import Raw

from slicetape.log.codec import encode_event
from slicetape.log.events import ToolResult
from slicetape.log.messages import Text, ToolResultBlock

_fields = msgspec.json.Decoder(dict[str, Raw])
_items = msgspec.json.Decoder(list[Raw])


def rewritten(line: bytes, original: ToolResult, shown: ToolResult) -> bytes | None:
    """The line that says `shown` with everything that `line`, the original's, says besides.

    `shown` carries the seq it will have. None when `original` says all that the line does, so
    that `shown` can be written as it is.
    """
    if line == encode_event(original):
        return None
    row, said = _fields.decode(line), _fields.decode(encode_event(shown))
    data = _fields.decode(row["data"])
    message = _fields.decode(data["message"])
    message["content"] = _content(message["content"], shown)
    data["message"] = _raw(message)
    row["data"] = _raw(data)
    for name in ("seq", "time", "surfaceOp", "sourceEventSeqs"):
        row[name] = said[name]
    return msgspec.json.encode(row)


def _content(content: Raw, shown: ToolResult) -> Raw:
    blocks = _items.decode(content)
    for at, block in enumerate(shown.data.message.content):
        if isinstance(block, ToolResultBlock):
            fields = _fields.decode(blocks[at])
            fields["content"] = _parts(fields["content"], block)
            blocks[at] = _raw(fields)
    return _raw(blocks)


def _parts(content: Raw, block: ToolResultBlock) -> Raw:
    parts = _items.decode(content)
    for at, part in enumerate(block.content):
        if isinstance(part, Text):
            fields = _fields.decode(parts[at])
            fields["text"] = _text(part.text)
            parts[at] = _raw(fields)
    return _raw(parts)


def _text(text: str) -> Raw:
    try:
        return Raw(msgspec.json.encode(text))
    except UnicodeEncodeError:
        return Raw(json.dumps(text).encode())


def _raw(value: dict[str, Raw] | Sequence[Raw]) -> Raw:
    return Raw(msgspec.json.encode(value))
