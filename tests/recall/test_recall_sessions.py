"""Search across sessions: what a session hands to the catalog, and how hits are shown."""

from pathlib import Path

from recall_story import Story, result
from slicetape.log.catalog import Catalog
from slicetape.log.events import Header
from slicetape.recall.index import Index
from slicetape.recall.sessions import document_rows, render_found, session_row

HEADER = Header("session", 3, "s-1", 77, is_seeded=False, delegation_depth=0, cwd="/srv/demo")


def test_a_session_is_found_through_the_catalog(tmp_path: Path) -> None:
    story = Story()
    story.tool_turn(1, "the apple harvest")
    story.start(2)
    story.heard("and the pears?\nsecond line")
    story.said(2, 1, calls=[("a", "read", "{}"), ("b", "bash", "{}"), ("c", "recall_step", "{}")])
    story.returned(2, 1, result("a", "none"), result("b", "pears fell"), result("c", "pears"))
    index = Index.of(story.view)
    catalog = Catalog(tmp_path / "index.sqlite")
    row = session_row(index, HEADER, path="/logs/s-1")
    assert (row.title, row.turns, row.steps, row.calls) == ("do 1", 2, 3, 4)
    assert (row.created, row.cwd, row.events) == (77, "/srv/demo", len(story.events))
    assert catalog.put(row, document_rows(index))
    assert render_found(catalog.search("apple"), "apple") == (
        "s-1 slice-turn-1 step 1 seq 4 [tool_output] the apple harvest "
        '→ expand_result({"seq":4,"formatVersion":3,"session":"s-1"})'
    )
    assert render_found(catalog.search("pears"), "pears") == (
        "s-1 slice-turn-2 step 1 seq 13 block 2 [tool_output] pears fell "
        '→ expand_result({"seq":13,"formatVersion":3,"block":2,"session":"s-1"})\n'
        "s-1 slice-turn-2 [user] and the pears? second line "
        '→ recall_turn({"turn":"2","view":"dialogue","session":"s-1"})'
    )
    story.end(2)
    story.turn(3, "now plums", "yes")
    before = index.taken
    index.catch_up()
    fresh = list(document_rows(index, after=before))
    assert [document.text for document in fresh] == ["now plums", "yes"]
    assert catalog.put(session_row(index, HEADER, path="/logs/s-1"), fresh, after=before)
    assert len(catalog.search("plums")) == len(catalog.search("apple")) == 1
    catalog.close()
