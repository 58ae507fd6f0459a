"""The surface and the tape, node by node: what the next request holds and where it comes from."""

from collections.abc import Iterator

import click

from slicetape.cli.output import on_terminal, width
from slicetape.cli.text import cut, one_line, visible
from slicetape.log.events import (
    AssistantMessage,
    Event,
    SystemMessage,
    ToolResult,
    UserMessage,
    is_entry,
    is_snapshot,
)
from slicetape.log.messages import (
    Block,
    File,
    Image,
    Message,
    OtherBlock,
    Reasoning,
    Text,
    ToolCall,
    ToolResultBlock,
)
from slicetape.policy.header import turn_range
from slicetape.surface import View, message_at

_TEXT = 200


def kind_of(event: Event) -> str:
    """What a node is, in one word."""
    if isinstance(event, SystemMessage):
        return "system"
    if isinstance(event, AssistantMessage):
        return "assistant"
    if isinstance(event, ToolResult):
        return "result" if event.is_original else "view"
    if is_entry(event):
        return "entry"
    if isinstance(event, UserMessage) and event.data.source.kind == "user":
        return "human"
    return "snapshot" if is_snapshot(event) else "context"


def said(message: Message | None) -> str:
    """Everything in a message that is text, a part a line."""
    return "\n".join(_part(block) for block in message.content) if message else ""


def _part(block: Block) -> str:
    if isinstance(block, Text | Reasoning):
        return block.text
    if isinstance(block, ToolCall):
        return f"{block.name} {block.arguments}"
    if isinstance(block, ToolResultBlock):
        return "\n".join(_part(part) for part in block.content)
    return attached(block)


def attached(block: Image | File | OtherBlock) -> str:
    """One word for a block that is no text."""
    if isinstance(block, OtherBlock):
        return "[block of another kind]"
    kind = "image" if isinstance(block, Image) else "file"
    facts = block.attachment
    size = f" {facts.width}×{facts.height}" if facts.width else ""
    return f"[{kind}{size} {facts.media_type or ''} {facts.name or facts.attachment_id}]"


def chars_of(message: Message | None) -> int:
    """Code points of text, reasoning, call names and arguments, and results."""
    return sum(map(_chars, message.content)) if message else 0


def _chars(block: Block) -> int:
    if isinstance(block, Text | Reasoning):
        return len(block.text)
    if isinstance(block, ToolCall):
        return len(block.name) + len(block.arguments)
    return sum(map(_chars, block.content)) if isinstance(block, ToolResultBlock) else 0


def surface_rows(view: View, turn: int | None = None) -> Iterator[dict[str, object]]:
    """Every node in order, for programs."""
    for position, seq in enumerate(view.surface.nodes):
        event = view.events[seq]
        owner = _turn_of(view, event)
        if turn is not None and owner != turn:
            continue
        message = message_at(event)
        row: dict[str, object] = {"position": position, "seq": seq, "kind": kind_of(event)}
        if owner:
            row["turn"] = owner
        yield {**row, "chars": chars_of(message), "text": said(message)}


def surface_lines(view: View, turn: int | None = None) -> Iterator[str]:
    """Every node in order, a line each, for people."""
    yield click.style("  node     seq  kind        turn      chars  text", bold=True)
    total = count = 0
    room = max(20, width() - 46) if on_terminal() else _TEXT
    for row in surface_rows(view, turn):
        count += 1
        total += int(str(row["chars"]))
        turn_text = str(row.get("turn", "–"))
        line = f"{row['position']:>6}  {row['seq']:>6}  {row['kind']:<10}  {turn_text:>4}"
        yield f"{line}  {row['chars']:>9,}  {one_line(str(row['text']), room)}"
    yield click.style(f"{count:,} nodes, {total:,} chars", dim=True)


def tape_rows(view: View, turn: int | None = None) -> Iterator[dict[str, object]]:
    """The entries on the surface, in order, for programs."""
    for seq in view.entries:
        event = view.events[seq]
        message = message_at(event)
        text = said(message)
        turns = turn_range(text)
        if turn is not None and not (turns and turns[0] <= turn <= turns[1]):
            continue
        yield {
            "seq": seq,
            "turns": list(turns) if turns else None,
            "replaces": list(event.sources),
            "chars": len(text),
            "text": text,
        }


def tape_lines(view: View, turn: int | None = None) -> Iterator[str]:
    """The entries with their whole text, for people."""
    rows = list(tape_rows(view, turn))
    if not rows:
        yield "no entries: nothing is sealed here; `slicetape replay` shows what sealing would do"
    for row in rows:
        nodes = len(list(view.events[int(str(row["seq"]))].sources))
        head = f"── entry at seq {row['seq']} · stands for {nodes} nodes · {row['chars']:,} chars "
        yield click.style(cut(head, width()), bold=True)
        yield visible(str(row["text"]))
        yield ""


def _turn_of(view: View, event: Event) -> int:
    if isinstance(event, SystemMessage) or is_entry(event):
        return 0
    return view.turns.owner(event)
