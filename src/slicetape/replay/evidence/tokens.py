"""The words that count as evidence, and the texts of an event in which they are looked for.

A text contains a word only as a maximal match: one scan from left to right, in which a name takes
everything that belongs to it, so that no part of a longer word counts.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from slicetape.log.events import AssistantMessage, Event, SystemMessage, ToolResult, UserMessage
from slicetape.log.messages import Text, ToolCall, ToolResultBlock
from slicetape.recall.index import CJK_RUN

LEAST_NAME = 6
"""Characters of a name or path."""

LEAST_DIGITS = 3
"""Digits of a number."""

LEAST_RUN = 4
"""Letters of a run of CJK."""

_WORD = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]*+(?:[./:\-][A-Za-z0-9_]++)*+"
    r"|[0-9]++(?:[._][0-9]++)*+"
    f"|{CJK_RUN.pattern}"
)


def tokens(text: str) -> set[str]:
    """The evidence tokens that `text` contains."""
    return {word for word in set(_WORD.findall(text)) if _counts(word)}


def contained(text: str, wanted: frozenset[str]) -> frozenset[str]:
    """The tokens of `wanted` that `text` contains."""
    return wanted.intersection(_WORD.findall(text)) if wanted else wanted


def texts_of(event: Event) -> Iterator[str]:
    """What people, model and tools wrote in an event, and the strings of its tool arguments.

    Not reasoning. Arguments are decoded where they are JSON, whole otherwise.
    """
    yield from said(event)
    yield from argued(event)


def said(event: Event) -> Iterator[str]:
    """The texts of a message, or of the result blocks of an event."""
    if isinstance(event, UserMessage):
        content = event.data.content
    elif isinstance(event, AssistantMessage | ToolResult | SystemMessage):
        content = event.data.message.content
    else:
        return
    for block in content:
        if isinstance(block, Text):
            yield block.text
        elif isinstance(block, ToolResultBlock):
            yield from (part.text for part in block.content if isinstance(part, Text))


def argued(event: Event) -> Iterator[str]:
    """The strings in the arguments of the calls of a message."""
    if isinstance(event, AssistantMessage):
        for block in event.data.message.content:
            if isinstance(block, ToolCall):
                yield from strings(block.arguments)


def strings(text: str | bytes, *, keys: bool = False) -> Iterator[str]:
    """Every string value in a JSON text, with `keys` every key too; the text itself if it is none.

    A text with lone surrogates or too deep a nesting is none.
    """
    try:
        left: list[Any] = [msgspec.json.decode(text)]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        yield text if isinstance(text, str) else text.decode("utf-8", "replace")
        return
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            left.extend(reversed(value))
        elif isinstance(value, dict):
            if keys:
                yield from value
            left.extend(reversed(value.values()))


def _counts(word: str) -> bool:
    first = word[0]
    if first.isascii():
        if first.isdigit():
            return len(word) - word.count(".") - word.count("_") >= LEAST_DIGITS
        return len(word) >= LEAST_NAME
    return len(word) >= LEAST_RUN
