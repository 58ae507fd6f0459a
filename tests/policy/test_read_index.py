"""The line of files that a turn read (edge cases 84 to 94, 101 to 104)."""

import json
import re
from typing import Any

import pytest

from read_lines import digest, line, turn
from sealed_story import SealedStory
from slicetape.policy.reads import label
from story import PICTURE, Story

A = 'port = 7443\nhost = "0.0.0.0"\n'
B = A + "tls = true\n"


def test_case_84_a_read_is_one_item_of_the_line_in_the_entry() -> None:
    story = SealedStory()
    result = story.reading_turn("src/alpha.ts", "one\ntwo")
    story.start()
    assert (
        f"\n[files read this turn: src/alpha.ts (2 lines, {digest(chr(10).join(['one', 'two']))}, "
        f"step 1, seq {result.seq} block 1, read window default, logged result)]\n"
    ) in story.tape[0]


def test_case_85_lines_and_digest_of_the_returned_text() -> None:
    story = Story()
    turn(story, ("a.txt", "line one\nline two\nline three"))
    assert "(3 lines, 26a5cd65, " in line(story, 1)
    assert "= turn" not in line(story, 1)


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("x", 1), ("x\n", 2), ("\r\n\r\n", 3)])
def test_lines_are_counted_by_line_feeds(text: str, lines: int) -> None:
    story = Story()
    turn(story, ("a.txt", text))
    assert f"({lines} lines, {digest(text)}, " in line(story, 1)


def test_case_86_a_later_turn_says_whether_the_text_is_the_same() -> None:
    story = Story()
    (first,) = turn(story, ("app.toml", A))
    (second,) = turn(story, ("app.toml", A))
    turn(story, ("app.toml", B))
    assert line(story, 2).endswith(f"logged result, = turn 1 step 1, seq {first.seq} block 1)]")
    assert line(story, 3).endswith(f"logged result, ≠ turn 2 step 1, seq {second.seq} block 1)]")
    assert "(4 lines, 91c68403, " in line(story, 3)
    assert "(3 lines, 546c4194, " in line(story, 1)


def test_case_87_one_item_a_file_by_first_appearance_with_the_last_read() -> None:
    story = Story()
    turn(story, ("a.txt", "old"), ("b.txt", "b"), ("a.txt", "new"))
    text = line(story, 1)
    assert text.index("a.txt") < text.index("b.txt")
    assert text.count("a.txt") == 1
    assert f"a.txt (1 lines, {digest('new')}, step 3," in text


def test_case_88_a_turn_without_reads_has_no_line() -> None:
    story = SealedStory()
    story.short_turn()
    story.start()
    assert "files read" not in story.tape[0]
    assert line(story, 1) == ""


def test_case_89_ten_files_are_named_and_the_rest_is_counted() -> None:
    story = Story()
    turn(story, *((f"f{number}", "x") for number in range(13)))
    text = line(story, 1)
    assert [f"f{n} (" in text for n in range(13)] == [True] * 10 + [False] * 3
    assert text.endswith(', +3 more; recall_turn({"turn":"1","view":"full"})]')


def test_case_90_only_failing_reads_give_no_line() -> None:
    story = Story()
    story.start()
    story.says(calls={"c": ("read", {"path": "a"})})
    story.result("c", "no such file", error=True)
    assert line(story, 1) == ""


def test_case_91_a_failure_before_or_after_changes_nothing() -> None:
    story = Story()
    story.start()
    for number, error in enumerate([True, False, True]):
        story.says(calls={f"c{number}": ("read", {"path": "a"})})
        story.result(f"c{number}", f"text {number}", error=error)
    text = line(story, 1)
    assert text.count("a (") == 1
    assert digest("text 1") in text
    assert digest("text 0") not in text
    assert digest("text 2") not in text
    assert "turn 1 step" not in text


def test_case_92_a_turn_is_compared_with_the_last_read_of_an_earlier_one() -> None:
    story = Story()
    _, second = turn(story, ("a", "OLD"), ("a", "NEW"))
    first = line(story, 1)
    assert digest("NEW") in first
    turn(story, ("a", "OLD"))
    assert digest("OLD") in line(story, 2)
    assert f"≠ turn 1 step 2, seq {second.seq} block 1" in line(story, 2)
    assert line(story, 1) == first


def test_case_93_only_equal_windows_are_compared() -> None:
    story = Story()
    turn(story, ("a", "x", {"offset": 1, "limit": 10}), ("a", "y", {"offset": 11, "limit": 10}))
    turn(story, ("a", "x", {"limit": 10, "offset": 1}), ("a", "z", {"offset": 21}))
    assert 'read window {"limit":10,"offset":1}, ' in line(story, 1)
    assert 'read window {"limit":10,"offset":11}, ' in line(story, 1)
    assert line(story, 2).count("= turn 1") == 1
    assert "≠" not in line(story, 2)


def test_case_94_two_results_of_one_event_are_two_items() -> None:
    story = Story()
    story.start()
    story.says(calls={"c0": ("read", {"path": "0.ts"}), "c1": ("read", {"path": "1.ts"})})
    result = story.results({"c0": ("zero",), "c1": ("one",)})
    text = line(story, 1)
    assert f"0.ts (1 lines, {digest('zero')}, step 1, seq {result.seq} block 1," in text
    assert f"1.ts (1 lines, {digest('one')}, step 1, seq {result.seq} block 2," in text


