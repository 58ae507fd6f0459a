"""The transcript of a session as people read it: what was said and done, in order.

It is built from original events, so nothing is missing from it that was sealed or folded since.
"""

from collections.abc import Iterator
from shlex import quote

import click

from slicetape.cli.nodes import attached, said
from slicetape.cli.output import on_terminal, width
from slicetape.cli.target import Target
from slicetape.cli.text import counted, one_line, visible, when, wrapped
from slicetape.log.events import (
    AssistantAttempt,
    AssistantMessage,
    CompactionSummary,
    Dispatch,
    DispatchStart,
    Event,
    Foreign,
    Retry,
    SystemMessage,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from slicetape.log.messages import (
    Block,
    File,
    Image,
    OtherBlock,
    Reasoning,
    Text,
    ToolCall,
    ToolResultBlock,
)
from slicetape.log.seqs import unpack
from slicetape.recall.records import source_name
from slicetape.surface import View

RESULT_LINES = 8
"""Lines of a result that are printed; recall has all of them."""

CONTEXT_LINES = 4
"""Lines of generated context and of reasoning that are printed."""

_LINE = 400
_NOTED = frozenset(
    """
    x/compaction x/compaction-summary x/microcompaction x/note x/orphan-result x/outcome x/unread
    """.split()  # noqa: SIM905
)
"""Kinds of our own events that say something about the conversation itself."""


class Reader:
    """Writes the lines of a transcript for people."""

    def __init__(self, found: Target, named: str, view: View) -> None:
        """`named` is what a person typed to name the session, to print commands with it."""
        self._id = found.id
        self._named = one_line(quote(named), 200)
        self._view = view
        self._head = found.log.header

    def lines(self, first: int, last: int) -> Iterator[str]:
        """The transcript from seq `first` to `last`."""
        yield from self._heading()
        for seq in range(first, last + 1):
            event = self._view.events[seq]
            if event.is_original:
                yield from self._event(event)

    def _heading(self) -> Iterator[str]:
        facts = [f"session {one_line(self._id, 80)}", when(self._head.created_at)]
        facts.append(one_line(self._head.cwd or "", 80))
        yield click.style(" · ".join(filter(None, facts)), bold=True)

    def _event(self, event: Event) -> Iterator[str]:
        if isinstance(event, TurnStart):
            yield ""
            yield self._rule(f"turn {event.data.turn}", when(event.time))
        elif isinstance(event, TurnEnd):
            if event.data.reason.kind != "completed":
                yield _dim(f"turn {event.data.turn} ended: {_reason(event)}")
        elif isinstance(event, UserMessage):
            yield from self._user(event)
        elif isinstance(event, SystemMessage):
            yield from _labelled("system", said(event.data.message), CONTEXT_LINES, dim=True)
        elif isinstance(event, AssistantMessage):
            yield from self._assistant(event)
        elif isinstance(event, ToolResult):
            yield from self._result(event)
        else:
            yield from self._beside(event)

    def _beside(self, event: Event) -> Iterator[str]:
        """What happened beside what was said."""
        if isinstance(event, AssistantAttempt):
            yield _dim(f"step {event.data.step}: a model call that gave no message")
        elif isinstance(event, DispatchStart):
            arguments = one_line(bytes(event.data.arguments).decode(), max(30, width() - 40))
            yield click.style(f"    ↳ {one_line(event.data.name, 40)} ", fg="yellow") + arguments
        elif isinstance(event, Dispatch):
            yield _dim(self._nested(event))
        elif isinstance(event, Retry):
            failure = one_line(event.data.failure.message, 200)
            yield _dim(f"step {event.data.step}: retry {event.data.retry} after: {failure}")
        elif isinstance(event, CompactionSummary):
            nodes = counted(len(unpack(event.data.shadowed_seqs)), "node")
            yield self._rule(f"compaction of {nodes}")
        elif isinstance(event, Foreign) and event.kind in _NOTED:
            yield _dim(one_line(f"[{event.kind}] {bytes(event.data).decode()}", width() - 2))

    def _user(self, event: UserMessage) -> Iterator[str]:
        if event.data.source.kind == "user":
            yield from _labelled("human", said(event.data), None, color="green")
        else:
            name = f"context · {one_line(source_name(event.data.source), 60)}"
            yield from _labelled(name, said(event.data), CONTEXT_LINES, dim=True)

    def _assistant(self, event: AssistantMessage) -> Iterator[str]:
        data = event.data
        cut_off = " · interrupted" if data.interrupted else ""
        model = one_line(data.message.source.model or "", 60)
        facts = " · ".join(filter(None, [f"step {data.step}", model]))
        yield click.style(f"assistant · {facts}{cut_off}", fg="cyan")
        for block in data.message.content:
            yield from _block(block)

    def _result(self, event: ToolResult) -> Iterator[str]:
        names = self._view.calls.names[event.seq]
        blocks = [b for b in event.data.message.content if isinstance(b, ToolResultBlock)]
        for number, (block, name) in enumerate(zip(blocks, names, strict=True), 1):
            text = "\n".join(
                part.text if isinstance(part, Text | Reasoning) else attached(part)
                for part in block.content
            )
            which = f" block {number}" if len(blocks) > 1 else ""
            failed = " · error" if block.is_error else ""
            size = chars_of_text(block)
            head = f"  ← seq {event.seq}{which} · {one_line(name, 40)} · {size:,} chars{failed}"
            yield click.style(head, fg="red" if block.is_error else "yellow")
            option = f" --block {number}" if len(blocks) > 1 else ""
            more = f"slicetape recall {self._named} expand {event.seq}{option}"
            yield from _bounded(text, RESULT_LINES, indent="    ", more=more)

    def _nested(self, event: Dispatch) -> str:
        size = sum(len(part.text) for part in event.data.content if isinstance(part, Text))
        failed = " · error" if event.data.is_error else ""
        name = one_line(event.data.name, 40)
        return f"    ↲ seq {event.seq} · {name} · {counted(size, 'char')}{failed}"

    def _rule(self, *facts: str) -> str:
        title = " · ".join(filter(None, facts))
        return click.style(f"── {title} {'─' * max(4, 56 - len(title))}", bold=True)


def chars_of_text(block: ToolResultBlock) -> int:
    """Code points of the text of a result."""
    return sum(len(part.text) for part in block.content if isinstance(part, Text))


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        yield from _bounded(block.text, None)
    elif isinstance(block, Reasoning):
        yield from (_dim(line) for line in _bounded(block.text, CONTEXT_LINES, indent="  ~ "))
    elif isinstance(block, ToolCall):
        arguments = one_line(block.arguments, max(30, width() - 8 - len(block.name[:40])))
        yield click.style(f"  → {one_line(block.name, 40)} ", fg="yellow") + arguments
    elif isinstance(block, Image | File | OtherBlock):
        yield f"  {one_line(attached(block), 200)}"


def _labelled(
    label: str, text: str, most: int | None, *, color: str | None = None, dim: bool = False
) -> Iterator[str]:
    yield click.style(label, fg=color, dim=dim)
    for line in _bounded(text, most):
        yield click.style(line, dim=True) if dim else line


def _bounded(text: str, most: int | None, *, indent: str = "  ", more: str = "") -> Iterator[str]:
    """The lines of a text, indented; past `most` lines, how many are left and how to get them."""
    if not text.strip():
        return
    lines = visible(text).rstrip("\n").split("\n")
    shown = lines if most is None or len(lines) <= most + 1 else lines[:most]
    where = f": {more}" if more else ""
    for line in shown:
        if most is not None and len(line) > _LINE:
            yield f"{indent}{line[:_LINE]}"
            yield _dim(f"{indent}… {len(line) - _LINE:,} more chars in this line{where}")
        elif most is None and on_terminal():
            yield from (indent + piece for piece in wrapped(line, width() - len(indent)))
        else:
            yield indent + line
    if len(shown) < len(lines):
        yield _dim(f"{indent}… {len(lines) - len(shown):,} more lines{where}")


def _reason(event: TurnEnd) -> str:
    reason = event.data.reason
    why = reason.error.message if reason.error else ""
    return one_line(f"{reason.kind} {why}".strip(), 200)


def _dim(text: str) -> str:
    return click.style(text, dim=True)
