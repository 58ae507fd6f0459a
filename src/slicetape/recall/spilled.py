"""Parts of a result that are previews of a text kept in a store, and how that text is reached.

A preview is never opened because of what it says: `Spills` decides what is a preview, and reads
by place in the log. A path in text is at most a key of a map that an importer filled.
"""

from dataclasses import dataclass
from typing import Protocol

from slicetape.errors import LogError, RecallError
from slicetape.log.events import ToolResult
from slicetape.log.spill import Spill, spill_head, spill_rows
from slicetape.recall.records import result_blocks, text_parts


class Spills(Protocol):
    """The stored full texts of one session. Blocks and parts count from 1."""

    def find(self, event: ToolResult, block: int, part: int) -> Spill | None:
        """What this part of an original result is a preview of; None for a whole text."""
        ...

    def read(self, seq: int, block: int, part: int) -> str:
        """The full text of a preview. LogError when it cannot be read."""
        ...


class NoSpills:
    """A session whose results are all in its log."""

    def find(self, event: ToolResult, block: int, part: int) -> Spill | None:
        """Every part is whole."""
        return None

    def read(self, seq: int, block: int, part: int) -> str:
        """Nothing to read."""
        raise LogError(f"seq {seq} block {block} part {part} has no stored text")


@dataclass(frozen=True, slots=True)
class Part:
    """One text part of a result block as recall shows it: hydrated, whole, or still a preview."""

    number: int
    text: str
    preview: Spill | None = None
    problem: str = ""


def hydrate(event: ToolResult, number: int, spills: Spills | None, where: str) -> list[Part]:
    """The text parts of block `number`, each brought back on its own; failures are kept.

    Without `spills` nothing is brought back: all that looks like a preview is marked as one.
    """
    texts = text_parts(result_blocks(event)[number - 1])
    parts = [Part(at, text) for at, text in enumerate(texts, start=1)]
    if spills is None:
        return [Part(part.number, part.text, _looks(event, number, part)) for part in parts]
    return [_hydrated(event, number, part, spills, where) for part in parts]


def full_text(event: ToolResult, number: int, spills: Spills, head: str) -> str:
    """The text of block `number` with every preview replaced; RecallError when one is gone."""
    texts = []
    for at, text in enumerate(text_parts(result_blocks(event)[number - 1]), start=1):
        where = f"{head} block {number} text part {at}"
        part = _hydrated(event, number, Part(at, text), spills, where)
        if part.problem:
            raise RecallError(part.problem)
        texts.append(part.text)
    return "\n".join(texts)


def _looks(event: ToolResult, number: int, part: Part) -> Spill | None:
    claim = spill_head(part.text)
    for row in spill_rows(event.data.meta):
        if claim is None and (row.block, row.part) == (number, part.number):
            return Spill(f"blobs/{row.sha256}", row.bytes)
    return claim


def _hydrated(event: ToolResult, number: int, part: Part, spills: Spills, where: str) -> Part:
    spill = spills.find(event, number, part.number)
    if spill is None:
        return part
    try:
        return Part(part.number, spills.read(event.seq, number, part.number))
    except LogError as error:
        size = "unknown bytes" if spill.bytes is None else f"{spill.bytes} bytes"
        problem = (
            f"expand_result: the full text of {where} ({size}) was stored at {spill.where} and "
            f"cannot be read from here ({error}); read that locator with the file tools instead"
        )
        return Part(part.number, part.text, spill, problem)
