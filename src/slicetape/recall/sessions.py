"""Search across sessions: the rows a session gives the catalog, and the page of its hits."""

from collections.abc import Iterator, Sequence

from slicetape.log.catalogrows import CatalogHit, DocumentRow, SessionRow
from slicetape.log.events import Header
from slicetape.recall.index import Document, Index, documents_of
from slicetape.recall.locators import Locators
from slicetape.recall.search import hit_line, snippet, snippet_size, terms


def session_row(
    index: Index, header: Header, *, path: str, format: str = "slicetape"
) -> SessionRow:
    """What the catalog lists of a session; the caller adds `size` and `mtime` of the file."""
    return SessionRow(
        id=header.id,
        path=path,
        format=format,
        created=header.created_at,
        cwd=header.cwd or "",
        title=index.title,
        turns=len(index.view.turns.status),
        steps=index.steps,
        calls=index.calls,
        events=index.taken,
    )


def document_rows(index: Index, *, after: int = 0) -> Iterator[DocumentRow]:
    """The texts of a session for the catalog, from the seq `after` on, in log order."""
    for seq in range(after, index.taken):
        for document, text in documents_of(index.view, index.view.events[seq]):
            yield DocumentRow(
                seq=document.seq,
                turn=document.turn,
                step=document.step,
                kind=document.kind,
                block=document.block or 0,
                text=text,
            )


def render_found(hits: Sequence[CatalogHit], query: str) -> str:
    """One line a hit: session, place, text and the call that returns the original."""
    lines = []
    for hit in hits:
        row = hit.document
        document = Document(
            seq=row.seq,
            turn=row.turn,
            step=row.step,
            kind=row.kind,
            place=row.block,
            siblings=2 if row.block else 1,
            length=len(row.text),
        )
        size = snippet_size(row.kind)
        shown = snippet(row.text, row.text.lower(), terms(query), most=size)
        lines.append(f"{hit.session.id} {hit_line(document, shown, Locators(hit.session.id))}")
    return "\n".join(lines)
