"""What the fast coder cannot carry: lone surrogates, and blocks of unknown kinds.

A lone surrogate is concealed as a marked token before the fast coder runs and revealed after it.
An unknown block is quoted into an `OtherBlock` on the way in and stands unquoted on the way out.
"""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from slicetape.log.events import (
    AssistantMessage,
    Dispatch,
    Event,
    InboxSpliced,
    SystemMessage,
    ToolResult,
    UserMessage,
)
from slicetape.log.messages import Block, OtherBlock, ToolResultBlock
from slicetape.log.payloads import SystemData

T = TypeVar("T")

_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_HALF = re.compile("[\ud800-\udfff]")
_QUOTED = b'{"type":"slicetape/other","raw":'
_INNER_KINDS = frozenset(("text", "reasoning", "image", "file"))
_BLOCK_KINDS = _INNER_KINDS | {"tool-call", "tool-result"}


def conceal_in_event(event: T) -> tuple[T, str]:
    """The event with a marked token for each lone surrogate, and the mark."""
    strings: list[str] = []

    def collect(text: str) -> str:
        strings.append(text)
        return text

    _rebuilt(event, text=collect, opaque=lambda raw: raw)
    mark = _unused_mark("".join(strings))
    concealed: T = _rebuilt(
        event,
        text=lambda text: _HALF.sub(lambda half: f"{mark}{ord(half[0]):04x}", text),
        opaque=lambda raw: raw,
    )
    return concealed, mark


def conceal_in_line(line: bytes) -> tuple[bytes, str]:
    """The line with a marked token for each lone surrogate, and the mark; empty when none."""
    lone = list(_lone_escapes(line))
    if not lone:
        return line, ""
    mark = _unused_mark(line.decode("utf-8", "replace"), re.sub(rb"\\u", b"", line).lower())
    pieces: list[bytes] = []
    at = 0
    for start in lone:
        pieces += (line[at:start], mark.encode(), line[start + 2 : start + 6].lower())
        at = start + 6
    pieces.append(line[at:])
    return b"".join(pieces), mark


def _lone_escapes(line: bytes) -> list[int]:
    """Where the escapes of a line stand that name half a character."""
    lone: list[int] = []
    high = -1  # where an escape of a first half stands that may still find its second
    for match in _ESCAPE.finditer(line):
        unit = int(match[1], 16) if match[1] else 0
        if 0xDC00 <= unit <= 0xDFFF and high >= 0 and high + 6 == match.start():
            lone.pop()
            high = -1
            continue
        high = -1
        if 0xD800 <= unit <= 0xDFFF:
            lone.append(match.start())
            high = match.start() if unit <= 0xDBFF else -1
    return lone


def _unused_mark(text: str, escapes: bytes = b"") -> str:
    """A private character that `text` does not hold, plainly or escaped."""
    for code in range(0xE000, 0xF8FF):
        if chr(code) not in text and b"%04x" % code not in escapes:
            return chr(code)
    raise AssertionError("a text that holds every private character")


def halves_written(line: bytes, mark: str) -> bytes:
    """The line with the escape of each lone surrogate where its token stands."""
    return line.replace(mark.encode(), b"\\u") if mark else line


def reveal_halves(event: T, mark: str) -> T:
    """The event with each lone surrogate where its token stands."""
    token = re.compile(f"{mark}([0-9a-f]{{4}})")
    revealed: T = _rebuilt(
        event,
        text=lambda text: token.sub(lambda half: chr(int(half[1], 16)), text),
        opaque=lambda raw: halves_written(raw, mark),
    )
    return revealed


def _rebuilt(value: Any, *, text: Callable[[str], str], opaque: Callable[[bytes], bytes]) -> Any:
    """`value` with each string and each piece of JSON text changed; shared where unchanged."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Raw):
        before = bytes(value)
        after = opaque(before)
        return value if after == before else Raw(after)
    if isinstance(value, OtherBlock):
        return OtherBlock(opaque(value.raw.encode()).decode())
    if isinstance(value, tuple):
        return tuple([_rebuilt(item, text=text, opaque=opaque) for item in value])
    if isinstance(value, msgspec.Struct):
        changed = {}
        for name in value.__struct_fields__:
            field = getattr(value, name)
            new = _rebuilt(field, text=text, opaque=opaque)
            if new is not field and new != field:
                changed[name] = new
        return msgspec.structs.replace(value, **changed) if changed else value
    return value


def has_unknown_blocks(event: Event) -> bool:
    """Whether a message or dispatch of `event` holds a block of an unknown kind."""
    match event:
        case UserMessage(data=message) | SystemMessage(data=SystemData(message=message)):
            return _unknown_in(message.content)
        case AssistantMessage() | ToolResult():
            return _unknown_in(event.data.message.content)
        case Dispatch():
            return _unknown_in(event.data.content)
        case InboxSpliced():
            return any(_unknown_in(message.content) for message in event.data.inserted)
        case _:
            return False


def _unknown_in(blocks: tuple[Block, ...]) -> bool:
    for block in blocks:
        if type(block) is OtherBlock:
            return True
        if type(block) is ToolResultBlock and any(type(b) is OtherBlock for b in block.content):
            return True
    return False


def inline_blocks(value: Any) -> Any:
    """The value with each unknown block as the JSON it was read from."""
    if isinstance(value, OtherBlock):
        return Raw(value.raw)
    if isinstance(value, tuple):
        return tuple([inline_blocks(item) for item in value])
    if isinstance(value, msgspec.Struct):
        changed = {
            name: inline_blocks(getattr(value, name))
            for name in ("message", "content", "inserted")
            if name in value.__struct_fields__
        }
        return msgspec.structs.replace(value, **changed) if changed else value
    return value


def shelter_blocks(line: bytes) -> bytes:
    """The line with each block of an unknown kind quoted, and the last of repeated keys only."""
    try:
        return bytes(_sheltered(Raw(line), _BLOCK_KINDS))
    except msgspec.DecodeError:
        return line


def _sheltered(raw: Raw, kinds: frozenset[str]) -> Raw:
    """Follow the keys under which a line holds blocks."""
    members = msgspec.json.decode(raw, type=dict[str, Raw])
    for key in ("data", "message", "content", "inserted"):
        inner = members.get(key)
        if inner is None:
            continue
        first = bytes(inner)[:1]
        if first == b"[" and key in ("content", "inserted"):
            items = msgspec.json.decode(inner, type=list[Raw])
            change = _sheltered_block if key == "content" else _sheltered
            new = [change(i, kinds) if bytes(i)[:1] == b"{" else i for i in items]
            members[key] = Raw(msgspec.json.encode(new))
        elif first == b"{" and key in ("data", "message"):
            members[key] = _sheltered(inner, kinds)
    return Raw(msgspec.json.encode(members))


def _sheltered_block(raw: Raw, kinds: frozenset[str]) -> Raw:
    kind = msgspec.json.decode(msgspec.json.decode(raw, type=dict[str, Raw]).get("type", b"null"))
    if kind not in kinds and isinstance(kind, str):
        return Raw(_QUOTED + msgspec.json.encode(bytes(raw).decode()) + b"}")
    return _sheltered(raw, _INNER_KINDS) if kind == "tool-result" else raw
