"""Lines that stand above in the same turn are counted, and stand where the marker says."""

import random
import re

import pytest

from folded_story import FoldedStory, document
from slicetape.policy.repeats import Repeats, Shown, marker

MARK = re.compile(
    r"…\[\+([0-9]+) lines / ([0-9]+) chars as above(, numbered on|, without numbers)?\]…"
)
SOURCE = [f"def step_{at}(value): return value + {at}" for at in range(60)]


def numbered(lines: list[str], start: int = 1) -> list[str]:
    return [f"{at:>6}→{line}" for at, line in enumerate(lines, start)]


def started(**settings: object) -> FoldedStory:
    story = FoldedStory(**settings)  # type: ignore[arg-type]
    story.start()
    story.human("look into it")
    return story


def read(story: FoldedStory, lines: list[str], path: str = "a.py") -> str:
    result = story.uses("read", {"file_path": path}, "\n".join(lines))
    story.says("seen")
    return story.shown(result)


def restored(view: str, above: list[str]) -> list[str]:
    """What a reader of the request reads: below the last copy of a line, what follows it there."""
    found: list[str] = []
    for line in view.split("\n"):
        mark = MARK.fullmatch(line)
        if mark is None:
            found.append(line)
            continue
        last = max(at for at, old in enumerate(above) if bare(old) == bare(found[-1]))
        for of in above[last + 1 : last + 1 + int(mark[1])]:
            number = re.match(r"( *[0-9]+)→", found[-1])
            if mark[3] == ", numbered on" and number:
                width = len(number[1])
                found.append(f"{int(number[1]) + 1:>{width}}→{bare(of)}")
            else:
                found.append(bare(of) if mark[3] else of)
    return found


def bare(line: str) -> str:
    return re.sub(r"^ *[0-9]+→", "", line)


class TestWhatIsSaidOnce:
    def test_a_source_that_is_read_again_is_one_line_and_a_count(self) -> None:
        story = started()
        assert read(story, SOURCE) == "\n".join(SOURCE)
        head, first, mark = read(story, SOURCE).split("\n")
        assert head.startswith("[read a.py · code · 60 lines, 1 kept · expand_result(")
        assert first == SOURCE[0]
        assert mark == marker(SOURCE[1:])

    def test_what_changed_between_two_reads_is_shown(self) -> None:
        story = started()
        read(story, SOURCE)
        changed = [*SOURCE[:30], "def brand_new(): return None", *SOURCE[30:]]
        shown = read(story, changed)
        assert "def brand_new(): return None" in shown.split("\n")
        assert restored(shown, SOURCE)[1:] == changed

    def test_lines_that_moved_are_numbered_on(self) -> None:
        story = started()
        read(story, numbered(SOURCE))
        moved = numbered(["# one more line at the top", *SOURCE])
        shown = read(story, moved)
        assert ", numbered on]…" in shown
        assert restored(shown, numbered(SOURCE))[1:] == moved

    def test_a_file_that_was_just_written_is_not_printed_again(self) -> None:
        story = started()
        written = {"file_path": "a.py", "content": "\n".join(SOURCE)}
        story.uses("write", written, "written")
        shown = read(story, numbered(SOURCE))
        assert restored(shown, SOURCE)[1:] == numbered(SOURCE)
        assert len(shown) < 400

    def test_lines_without_the_numbers_they_had_are_said_once(self) -> None:
        story = started()
        read(story, numbered(SOURCE))
        shown = read(story, SOURCE, "copy.py")
        assert ", without numbers]…" in shown
        assert restored(shown, numbered(SOURCE))[1:] == SOURCE

    def test_a_view_leaves_out_what_stands_above(self) -> None:
        story = started()
        text = document()
        first = read(story, text.split("\n"), "a.md")
        again = read(story, [*text.split("\n"), "one more row"], "a.md")
        assert len(again) < len(first)
        assert " as above]…" in again

    def test_a_file_that_a_message_quotes_is_not_printed_again_in_any_turn(self) -> None:
        story = FoldedStory()
        story.start()
        story.human("Follow these rules:\n" + "\n".join(SOURCE))
        story.says("I will.")
        story.end()
        story.start()
        story.human("Read them again.")
        shown = read(story, SOURCE)
        assert restored(shown, SOURCE)[1:] == SOURCE
        assert len(shown) < 400

    def test_all_of_it_comes_back(self) -> None:
        story = started()
        read(story, SOURCE)
        result = story.uses("read", {"file_path": "a.py"}, "\n".join(SOURCE))
        story.says("seen")
        assert " as above]…" in story.shown(result)
        text, failed = story.recalled("expand_result", seq=result.seq, formatVersion=3)
        assert not failed
        assert text.partition("\n")[2] == "\n".join(SOURCE)


