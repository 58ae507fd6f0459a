"""recall_search: where a session said something, ranked; and how to read it there."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

from slicetape.log.catalogrows import Kind
from slicetape.log.events import FORMAT_VERSION
from slicetape.recall.index import KINDS, Document, Index
from slicetape.recall.locators import Locators

Scope = Literal["dialogue", "auto"]
DEFAULT_LIMIT = 5
MOST_HITS = 20
OUTPUT_SLOTS = 3
"""Hits of tool output that scope `auto` keeps beside the others."""

DEFAULT_KINDS: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind != "tool_output")
SNIPPET = 180
RESULT_SNIPPET = 600
RESULT_KINDS = frozenset({"tool_error", "tool_output"})

SEPARATORS = re.compile(r"[^\w.\-]+")
CJK_RUN = re.compile(
    "[\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c"
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\uff66-\uffdc\U00016ff0-\U0001b2ff\U00020000-\U000323af]{2,}"
)
"""Two or more letters in a row of Han, Hiragana, Katakana, Bopomofo or Hangul."""

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
    are terms of equal weight.
    """
    found: list[str] = []
    for word in SEPARATORS.split(query.lower()):
        if len(word) >= 2:
            pairs = [
                run[at : at + 2] for run in CJK_RUN.findall(word) for at in range(len(run) - 1)
            ]
            found += dict.fromkeys([word, *pairs])
    return tuple(found)


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
) -> list[Hit]:
    """The best hits: coverage of the terms first, then how often, then the newest turn.

    The turn still open is left out, for it holds the search itself. `auto` keeps at most three
    hits of tool output beside `limit` others.
    """
    wanted = terms(query)
    if not wanted:
        return []
    ranked: list[tuple[float, int, int, int, Document, str]] = []
    for kind in dict.fromkeys(searched_kinds(scope, kinds)):
        ranked += _scored(index, kind, wanted)
    ranked.sort(key=lambda found: found[:4])
    limit = min(max(limit, 1), MOST_HITS)
    slots = not kinds and scope == "auto"
    chosen = _slotted(ranked, limit) if slots else ranked[: int(limit)]
    return [
        Hit(document, -score, snippet(index.text(document), lowered, wanted, document.kind))
        for score, _, _, _, document, lowered in chosen
    ]


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


def _scored(
    index: Index, kind: Kind, wanted: Sequence[str]
) -> Iterator[tuple[float, int, int, int, Document, str]]:
    """Score, turn, seq and place as sort keys, best first; then the document."""
    shelf = index.shelves[kind]
    counts: dict[str, list[int]] = {
        term: [text.count(term) for text in shelf.texts] for term in dict.fromkeys(wanted)
    }
    columns = [counts[term] for term in wanted]
    still_open = index.view.turns.open
    for at, row in enumerate(zip(*columns, strict=True)):
        if not any(row):
            continue
        document = shelf.documents[at]
        if document.turn == still_open:
            continue
        matched = len(row) - row.count(0)
        often = min(sum(row), 10) / log2(4 + document.length / 200)
        score = 1000 * matched / len(row) + often
        yield -score, -document.turn, document.seq, document.place, document, shelf.texts[at]


def _slotted(
    ranked: Sequence[tuple[float, int, int, int, Document, str]], limit: float
) -> Iterator[tuple[float, int, int, int, Document, str]]:
    outputs = others = 0
    for found in ranked:
        if found[4].kind == "tool_output":
            outputs += 1
            if outputs <= OUTPUT_SLOTS:
                yield found
        elif others < limit:
            others += 1
            yield found
        if outputs >= OUTPUT_SLOTS and others >= limit:
            return


def snippet(text: str, lowered: str, wanted: Sequence[str], kind: Kind) -> str:
    """The text around the first place of any term, on one line, with `…` where it goes on."""
    most = RESULT_SNIPPET if kind in RESULT_KINDS else SNIPPET
    found = [at for at in (lowered.find(term) for term in wanted) if at >= 0]
    start = max(_original_place(text, lowered, min(found, default=0)) - most // 2, 0)
    body = " ".join(text[start : start + most].split())
    behind = "…" if start + most < len(text) else ""
    return f"{'…' if start else ''}{body}{behind}"


def _original_place(text: str, lowered: str, place: int) -> int:
    """The place in `text` of a place in its lower-cased form, which may be longer."""
    if len(text) == len(lowered):
        return place
    passed = 0
    for at, character in enumerate(text):
        passed += len(character.lower())
        if passed > place:
            return at
    return len(text)
