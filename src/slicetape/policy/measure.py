"""Sizes in code points: of nodes as they stand, and of a view after a plan."""

from collections.abc import Sequence

from slicetape.log.messages import Message, Reasoning, Text, ToolCall, ToolResultBlock
from slicetape.policy.policy import Seal, json_chars
from slicetape.surface.messages import message_at
from slicetape.surface.protect import is_protected
from slicetape.surface.view import View


def nodes_chars(view: View, nodes: Sequence[int]) -> int:
    """Code points of nodes as they stand: text, reasoning, call names, arguments, results."""
    return sum(_chars(message_at(view.events[seq])) for seq in nodes)


def measure_plan(
    view: View, live: int | None, pending: Sequence[Message], seals: Sequence[Seal]
) -> tuple[int, int]:
    """Code points of the JSON of the whole view, and of its movable part, after `seals`."""
    entry_at = {seal.sources[0]: seal.event(0).data for seal in seals}
    hidden = {seq for seal in seals for seq in seal.sources}
    frozen = view.surface.position(view.entries[-1]) + 1 if view.entries else 0
    shown: list[Message] = []
    history = list(entry_at.values())
    for position, seq in enumerate(view.surface.nodes):
        if seq in entry_at:
            shown.append(entry_at[seq])
        message = message_at(view.events[seq])
        if seq in hidden or message is None:
            continue
        shown.append(message)
        if position >= frozen and not is_protected(view, seq, live):
            history.append(message)
    return json_chars([*shown, *pending]), json_chars(history)


def _chars(message: Message | None) -> int:
    if message is None:
        return 0
    total = 0
    for block in message.content:
        if isinstance(block, Text | Reasoning):
            total += len(block.text)
        elif isinstance(block, ToolCall):
            total += len(block.name) + len(block.arguments)
        elif isinstance(block, ToolResultBlock):
            total += sum(len(part.text) for part in block.content if isinstance(part, Text))
    return total
