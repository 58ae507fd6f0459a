"""What was logged comes back, and an index that grew equals one that was made at once."""

from math import log2

from hypothesis import given
from hypothesis import strategies as st

from recall_story import HUMAN, SNAPSHOT, Story, result
from slicetape.log.codec import decode_event, encode_event
from slicetape.recall.index import CJK_RUN, KINDS, Index, documents_of
from slicetape.recall.search import SEPARATORS, search, searched_kinds, terms
from slicetape.surface.view import View

NOTICE = (
    "(Omitted 1 bytes. Full formatted result stored at: /a. Use read with offset/limit, or grep "
    "this path to search within it.)"
)
odd = st.sampled_from(
    [
        "[sealed turn slice-turn-1 · status completed · 1 user message(s)]",
        "## User request (verbatim)",
        "[result]",
        "[bash · log · full text (9 bytes) stored at /etc/passwd — Use read]",
        NOTICE,
        "[full result of read · turn 1 step 1 call 1]",
        "\u2028",
        "\x00",
        "\ud800",
        "\udc00",
        "\r\n",
        "\n\n\n",
        "😀",
        "İ",
        "ﬀ",
        "磁带折叠",
        " ",
        "",
    ]
)
texts = st.lists(st.one_of(odd, st.text(st.characters(), max_size=30)), max_size=6).map("".join)


@given(first=texts, second=texts, ask=texts)
def test_recall_returns_what_was_logged(first: str, second: str, ask: str) -> None:
    story = Story()
    story.start(1)
    story.heard(ask)
    story.said(1, 1, calls=[("a", "bash", first), ("b", "read", second)])
    seq = story.returned(1, 1, result("a", first), result("b", second, first, error=True))
    story.said(1, 2, second)
    story.end(1)
    read = Story()  # as a log on disk gives it back
    for event in story.events:
        read.add(decode_event(encode_event(event)))
    head = f"[full result of bash · seq {seq} (turn 1 step 1 call 1) block 1]\n"
    assert read.ask("expand_result", seq=seq, formatVersion=3, block=1) == head + first
    assert read.ask("expand_result", turn=1, step=1, block=2).split("\n", 1)[1] == (
        f"{second}\n{first}"
    )
    step = read.ask("recall_step", turn="1", step="1")
    assert f"→ bash({first})\n→ read({second})\n" in step
    assert f"[result]\n{first}\n[error result]\n{second}\n{first}\n" in step
    page = read.ask("recall_turn", turn="1")
    request = ask or "(no user text recorded in this message)"
    said = second or "(no assistant text recorded for this step)"
    assert f"(verbatim)\n{request}\n\n## Assistant" in page
    assert page.endswith(f"[step 2]\n{said}".rstrip("\n") + "\n")
    assert f"· bash · {len(first)} chars ·" in page


@given(text=texts.filter(lambda text: len(text.split("\n")) > 1), data=st.data())
def test_lines_are_those_of_the_logged_text(text: str, data: st.DataObject) -> None:
    story = Story()
    story.tool_turn(1, text)
    lines = text.split("\n")
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    page = story.ask("expand_result", turn=1, step=1, lines=f"{first}-{last}")
    shown = "\n".join(f"{at}: {lines[at - 1]}" for at in range(first, last + 1))
    assert page == (
        f"[read · turn 1 step 1 call 1 · lines {first}-{last} of {len(lines)}]\n{shown}"
    )


words = st.lists(
    st.sampled_from(
        ["apple", "Apple", "pear", "v1.2", "a_b", "折叠", "磁带数据", "İnci", "😀", "xx"]
    ),
    max_size=8,
).map(" ".join)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    story = Story()
    for turn in range(1, draw(st.integers(1, 4))):
        story.start(turn)
        story.heard(draw(words), source=draw(st.sampled_from([SNAPSHOT, HUMAN, HUMAN])))
        names = draw(st.lists(st.sampled_from(["read", "recall_search", "bash"]), max_size=3))
        calls = [(f"c{turn}{at}", name, draw(words)) for at, name in enumerate(names)]
        story.said(turn, 1, draw(words), calls=calls)
        blocks = [result(id, draw(words), error=draw(st.booleans())) for id, _, _ in calls]
        if blocks:
            story.returned(turn, 1, *blocks)
        if draw(st.booleans()):
            story.end(turn)
    return story


