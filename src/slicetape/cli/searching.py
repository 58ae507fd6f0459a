"""`slicetape search`: words in all sessions at home, and the command that shows each place."""

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import cast

import click

from slicetape.cli.catalog import catalog_at_home
from slicetape.cli.output import echo_json, on_terminal, width
from slicetape.cli.text import cut, one_line
from slicetape.log.catalogrows import CatalogHit, Kind
from slicetape.recall.index import KINDS
from slicetape.recall.search import RESULT_KINDS, snippet, snippet_size, terms

_EXAMPLES = """\b
Examples:
  slicetape search connection refused
  slicetape search "retry policy" --kinds user,assistant
  slicetape search 连接失败 --limit 3 --json"""

_NAMES = {
    "user": "human",
    "assistant": "assistant",
    "context": "context",
    "tool_input": "call",
    "tool_error": "tool error",
    "tool_output": "tool output",
}


@click.command(epilog=_EXAMPLES)
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    metavar="N",
    help="At most this many texts.",
)
@click.option("--kinds", metavar="LIST", help=f"Only these kinds of text: {','.join(KINDS)}.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def search(words: tuple[str, ...], limit: int, kinds: str | None, *, as_json: bool) -> None:
    """Find words in all sessions: texts with all words first, rare words weigh more."""
    query = " ".join(words)
    chosen = _kinds(kinds)
    with catalog_at_home() as catalog:
        hits = catalog.search(query, limit, kinds=chosen)
        count = 0 if hits else len(catalog.sessions())
    if as_json:
        for hit in hits:
            echo_json(_shape(hit, query))
    else:
        for line in _lines(hits, query):
            click.echo(line)
    if not hits:
        where = f"in {count} sessions" if count else "no sessions; `slicetape import FILE` first"
        click.echo(f"no hits: {where}", err=True)


def _kinds(text: str | None) -> tuple[Kind, ...]:
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if name not in KINDS:
            raise click.UsageError(f"no kind {name[:40]!r}; the kinds are {', '.join(KINDS)}")
    return cast("tuple[Kind, ...]", tuple(names))


def _lines(hits: Sequence[CatalogHit], query: str) -> Iterator[str]:
    for hit in hits:
        row = hit.document
        place = f"turn {row.turn}" + (f" step {row.step}" if row.step else "")
        some = "" if hit.complete else " · some of the words"
        head = f"{one_line(hit.session.id, 60)} · {place} · {_NAMES[row.kind]}{some}"
        yield click.style(head, bold=True)
        text = one_line(_snippet(hit, query))
        yield f"  {cut(text, 2 * width() - 4) if on_terminal() else text}"
        yield click.style(f"  {one_line(_command(hit))}", dim=True)


def _snippet(hit: CatalogHit, query: str) -> str:
    text = hit.document.text
    return snippet(text, text.lower(), terms(query), most=snippet_size(hit.document.kind))


def _command(hit: CatalogHit) -> str:
    """What to type to read the whole text."""
    row = hit.document
    start = f"slicetape recall {quote(hit.session.id)}"
    if row.kind in RESULT_KINDS:
        return f"{start} expand {row.seq}" + (f" --block {row.block}" if row.block else "")
    if row.kind == "tool_input":
        return f"{start} step {row.turn} {row.step}"
    return f"{start} turn {row.turn}"


def _shape(hit: CatalogHit, query: str) -> dict[str, object]:
    row = hit.document
    shape: dict[str, object] = {
        "session": hit.session.id,
        "project": hit.session.cwd,
        "turn": row.turn,
        "step": row.step,
        "seq": row.seq,
        "kind": row.kind,
        "complete": hit.complete,
        "snippet": _snippet(hit, query),
        "recall": _command(hit),
    }
    return shape | ({"block": row.block} if row.block else {})
