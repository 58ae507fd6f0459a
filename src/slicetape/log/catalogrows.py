"""What the catalog is told of a session, and what a search across sessions returns."""

from typing import Literal

import msgspec

Kind = Literal["user", "assistant", "context", "tool_input", "tool_error", "tool_output"]
"""What a searchable text is: said by a person, by the model, injected; or of a tool."""


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One session as the catalog knows it.

    `created` is epoch milliseconds; `events` is how many events were handed in; `size` in bytes
    and `mtime` in nanoseconds are those of the file when it was read.
    """

    id: str
    path: str
    format: str = "slicetape"
    created: int = 0
    cwd: str = ""
    title: str = ""
    turns: int = 0
    steps: int = 0
    calls: int = 0
    events: int = 0
    size: int = 0
    mtime: int = 0


class DocumentRow(msgspec.Struct, frozen=True, kw_only=True):
    """One text of a session, and where it stands; `block` is 0 unless a locator must name it."""

    seq: int
    turn: int
    step: int
    kind: Kind
    block: int
    text: str


class CatalogHit(msgspec.Struct, frozen=True):
    """A text that matches, and its session; `complete` when it has every word of the query."""

    session: SessionRow
    document: DocumentRow
    complete: bool