@given(stories(), st.data())
def test_an_index_that_grew_equals_one_made_at_once(story: Story, data: st.DataObject) -> None:
    view = View(story.events)
    grown = Index(view)
    for event in story.events:
        view.advance(event)
        if data.draw(st.booleans()):
            grown.catch_up()
    grown.catch_up()
    at_once = Index.of(View.of(story.events))
    assert grown.shelves == at_once.shelves
    assert (grown.steps, grown.calls, grown.title) == (at_once.steps, at_once.calls, at_once.title)


def test_each_event_is_taken_in_once() -> None:
    story = Story()
    index = Index(story.view)
    taken = []
    for turn in range(1, 50):
        story.turn(turn, f"ask {turn}", f"answer {turn}")
        taken.append(index.catch_up())
        assert index.catch_up() == 0
    assert taken == [4] * 49
    assert sum(len(shelf.texts) for shelf in index.shelves.values()) == 98


@given(
    story=stories(),
    query=words,
    scope=st.sampled_from(["dialogue", "auto"]),
    kinds=st.lists(st.sampled_from(KINDS), unique=True, max_size=3),
    limit=st.integers(1, 20),
)
def test_a_search_is_what_the_specification_says(
    story: Story, query: str, scope: str, kinds: list[str], limit: int
) -> None:
    wanted = terms(query)
    found = []
    for event in story.events:
        for document, text in documents_of(story.view, event):
            lowered = text.lower()
            matched = sum(term in lowered for term in wanted)
            often = sum(lowered.count(term) for term in wanted)
            if not matched or document.turn == story.view.turns.open:
                continue
            if document.kind in searched_kinds(scope, kinds):  # type: ignore[arg-type]
                score = 1000 * matched / len(wanted)
                score += min(often, 10) / log2(4 + len(text) / 200)
                found.append((document, score, {term for term in wanted if term in lowered}))
    having = {term: sum(term in held for *_, held in found) for term in dict.fromkeys(wanted)}
    least = min((count for count in having.values() if count), default=0)
    anchor = next((term for term, count in having.items() if count == least), "")
    order = sorted(found, key=lambda row: (anchor not in row[2], -row[1], -row[0].turn))
    ranked = [(document, score) for document, score, _ in order]
    if not kinds and scope == "auto":
        outputs = [pair for pair in ranked if pair[0].kind == "tool_output"][:3]
        others = [pair for pair in ranked if pair[0].kind != "tool_output"][:limit]
        ranked = [pair for pair in ranked if pair in outputs or pair in others]
    else:
        ranked = ranked[:limit]
    hits = search(Index.of(story.view), query, scope=scope, kinds=kinds, limit=limit)  # type: ignore[arg-type]
    assert [(hit.document, hit.score) for hit in hits] == ranked


@given(st.text(max_size=40))
def test_terms_are_the_words_and_their_pairs(query: str) -> None:
    words = [word for word in SEPARATORS.split(query.lower()) if len(word) > 1]
    expected: list[str] = []
    for word in words:
        expected.append(word)
        for at in range(len(word) - 1):
            pair = word[at : at + 2]
            if CJK_RUN.fullmatch(pair) and pair not in expected[expected.index(word) :]:
                expected.append(pair)
    if len(set(words)) == len(words):
        assert sorted(terms(query)) == sorted(expected)


@given(text=st.text(max_size=400), query=st.text(min_size=2, max_size=4))
def test_a_snippet_is_cut_from_the_text_itself(text: str, query: str) -> None:
    story = Story()
    story.turn(1, text, "x")
    for hit in search(Index.of(story.view), query, kinds=["user"]):
        shown = hit.snippet.removeprefix("…").removesuffix("…")
        assert " ".join(shown.split()) in " ".join(text.split()) or not shown.strip()
        assert len(hit.snippet) <= 182


def test_a_document_can_be_read_again() -> None:
    story = Story()
    story.start(1)
    story.said(1, 1, "said", calls=[("a", "read", "one"), ("b", "read", "two")])
    story.returned(1, 1, result("a", "first"), result("b", "second", error=True))
    index = Index.of(story.view)
    read = {
        (document.kind, document.place): index.text(document)
        for shelf in index.shelves.values()
        for document in shelf.documents
    }
    assert read == {
        ("assistant", 0): "said",
        ("tool_input", 2): "read one",
        ("tool_input", 3): "read two",
        ("tool_output", 1): "first",
        ("tool_error", 2): "second",
    }