def test_case_101_a_picture_alone_is_no_observation_and_an_empty_text_is() -> None:
    story = Story()
    story.start()
    for id, part in (("c1", PICTURE), ("c2", "")):
        story.says(calls={id: ("read", {"path": id})})
        story.result(id, part)
    assert "c1" not in line(story, 1)
    assert "c2 (0 lines, e3b0c442," in line(story, 1)


def test_case_102_a_target_with_a_newline_is_printed_as_json() -> None:
    story = Story()
    turn(story, ('a\nb"c.txt', "x"))
    assert '[files read this turn: "a\\nb\\"c.txt" (' in line(story, 1)


def test_case_103_a_long_target_is_shortened() -> None:
    story = Story()
    turn(story, ("p" * 181, "x"), ("q" * 180, "x"))
    assert f": {'p' * 156}…[label shortened] (" in line(story, 1)
    assert f", {'q' * 180} (" in line(story, 1)
    assert label("w" * 141, 140) == "w" * 116 + "…[label shortened]"


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": 7, "file_path": "a.txt"},
        {"path": "  \t", "file_path": "a.txt"},
        {"file_path": ""},
        {"offset": 1},
        {"path": None},
        "not JSON",
        '["a.txt"]',
        '"a.txt"',
        '{"path": NaN}',
        '{"path": "a", "n": ' + "1" * 5_000 + "}",
        '{"path": "a", "n": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
    ids=lambda value: str(value)[:20],
)
def test_case_104_arguments_that_name_no_file_are_no_observation(arguments: Any) -> None:
    story = Story()
    story.start()
    story.says(calls={"c": ("read", arguments)})
    story.result("c", "text")
    assert line(story, 1) == ""


@pytest.mark.parametrize("depth", [10, 300, 600, 900, 5_000])
def test_arguments_nested_however_deep_never_stop_sealing(depth: int) -> None:
    story = SealedStory()
    story.start()
    nested = '{"path": "a", "deep": ' + '{"d":' * depth + "1" + "}" * depth + "}"
    story.says(calls={"c": ("read", nested)})
    story.result("c", "text")
    story.end()
    story.start()
    assert len(story.entries) == 1


def test_a_path_key_that_is_null_gives_way_to_the_next() -> None:
    story = Story()
    story.start()
    story.says(calls={"c": ("read_file", {"path": None, "file_path": None, "filePath": " a "})})
    story.result("c", "text")
    assert ":  a  (1 lines" in line(story, 1)
    assert "read_file window default" in line(story, 1)


def test_arguments_may_be_json_within_a_json_string() -> None:
    story = Story()
    story.start()
    story.says(calls={"c": ("read", json.dumps(json.dumps({"path": "a", "b": [2, {"d": 1.0}]})))})
    story.result("c", "text")
    assert 'read window {"b":[2,{"d":1}]}' in line(story, 1)


class TestBudget:
    @pytest.fixture
    def story(self) -> Story:
        story = Story()
        turn(story, *((f"{number}" * 150, "x") for number in range(9)))
        return story

    def test_an_item_that_does_not_fit_ends_the_list_and_the_rest_is_counted(
        self, story: Story
    ) -> None:
        whole = line(story, 1, 10_000)
        assert len(whole) > 2_000
        text = line(story, 1)
        assert len(text) <= 2_000
        shown = text.count(" lines, ")
        assert text.endswith(f', +{9 - shown} more; recall_turn({{"turn":"1","view":"full"}})]')
        assert 0 < shown < 9

    def test_a_small_item_behind_a_large_one_is_not_shown(self) -> None:
        story = Story()
        turn(story, ("a" * 180, "x"), ("b", "x"))
        assert line(story, 1, 200) == (
            '[files read this turn: +2 more; recall_turn({"turn":"1","view":"full"})]'
        )

    def test_without_room_for_a_single_item_only_the_count_stands(self, story: Story) -> None:
        bare = '[files read this turn: +9 more; recall_turn({"turn":"1","view":"full"})]'
        assert line(story, 1, len(bare)) == bare
        assert line(story, 1, len(bare) - 1) == ""

    @pytest.mark.parametrize(("spare", "more"), [(0, False), (1, True)])
    def test_an_entry_gives_a_line_2000_code_points(self, spare: int, more: bool) -> None:
        def told(length: int) -> SealedStory:
            story = SealedStory()
            turn(story, *((f"{n}" * 145, "x") for n in range(8)), ("z" * length, "x"))
            return story

        length = 2_000 - len(line(told(1), 1, 9_999)) + 1 + spare
        assert 0 < length <= 180
        story = told(length)
        story.start()
        (shown,) = [row for row in story.tape[0].split("\n") if row.startswith("[files read")]
        assert (len(shown) == 2_000) is not more
        assert ("+1 more" in shown) is more

    def test_the_budget_counts_code_points(self) -> None:
        story = Story()
        turn(story, ("😀" * 100, "x"))
        text = line(story, 1)
        assert line(story, 1, len(text)) == text
        assert re.match(r"\[files read this turn: \+1 more", line(story, 1, len(text) - 1))
