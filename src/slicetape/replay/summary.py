"""The summary that stands for a model's in a replayed compaction.

It is generous to the arm: opening words of everything said, then every path and error line of the
results, newest first, cut at the host's limit.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from slicetape.log.events import AssistantMessage, Event, ToolResult, UserMessage, is_human
from slicetape.log.messages import Text, ToolResultBlock, text_of
from slicetape.surface.view import View

_OPENING = 200
_LONGEST_LINE = 500
_PATH = re.compile(r"(?:[\w.@+-]{1,80}/){1,12}[\w.@+-]{1,80}")
_ERROR = re.compile(r"error|exception|traceback|failed|fatal|panic", re.IGNORECASE)


def summarise(view: View, nodes: Sequence[int], *, count: Callable[[str], int], limit: int) -> str:
    """The summary of `nodes`, at most `limit` tokens by `count`."""
    kept: list[str] = []
    left = limit
    for line in _lines(view, nodes):
        left -= count(line + "\n")
        if left < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def _lines(view: View, nodes: Sequence[int]) -> Iterator[str]:
    for seq in nodes:
        event = view.events[seq]
        if isinstance(event, UserMessage) and event.data.source.plugin == "compact":
            yield from text_of(event.data.content[1:2]).splitlines()
        elif said := _said(event)[:_OPENING]:
            yield said
    seen: set[str] = set()
    for seq in reversed(nodes):
        event = view.events[seq]
        if isinstance(event, ToolResult):
            for line in _telling(event):
                if line not in seen:
                    seen.add(line)
                    yield line


def _said(event: Event) -> str:
    """What a person or the model wrote; nothing for what a program put in."""
    if isinstance(event, AssistantMessage):
        return text_of(event.data.message.content)
    if isinstance(event, UserMessage) and is_human(event):
        return text_of(event.data.content)
    return ""


def _telling(event: ToolResult) -> Iterator[str]:
    for block in event.data.message.content:
        if not isinstance(block, ToolResultBlock):
            continue
        for part in block.content:
            for line in part.text.splitlines() if isinstance(part, Text) else ():
                if _ERROR.search(line[:_LONGEST_LINE]):
                    yield line[:_LONGEST_LINE]
                else:
                    yield from _PATH.findall(line[:_LONGEST_LINE])