class TestWhatIsSaidAgain:
    def test_another_turn_shows_it_whole(self) -> None:
        story = started()
        read(story, SOURCE)
        story.end()
        story.start()
        story.human("again")
        assert read(story, SOURCE) == "\n".join(SOURCE)

    def test_errors_are_whole(self) -> None:
        story = started()
        read(story, SOURCE)
        story.says(calls={"c": ("bash", {"command": "cat a.py; false"})})
        result = story.result("c", "\n".join(SOURCE), error=True)
        story.says("seen")
        assert story.shown(result) == "\n".join(SOURCE)

    def test_what_recall_brought_back_is_whole(self) -> None:
        story = started()
        read(story, SOURCE)
        result = story.uses("read", {"file_path": "a.py"}, "\n".join(SOURCE))
        story.says("seen")
        answer = story.expands(seq=result.seq, formatVersion=3)
        story.says("seen")
        assert not story.is_folded(answer)

    def test_a_little_overlap_is_not_worth_a_head(self) -> None:
        story = started()
        read(story, SOURCE[:3])
        assert read(story, SOURCE) == "\n".join(SOURCE)

    def test_a_marker_of_ours_never_counts_as_the_lines_it_stands_for(self) -> None:
        repeats = Repeats()
        repeats.enter(1)
        repeats.add(Shown(0), ["a first line here\n…[+9 lines / 90 chars]…\na last line here"])
        text = "a first line here\n…[+9 lines / 90 chars]…\na last line here"
        assert repeats.said_once(text, lambda _: True) is None

    def test_what_no_longer_stands_is_shown(self) -> None:
        repeats = Repeats()
        repeats.enter(1)
        repeats.add(Shown(0), ["\n".join(SOURCE)])
        assert repeats.said_once("\n".join(SOURCE), lambda _: False) is None

    def test_a_copy_nearer_than_the_one_above_hides_it(self) -> None:
        repeats = Repeats()
        repeats.enter(1)
        repeats.add(Shown(0), ["\n".join(SOURCE)])
        repeats.enter(1)
        text = "\n".join([SOURCE[0], "something else follows", *SOURCE])
        shown = repeats.said_once(text, lambda _: True)
        assert shown is not None
        assert shown[0].split("\n")[2:4] == [SOURCE[0], SOURCE[1]]


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_out_can_be_read_above(seed: int) -> None:
    pick = random.Random(seed)
    words = [f"line of text number {at}" for at in range(12)]
    repeats = Repeats()
    above: list[str] = []
    for _ in range(6):
        lines = [pick.choice(words) for _ in range(pick.randrange(1, 40))]
        if pick.random() < 0.5:
            lines = numbered(lines, pick.randrange(1, 200))
        if above and pick.random() < 0.7:
            start = pick.randrange(len(above))
            lines += [line for line in above[start : start + 20] if "…[" not in line]
        repeats.enter(1)
        found = repeats.said_once("\n".join(lines), lambda _: True)
        shown = found[0] if found else "\n".join(lines)
        assert restored(shown, above) == lines
        repeats.add(Shown(0), [shown])
        above += [*shown.split("\n"), "…[end"]


def test_a_session_that_is_opened_again_counts_the_same() -> None:
    story = started()
    read(story, SOURCE)
    read(story, SOURCE)
    story.uses("write", {"file_path": "b.py", "content": "\n".join(SOURCE[::-1])}, "written")
    read(story, numbered(SOURCE[::-1]), "b.py")
    live = story.stats
    assert live.folded == 2
    again = story.new_prestep()
    again.before_step(story.step + 1, time=0)
    assert again.stats == live


def test_the_work_grows_with_the_lines() -> None:
    repeats = Repeats()
    repeats.enter(1)
    same = "\n".join(["the same line of text"] * 20_000)
    repeats.add(Shown(0), [same])
    repeats.enter(1)
    assert repeats.said_once(same, lambda _: True) is None
