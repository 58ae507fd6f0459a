"""First sights: which lines of a result a view shows, counts, or loses."""

import pytest

from evidence_story import Watched
from slicetape.replay.evidence.fidelity import Fidelity, Shown
from slicetape.replay.evidence.lines import kind_of, telling
from story import Story

LOG = "\n".join(
    [
        *(f"10:00:{number:02} INFO step {number}" for number in range(9)),
        "10:00:20 ERROR worker 7 failed: boom",
        "    at run (src/w.js:10:3)",
        "    at main (src/m.js:2:1)",
        "10:00:21 WARN slow 1",
        "10:00:22 WARN slow 2",
        "10:00:23 WARN slow 3",
        "FAILED tests/test_a.py::test_one",
        "port_7443",
    ]
)


def sight(
    view: str | None, text: str = LOG, *, tool: str = "bash", path: str = "", error: bool = False
) -> dict[str, Shown]:
    """What is counted when a result is a view at first sight, or whole."""
    story = Story()
    story.start()
    story.says(calls={"c": (tool, {"file_path": path})})
    story.result("c", text, error=error)
    story.says("so port_7443")
    watched = Watched(story)

    def act(watched: Watched, at: int) -> None:
        if view is not None and at == len(watched.recording.events) - 1:
            watched.story.view_of(watched.result(), view)

    watched.send(act)
    places = {seq: watched.visibility.place(seq) for seq in watched.references.events}
    fidelity = Fidelity(watched.references)
    return fidelity.of(watched.session.view, places, watched.visibility.first)


def test_a_whole_result_shows_everything() -> None:
    assert sight(None) == {
        "error": Shown(1, 0, 1),
        "warning": Shown(3, 0, 3),
        "test-failure": Shown(1, 0, 1),
        "stack-frame": Shown(2, 0, 2),
        "kept-referenced": Shown(1, 0, 1),
    }


def test_planted_strings_are_looked_for_where_there_are_any() -> None:
    text = f"{LOG}\nkey NEEDLE-a1 and NEEDLE-b2\nNEEDLE-a1 again"
    assert sight(None, text)["needle"] == Shown(3, 0, 3)
    assert sight("[head]\nkey NEEDLE-a1 and more", text)["needle"] == Shown(1, 0, 3)
    assert "needle" not in sight(None)


def test_a_line_is_shown_only_when_its_own_text_stands_in_the_view() -> None:
    view = "[head]\n10:00:20 ERROR worker 7 failed: boom\n10:00:22 WARN slow 2\nWARN slow"
    assert sight(view) == {
        "error": Shown(1, 0, 1),
        "warning": Shown(1, 0, 3),
        "test-failure": Shown(0, 0, 1),
        "stack-frame": Shown(0, 0, 2),
        "kept-referenced": Shown(0, 0, 1),
    }


def test_lines_in_the_number_of_a_group_are_counted_apart() -> None:
    group = "…[×3 like the line above · first line 13, last line 15]…"
    assert sight(f"[head]\n10:00:21 WARN slow 1\n{group}")["warning"] == Shown(1, 2, 3)
    both = f"[head]\n10:00:21 WARN slow 1\n10:00:23 WARN slow 3\n{group}"
    assert sight(both)["warning"] == Shown(2, 1, 3)


def test_a_group_never_counts_more_than_is_missing() -> None:
    group = "…[×99 like the line above · first line 13, last line 15]…"
    assert sight(f"10:00:21 WARN slow 1\n{group}")["warning"] == Shown(1, 2, 3)
    assert "warning" not in sight(f"one\n{group}", "one\ntwo\nthree port_7443")


def test_a_line_shown_once_is_not_shown_twice() -> None:
    assert sight("WARN slow", "WARN slow\nx\nWARN slow\nport_7443")["warning"] == Shown(1, 0, 2)


def test_source_code_and_error_results_must_be_whole() -> None:
    assert sight(None, path="a.py", tool="read")["source"] == Shown(1, 0, 1)
    assert sight("[head]", path="a.py", tool="read")["source"] == Shown(0, 0, 1)
    assert sight("[head]", error=True)["error-result"] == Shown(0, 0, 1)
    assert "error" not in sight(None, path="a.py", tool="read")


def test_a_source_whose_other_lines_stand_above_is_counted_apart() -> None:
    text = "import port_7443\none\ntwo\nthree\nlast"
    whole = "[head]\nimport port_7443\n…[+3 lines / 14 chars as above]…\nlast"
    assert sight(whole, text, path="a.py", tool="read")["source"] == Shown(0, 1, 1)
    for hiding in (
        "[head]\nimport port_7443\n…[+3 lines / 14 chars]…\nlast",
        "[head]\n…[+3 lines / 14 chars as above, numbered on]…\nlast",
        "[head]\nimport port_7443\n…[+3 lines / 14 chars as above]…",
    ):
        assert sight(hiding, text, path="a.py", tool="read")["source"] == Shown(0, 0, 1)


def test_lines_that_stand_above_are_counted_apart() -> None:
    text = "start of it\nWARN slow 1\nWARN slow 2\nport_7443\nend"
    found = sight("[head]\nstart of it\n…[+3 lines / 34 chars as above]…\nend", text)
    assert found["warning"] == Shown(0, 2, 2)
    assert found["kept-referenced"] == Shown(0, 1, 1)


@pytest.mark.parametrize(
    ("text", "tool"), [(LOG, "Grep"), ('[{"error": "failed port_7443"}]', "http_get")]
)
def test_what_a_search_found_and_json_are_no_lines_of_a_log(text: str, tool: str) -> None:
    found = sight(None, text, tool=tool, path="a.py")
    assert set(found) <= {"kept-referenced", "source"}


def test_arguments_that_are_no_json_name_no_path() -> None:
    story = Story()
    story.start()
    story.says(calls={"c": ("read", "a.py")})
    story.result("c", "port_7443")
    watched = Watched(story)
    watched.send()
    places = {seq: watched.visibility.place(seq) for seq in watched.references.events}
    assert Fidelity(watched.references).of(watched.session.view, places, ()) == {}


class TestKinds:
    @pytest.mark.parametrize(
        ("line", "kind"),
        [
            ("10:00:20 ERROR boom", "error"),
            ("  12: Traceback (most recent call last):", "error"),
            ("npm ERR! code 1", "error"),
            ("warning: unused", "warning"),
            ("FAILED tests/a.py", "test-failure"),
            ("E       assert 1 == 2", "test-failure"),
            ("not ok 3", "test-failure"),
            ("all good", None),
            ("terror", None),
        ],
    )
    def test_a_line_has_one_kind(self, line: str, kind: str | None) -> None:
        assert kind_of(line) == kind
        assert list(telling(line)) == ([(line, kind)] if kind else [])

    def test_a_frame_is_one_only_below_an_error(self) -> None:
        text = "    at main (a:1:2)\nError: x\n    at main (a:1:2)\n\n    at b (c:1:2)\nend\n    at c (d)"
        assert [kind for _, kind in telling(text)] == ["error", "stack-frame", "stack-frame"]

    def test_the_end_of_a_line_of_another_system_is_no_part_of_it(self) -> None:
        assert list(telling("x\r\nERROR a\r\ny")) == [("ERROR a", "error")]

    @pytest.mark.parametrize("piece", ["error ", "e", "  at ", "E  ", "\n", "error\n", "a:1:1"])
    def test_long_texts_are_walked_once(self, piece: str) -> None:
        list(telling(piece * 100_000))
