"""Recall against recorded behaviour, byte for byte.

Where we differ on purpose, the difference is proven from both sides: `reference_page` is written
after the rules of the recording and gives every recorded page, and with our two rules in place of
theirs it gives every page of ours.

| Rule | Recorded cases that change | How it is shown |
|---|---|---|
| D7: pairs of CJK runs are terms | searches whose query has a run of three or more CJK letters, or a run of two within a longer word | `terms` swapped |
| D7, D9: offsets are code points, also where lower case is longer | snippets of texts with an astral letter or a letter such as `İ` before the match | `place` swapped |
| D13: documents with the rarest term come first, and folded results of the open turn are searched | searches with several terms, listed by number | switched off by `REFERENCE` |
| D11: a spill is read from where the importer put it | the reason in the two errors and one page with deleted files | reason swapped |
| D6: nested dispatches on the full page, one word and one integer for a step, legal values named | none of the recorded calls | tests of cases 124, 133 and of the schemas |
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import log2
from typing import Any

import pytest

from data import GOLDEN, shared
from slicetape.errors import LogError, RecallError
from slicetape.log.arguments import span, turn_id
from slicetape.log.codec import decode_event
from slicetape.log.events import Event, ToolResult
from slicetape.log.messages import Text, ToolResultBlock
from slicetape.log.spill import Blobs, SessionSpills, Spill, spill_head
from slicetape.recall import search as ours
from slicetape.recall.index import Index
from slicetape.recall.locators import Locators
from slicetape.recall.ranking import RANKING, REFERENCE, Ranking
from slicetape.recall.records import result_blocks
from slicetape.recall.result import grep_page, lines_page
from slicetape.recall.spilled import NoSpills
from slicetape.recall.step import render_step
from slicetape.recall.tools import Recall, dispatch
from slicetape.recall.turn import render_turn
from slicetape.surface.view import View


@cache
def cases(name: str) -> Any:
    return json.loads(shared(f"golden/recall/{name}.json").read_text())


@cache
def logged(session: str) -> tuple[list[bytes], list[Event]]:
    lines = shared(f"golden/{session}").read_bytes().splitlines()[1:]
    return lines, [decode_event(line) for line in lines]


@cache
def recall_at(session: str, seq: int, ranking: Ranking = REFERENCE) -> Recall:
    lines, events = logged(session)
    return Recall.of(View.of(events[:seq]), line=lines.__getitem__, ranking=ranking)


def answer(recall: Recall, call: dict[str, Any]) -> dict[str, str]:
    try:
        return {"result": dispatch(call["name"], call.get("resolvedArgs", call["args"]), recall)}
    except RecallError as error:
        return {"error": str(error)}


def recorded(call: dict[str, Any]) -> dict[str, str]:
    return {key: call[key] for key in ("result", "error") if key in call}


@pytest.mark.parametrize("name", ["recall", "resume.phase1"])
def test_recorded_calls_are_answered_alike(name: str) -> None:
    golden = cases(name)
    assert len(golden["calls"]) == {"recall": 240, "resume.phase1": 3}[name]
    for call in golden["calls"]:
        recall = recall_at(golden["session"], call["atSeq"])
        assert answer(recall, call) == recorded(call), call["args"]


CHANGED_BY_RANKING: dict[str, list[int]] = {
    "recall": [
        73, 124, 125, 155,
    ],
    "resume.phase1": [],
}  # fmt: skip
"""Numbers of the recorded calls that find more or other things first by D13."""


@pytest.mark.parametrize("name", ["recall", "resume.phase1"])
def test_d13_changes_only_the_calls_of_the_table(name: str) -> None:
    golden = cases(name)
    changed = [
        number
        for number, call in enumerate(golden["calls"])
        if answer(recall_at(golden["session"], call["atSeq"], RANKING), call) != recorded(call)
    ]
    assert changed == CHANGED_BY_RANKING[name]
    assert {golden["calls"][number]["name"] for number in changed} <= {"recall_search"}


class RecordedSpills:
    """The recorded spill files, as the recording host read them."""

    def __init__(self, texts: dict[str, str], events: Sequence[Event]) -> None:
        self.texts, self.events = texts, events

    def find(self, event: ToolResult, block: int, part: int) -> Spill | None:
        return spill_head(event.data.message.content[block - 1].content[part - 1].text)  # type: ignore[union-attr]

    def read(self, seq: int, block: int, part: int) -> str:
        event = self.events[seq]
        assert isinstance(event, ToolResult)
        spill = self.find(event, block, part)
        assert spill is not None
        if spill.where not in self.texts:
            raise LogError(f"Error: ENOENT: no such file or directory, open '{spill.where}'")
        return self.texts[spill.where]


def test_spilled_results_are_answered_alike() -> None:
    golden = cases("spill")
    _, events = logged(golden["session"])
    texts = {file["locator"]: file["text"] for file in golden["spillFiles"]}
    for call in golden["calls"]:
        view = View.of(events[: call["atSeq"]])
        stored = texts if call["spillAvailable"] else {}
        recall = Recall.of(view, spills=RecordedSpills(stored, events))
        assert answer(recall, call) == recorded(call), call["args"]


def test_d11_an_importer_maps_the_printed_paths_to_blobs() -> None:
    golden = cases("spill")
    _, events = logged(golden["session"])
    blobs = Blobs(None)
    known: dict[str, str | None] = {
        file["locator"]: blobs.put(file["text"], block=1, part=1).sha256
        for file in golden["spillFiles"]
    }
    changed = 0
    for call in golden["calls"]:
        view = View.of(events[: call["atSeq"]])
        at_hand = known if call["spillAvailable"] else dict.fromkeys(known)
        recall = Recall.of(view, spills=SessionSpills(events, blobs, at_hand))
        expected = recorded(call)
        for key, text in expected.items():
            for path in known:
                reason = f"Error: ENOENT: no such file or directory, open '{path}'"
                changed += reason in text
                text = text.replace(reason, "the stored text is gone")
            expected[key] = text
        assert answer(recall, call) == expected, call["args"]
    assert changed == 3


Place = Callable[[str, str, int], int]


def reference_terms(query: str) -> tuple[str, ...]:
    return tuple(word for word in ours.SEPARATORS.split(query.lower()) if len(word) >= 2)


def reference_place(text: str, lowered: str, place: int) -> int:
    """A place of the lower-cased text, counted in UTF-16 units and used as code points."""
    return len(lowered[:place].encode("utf-16-le")) // 2


def our_place(text: str, lowered: str, place: int) -> int:
    """The letter of `text` whose lower-cased form stands at `place` of the lower-cased text."""
    widths = [len(letter.lower()) for letter in text]
    return next(at for at in range(len(text) + 1) if sum(widths[: at + 1]) > place)


def reference_page(
    recall: Recall,
    query: str,
    opts: dict[str, Any],
    *,
    terms: Callable[[str], tuple[str, ...]],
    place: Place,
    rarest_first: bool = False,
) -> str:
    """A search by the letter of the specification: every text scanned, nothing kept."""
    scope, kinds = opts.get("scope", "dialogue"), opts.get("kinds", ())
    searched = ours.searched_kinds(scope, kinds)
    limit = min(max(opts.get("limit", 5), 1), 20)
    wanted = terms(query)
    found = []
    for order, (document, text) in enumerate(all_documents(recall)):
        lowered = text.lower()
        counts = [lowered.count(term) for term in wanted]
        if document.kind not in searched or not any(counts):
            continue
        matched = sum(count > 0 for count in counts)
        score = 1000 * matched / len(wanted) + min(sum(counts), 10) / log2(4 + len(text) / 200)
        first = min(lowered.find(term) for term in wanted if term in lowered)
        most = 600 if document.kind in ("tool_error", "tool_output") else 180
        start = max(place(text, lowered, first) - most // 2, 0)
        snippet = (
            "…" * (start > 0)
            + " ".join(text[start : start + most].split())
            + "…" * (start + most < len(text))
        )
        held = {term for term in wanted if term in lowered}
        found.append((held, (-score, -document.turn, order), ours.Hit(document, score, snippet)))
    having = {term: sum(term in held for held, *_ in found) for term in dict.fromkeys(wanted)}
    least = min((count for count in having.values() if count), default=0)
    anchor = next((term for term, count in having.items() if count == least), "")
    hits = [
        hit
        for *_, hit in sorted(
            found, key=lambda entry: (rarest_first and anchor not in entry[0], *entry[1])
        )
    ]
    if scope == "auto" and not kinds:
        outputs = [hit for hit in hits if hit.document.kind == "tool_output"][:3]
        others = [hit for hit in hits if hit.document.kind != "tool_output"][:limit]
        hits = [hit for hit in hits if hit in outputs or hit in others]
    else:
        hits = hits[:limit]
    return ours.render_hits(hits, query, searched, locators=Locators())


def all_documents(recall: Recall) -> Iterator[Any]:
    from slicetape.recall.index import documents_of

    for event in recall.view.events:
        for document, text in documents_of(recall.view, event):
            if document.turn != recall.view.turns.open:
                yield document, text


@cache
def synthetic() -> list[tuple[dict[str, Any], Recall]]:
    found = []
    for case in cases("synthetic")["cases"]:
        lines = [
            json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
            for event in case["events"]
        ]
        view = View.of([decode_event(line) for line in lines])
        found.append((case, Recall(view, Index.of(view), line=lines.__getitem__)))
    return found


def test_recorded_searches_follow_the_reference_rules() -> None:
    for case, recall in synthetic():
        for search in case["searches"]:
            page = reference_page(
                *(recall, search["query"], search["opts"]),
                terms=reference_terms,
                place=reference_place,
            )
            assert page == search["page"], (case["id"], search["query"], search["opts"])


CHANGED_BY_TERMS: dict[str, list[int]] = {
    "search-1": [
        40, 41, 42, 44, 45, 47,
    ],
    "search-4": [
        56, 57, 58, 60, 61, 63,
    ],
    "search-5": [
        8, 9, 11, 12, 13, 14, 15,
    ],
    "search-9": [
        48, 49,
    ],
}  # fmt: skip
"""Numbers of the recorded searches whose page changes because of CJK pairs."""

CHANGED_BY_PLACE: dict[str, list[int]] = {
    "search-0": [
        5, 10, 12, 14, 16, 22, 23, 24, 26, 27, 29, 30, 32, 34, 36, 37, 44, 48, 75, 82,
        83, 84, 86, 88, 89, 92, 93, 94, 96, 97, 99, 112, 114,
    ],
    "search-1": [
        7, 15, 18, 19, 27, 62, 64, 66, 94, 95, 97, 98, 99, 100, 101, 104, 110, 118, 120,
        122, 126,
    ],
    "search-2": [
        14, 16, 20, 22, 24, 26, 28, 40, 42, 44, 48, 68, 88, 89, 90, 92, 93, 95, 96, 98,
        100, 102,
    ],
    "search-3": [
        10, 11, 14, 15, 17, 22, 23, 38, 39, 56, 57, 60, 61, 62, 63, 64, 65,
    ],
    "search-4": [
        5, 8, 10, 12, 13, 20, 22, 23, 24, 25, 30, 31, 35, 37, 46, 47, 51, 53, 64, 65,
        66, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 88, 89, 90, 94, 118, 120,
    ],
    "search-5": [
        39, 42, 43, 64, 65, 69, 71, 78, 79, 80, 81, 85, 87,
    ],
    "search-6": [
        8, 10, 12, 13, 30, 32, 34, 48, 62, 70, 71, 72, 88, 89, 90, 91, 92, 94, 95, 97,
    ],
    "search-7": [
        0, 2, 4, 12, 14, 16, 17, 22, 28, 34, 36, 38, 40, 46, 47, 48, 49, 50, 53, 55, 56,
        62, 64, 70, 72, 74, 76, 82, 94, 96,
    ],
    "search-8": [
        32, 34, 36, 42, 44, 46, 55, 58, 64, 80, 81, 88, 89, 95, 98,
    ],
    "search-9": [
        0, 1, 4, 5, 6, 7, 10, 17, 20, 21, 32, 33, 38, 39, 45, 68, 70, 72, 76, 77, 82,
        92, 93, 106, 108, 110, 114, 116, 118,
    ],
    "search-10": [
        0, 1, 12, 13, 14, 15, 18, 19, 21, 22, 23, 25, 26, 27, 33, 50, 51,
    ],
    "search-11": [
        2, 3, 4, 5, 14, 18, 19, 20, 21, 32, 33, 34, 35, 36, 38, 40, 44, 63, 70, 72, 74,
        75, 77, 78, 79, 81, 100, 101, 102, 103,
    ],
}  # fmt: skip
"""Numbers of those whose snippets stand elsewhere, because offsets are code points."""


def test_d7_searches_differ_only_in_terms_and_offsets() -> None:
    by_terms: dict[str, list[int]] = {}
    by_place: dict[str, list[int]] = {}
    for case, recall in synthetic():
        for number, search in enumerate(case["searches"]):
            query, opts = search["query"], search["opts"]
            hits = ours.search(recall.index, query, **opts, ranking=REFERENCE)
            kinds = ours.searched_kinds(opts.get("scope", "dialogue"), opts.get("kinds", ()))
            page = ours.render_hits(hits, query, kinds, locators=Locators())
            specified = reference_page(recall, query, opts, terms=ours.terms, place=our_place)
            assert page == specified, (case["id"], query, opts)
            if page == search["page"]:
                continue
            if ours.terms(query) != reference_terms(query):
                by_terms.setdefault(case["id"], []).append(number)
                continue
            by_place.setdefault(case["id"], []).append(number)
            drifted = reference_page(recall, query, opts, terms=ours.terms, place=reference_place)
            assert drifted == search["page"], (case["id"], query, opts)
    assert by_terms == CHANGED_BY_TERMS
    assert by_place == CHANGED_BY_PLACE
    assert sum(map(len, [*by_terms.values(), *by_place.values()])) == 305


SEARCHES_CHANGED_BY_RANKING: dict[str, list[int]] = {
    "search-0": [
        0, 1, 3, 5, 7, 8, 9, 10, 11, 20, 21, 30, 31, 42, 43, 44, 45, 46, 47, 50, 51, 70,
        71, 75, 77,
    ],
    "search-1": [
        3, 5, 7, 9, 10, 11, 12, 15, 17, 18, 19, 20, 21, 22, 23, 24, 26, 27, 28, 29, 30,
        31, 32, 34, 35, 37, 38, 39, 48, 49, 52, 53, 56, 57, 59, 60, 61, 62, 63, 64, 65,
        67, 69, 88, 89,
    ],
    "search-2": [
        2, 3, 6, 7, 10, 11, 13, 14, 15, 16, 17, 18, 19, 32, 33, 35, 36, 37, 39, 40, 41,
        42, 44, 45, 47, 50, 51, 70, 71,
    ],
    "search-3": [
        8, 9, 10, 11, 14, 15, 16, 17, 18, 19, 20, 21, 24, 25, 28, 29, 30, 31, 32, 33,
        34, 36, 37, 38, 39, 40, 41, 42, 43, 46, 47, 49, 65,
    ],
    "search-4": [
        0, 1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 28, 29, 30, 31, 35, 37, 46, 47, 48, 50,
        51, 53, 82, 83,
    ],
    "search-5": [
        4, 5, 8, 11, 12, 18, 19, 23, 25, 26, 27, 29, 30, 31, 32, 33, 34, 35, 38, 39, 40,
        41, 52, 53, 54, 55, 56, 57, 64, 65, 67, 69, 71,
    ],
    "search-6": [
        0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 13, 15, 16, 17, 18, 21, 23, 24, 25, 26, 27, 28,
        29, 30, 32, 33, 34, 35, 36, 37, 41, 43, 47, 50, 64, 65,
    ],
    "search-7": [
        0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 20, 21, 25, 27, 28, 32, 33, 34, 35, 44, 45,
        48, 49, 53, 55, 64, 65,
    ],
    "search-8": [
        8, 9, 10, 11, 12, 13, 14, 15, 17, 22, 23, 32, 33, 34, 36, 37, 39, 42, 43, 45,
        47, 49, 50, 51, 52, 53, 55, 57, 58, 59, 82, 83,
    ],
    "search-9": [
        0, 1, 2, 4, 5, 6, 7, 10, 12, 13, 16, 17, 19, 20, 21, 22, 23, 32, 33, 34, 35, 36,
        37, 40, 42, 44, 50, 51, 52, 55, 57, 76, 77,
    ],
    "search-10": [
        2, 3, 16, 17, 18, 19, 23, 25, 26, 27, 36, 37, 38, 39, 43, 45, 48, 49, 50, 51,
        76, 77,
    ],
    "search-11": [
        0, 1, 2, 3, 4, 5, 7, 9, 11, 13, 14, 15, 16, 17, 23, 27, 29, 30, 31, 34, 35, 44,
        45, 63,
    ],
}  # fmt: skip
"""Numbers of the recorded searches whose page changes by D13 beyond D7 and D9."""


def test_d13_puts_documents_with_the_rarest_term_first() -> None:
    changed: dict[str, list[int]] = {}
    for case, recall in synthetic():
        for number, search in enumerate(case["searches"]):
            query, opts = search["query"], search["opts"]
            pages = []
            for ranking in (REFERENCE, RANKING):
                hits = ours.search(recall.index, query, **opts, ranking=ranking)
                kinds = ours.searched_kinds(opts.get("scope", "dialogue"), opts.get("kinds", ()))
                pages.append(ours.render_hits(hits, query, kinds, locators=Locators()))
            specified = reference_page(
                *(recall, query, opts), terms=ours.terms, place=our_place, rarest_first=True
            )
            assert pages[1] == specified, (case["id"], query, opts)
            if pages[0] != pages[1]:
                changed.setdefault(case["id"], []).append(number)
    assert changed == SEARCHES_CHANGED_BY_RANKING


def test_recorded_pages_of_turns_and_steps_are_equal() -> None:
    pages = 0
    for _, recall in synthetic():
        recall.index.catch_up()
    for case, recall in synthetic():
        for page in case["turnPages"]:
            try:
                text = render_turn(
                    *(recall.view, page["turn"]),
                    page=page["view"],
                    locators=Locators(),
                    payload=recall.payload,
                )
            except RecallError:
                text = None
            assert text == (page["page"] and page["page"]["rendered"])
            pages += 1
        for page in case["stepPages"]:
            for spills in (NoSpills(), None):
                try:
                    text = render_step(
                        *(recall.view, page["turn"], page["step"]),
                        spills=spills,
                        locators=Locators(),
                    )
                except RecallError:
                    text = None
                assert text == page["page"]
            pages += 1
    assert pages == 277


def test_recorded_parts_of_results_are_equal() -> None:
    for case in cases("partial")["cases"]:
        page: dict[str, str | None] = {"result": None, "error": None}
        try:
            if case["fn"] == "grep":
                page["result"] = grep_page(case["text"], case["arg"], case["head"])
            else:
                wanted = span(case["arg"]) or (0, 0)
                page["result"] = lines_page(case["text"], wanted, case["head"])
        except RecallError as error:
            page["error"] = str(error)
        assert page == {key: case[key] for key in page}, case["arg"]


def test_recorded_turn_ids_are_read_alike() -> None:
    for case in json.loads((GOLDEN / "recall/turn-ids.json").read_text())["cases"]:
        assert turn_id(case["value"]) == case["turn"], case


LOCATOR = re.compile(r"(recall_turn|expand_result)\((\{[^}]*\})\)")


@pytest.mark.parametrize(
    "name", ["basic", "fold", "abort", "context", "recall", "resume", "ptc", "long", "spill"]
)
def test_every_result_of_a_recorded_session_is_reached_from_its_pages(name: str) -> None:
    lines, events = logged(f"sessions/{name}.jsonl")
    recall = Recall.of(View.of(events), line=lines.__getitem__)
    results = {
        event.seq: [result_text_of(block) for block in result_blocks(event)]
        for event in events
        if isinstance(event, ToolResult) and event.is_original
    }
    reached: dict[int, list[str]] = {seq: [] for seq in results}
    for turn in recall.view.turns.status:
        page = dispatch("recall_turn", {"turn": str(turn)}, recall)
        listed = [line for line in page.split("\n") if line.startswith("[tool step ")]
        for line in listed:
            tool, arguments = LOCATOR.findall(line)[-1]
            address = json.loads(arguments)
            text = dispatch(tool, address, recall)
            if address["seq"] in reached:
                reached[address["seq"]].append(text.split("\n", 1)[1])
        full = dispatch("recall_turn", {"turn": str(turn), "view": "full"}, recall)
        records = json.loads(full.split("recorded file metadata)\n")[-1])
        assert [record["data"] for record in records] == [
            json.loads(lines[seq])["data"] for seq in recall.view.turns.members.get(turn, ())
        ]
    assert reached == results


def result_text_of(block: ToolResultBlock) -> str:
    return "\n".join(part.text for part in block.content if isinstance(part, Text))
