"""recall_search: where a session said something, ranked; and how to read it there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from slicetape.log.catalogrows import Kind
from slicetape.log.events import FORMAT_VERSION
from slicetape.recall.index import CJK_RUN, KINDS, Document, Index
from slicetape.recall.locators import Locators
from slicetape.recall.ranking import RANKING, Found, Ranking, Slots, matched_groups, ranked

Scope = Literal["dialogue", "auto"]
DEFAULT_LIMIT = 5
MOST_HITS = 20
MOST_TERMS = 256
"""Terms of a query that are looked for."""

OUTPUT_SLOTS = 3
"""Hits of tool output that scope `auto` keeps beside the others."""

DEFAULT_KINDS: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind != "tool_output")
SNIPPET = 180
RESULT_SNIPPET = 600
RESULT_KINDS = frozenset({"tool_error", "tool_output"})

SEPARATORS = re.compile(r"[^\w.\-]+")
HOW_TO_READ = (
    "historical record — each hit ends with the exact call that returns its original: "
    'recall_turn({"turn": "slice-turn-N"}) (view "dialogue" is the default: the cheap text-only '
    'page) for said text, recall_turn view "full" for tool inputs, '
    f'expand_result({{"seq": Q,"formatVersion": {FORMAT_VERSION},"block": B}}) for tool output '
    "(block only for multi-result events)"
)
BROADEN = "broaden the query, or check earlier sealed turns with recall_turn"
TRY_OUTPUT = 'retry with kinds: ["tool_output"] if the fact was tool-born, or broaden the query'


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that matches, its score, and the text around its first match."""

    document: Document
    score: float
    snippet: str


def terms(query: str) -> tuple[str, ...]:
    """What a query looks for: its lower-cased words, and the pairs within its CJK runs.

    A word is a run of letters, numbers, `_`, `.` and `-` of two or more characters. CJK writes
    words without blanks, so each word is followed by every two neighbouring letters of each CJK
    run in it, in order and once a word; a word that is such a pair is not repeated. All of them
    are terms of equal weight; those beyond the first 256 are left out.
    """
    found: list[str] = []
    for word in SEPARATORS.split(query.lower()):
        if len(word) >= 2:
            pairs = [
                run[at : at + 2] for run in CJK_RUN.findall(word) for at in range(len(run) - 1)
            ]
            found += dict.fromkeys([word, *pairs])
    return tuple(found[:MOST_TERMS])


def searched_kinds(scope: Scope, kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    """The kinds a search looks through: those asked for, else those of its scope."""
    if kinds:
        return tuple(kinds)
    return KINDS if scope == "auto" else DEFAULT_KINDS


def search(
    index: Index,
    query: str,
    *,
    scope: Scope = "dialogue",
    kinds: Sequence[Kind] = (),
    limit: float = DEFAULT_LIMIT,
    ranking: Ranking = RANKING,
) -> list[Hit]:
    """The best hits: those with the rarest term first, then more terms, more often, newer.

    Of the turn still open only results are found that its requests show as views: the rest
    stands in front of the model, with the search itself. `auto` keeps at most three hits of tool
    output beside `limit` others.
    """
    wanted = terms(query)
    if not wanted:
        return []
    limit = min(max(limit, 1), MOST_HITS)
    groups = matched_groups(index, searched_kinds(scope, kinds), wanted, ranking)
    slots = Slots(limit, outputs=None if kinds or scope != "auto" else OUTPUT_SLOTS)
    for found in ranked(groups, wanted):
        if slots.take(found):
            break
    return [Hit(found.document, found.score, _shown(index, found, wanted)) for found in slots.taken]


def render_hits(
    hits: Sequence[Hit], query: str, kinds: Sequence[Kind], *, locators: Locators
) -> str:
    """The page of a search; without hits, what was searched and what to try next."""
    if not hits:
        hint = BROADEN if "tool_output" in kinds else TRY_OUTPUT
        return f'[recall_search "{query}" · 0 hits over kinds {"/".join(kinds)} — {hint}]'
    head = f'[recall_search "{query}" · {len(hits)} hit(s) · {HOW_TO_READ}]'
    return "\n".join(
        [head, *(f"- {hit_line(hit.document, hit.snippet, locators)}" for hit in hits)]
    )


def locator(document: Document, locators: Locators) -> str:
    """The call that returns the original of a document."""
    if document.kind in RESULT_KINDS:
        return locators.result(document.seq, document.block)
    return locators.turn(document.turn, "full" if document.kind == "tool_input" else "dialogue")


def snippet_size(kind: Kind) -> int:
    """How many code points of a text of this kind a hit shows."""
    return RESULT_SNIPPET if kind in RESULT_KINDS else SNIPPET


def hit_line(document: Document, shown: str, locators: Locators) -> str:
    """Where a hit stands, the text around it, and the call that returns its original."""
    place = f"slice-turn-{document.turn}"
    if document.step:
        place += f" step {document.step}"
    if document.kind in RESULT_KINDS:
        place += f" seq {document.seq}"
        if document.block:
            place += f" block {document.block}"
    return f"{place} [{document.kind}] {shown} → {locator(document, locators)}"


def _shown(index: Index, found: Found, wanted: Sequence[str]) -> str:
    text = index.text(found.document)
    return snippet(text, found.lowered, wanted, most=snippet_size(found.document.kind))


def snippet(text: str, lowered: str, wanted: Sequence[str], *, most: int) -> str:
    """The text around the first place of any term, on one line, with `…` where it goes on."""
    found = [at for at in (lowered.find(term) for term in wanted) if at >= 0]
    start = max(_original_place(text, lowered, min(found, default=0)) - most // 2, 0)
    body = " ".join(text[start : start + most].split())
    behind = "…" if start + most < len(text) else ""
    return f"{'…' if start else ''}{body}{behind}"


def _original_place(text: str, lowered: str, place: int) -> int:
    """The place in `text` of a place in its lower-cased form, which may be longer."""
    if len(text) == len(lowered):
        return place
    ends = accumulate(len(letter.lower()) for letter in text)
    return next((at for at, end in enumerate(ends) if end > place), 0)
