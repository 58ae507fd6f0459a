"""The views of a session: which results are shown as less, and how much less."""

from collections.abc import Iterator

import click

from slicetape.cli.nodes import chars_of, said
from slicetape.cli.output import width
from slicetape.cli.text import cut, visible
from slicetape.log.events import ToolResult
from slicetape.policy.entry import original_of
from slicetape.surface import View, message_at


def fold_rows(view: View, turn: int | None = None) -> Iterator[dict[str, object]]:
    """Every view in the log, in order, for programs. `shown` says that it is on the surface."""
    for event in view.events:
        if not isinstance(event, ToolResult) or event.is_original:
            continue
        if turn is not None and event.data.turn != turn:
            continue
        original = original_of(view, event.seq)
        message = message_at(event)
        yield {
            "seq": event.seq,
            "original": original,
            "turn": event.data.turn,
            "step": event.data.step,
            "tools": list(view.calls.names.get(original, ())),
            "chars": chars_of(message_at(view.events[original])),
            "view_chars": chars_of(message),
            "shown": event.seq in view.surface,
            "text": said(message),
        }


def fold_lines(view: View, turn: int | None = None) -> Iterator[str]:
    """Every view with its whole text, for people."""
    rows = list(fold_rows(view, turn))
    if not rows:
        yield "no views: nothing is folded here; `slicetape replay --arms fold` shows what would be"
    for row in rows:
        sizes = f"{row['chars']:,} → {row['view_chars']:,} chars"
        where = "" if row["shown"] else " · no longer shown"
        head = f"── view at seq {row['seq']} of seq {row['original']} · {sizes}{where} "
        yield click.style(cut(head, width()), bold=True)
        yield visible(str(row["text"]))
        yield ""
    if rows:
        before = sum(int(str(row["chars"])) for row in rows)
        after = sum(int(str(row["view_chars"])) for row in rows)
        yield click.style(f"{len(rows):,} views, {before:,} → {after:,} chars", dim=True)
