"""The summary that stands for a model's: what it opens with, what it lists, where it is cut."""

from slicetape.log.messages import Source
from slicetape.replay.summary import summarise
from story import Story


def summary(story: Story, limit: int = 8_192) -> list[str]:
    text = summarise(story.view, story.view.surface.nodes, count=len, limit=limit)
    return text.split("\n") if text else []


def test_it_opens_with_200_code_points_of_everything_said() -> None:
    story = Story()
    story.start()
    story.human("日" * 300)
    story.says("w" * 201, thinks="not this")
    assert summary(story) == ["日" * 200, "w" * 200]


def test_what_programs_put_in_and_steps_without_words_say_nothing() -> None:
    story = Story()
    story.start()
    story.notice("a job is done")
    story.snapshot("state")
    story.says(calls={"a": ("read", {})})
    story.human("")
    assert summary(story) == []


def test_paths_and_error_lines_follow_newest_result_first_each_once() -> None:
    story = Story()
    story.start()
    story.human("look")
    story.reads("x", "see src/a/old.py and src/a/old.py\nplain words\nsrc/b/both.py:3", id="a")
    story.says(calls={"b": ("run", {}), "c": ("run", {})})
    story.results({"b": ("ERROR: it broke in src/c.py",), "c": ("src/b/both.py",)})
    assert summary(story) == [
        "look",
        "ERROR: it broke in src/c.py",
        "src/b/both.py",
        "src/a/old.py",
    ]


def test_an_earlier_summary_goes_into_the_next_line_by_line() -> None:
    story = Story()
    story.start()
    first = story.human("one")
    story.replaced(
        first, first, "unused", source=Source(kind="plugin", plugin="compact", compaction_id="c")
    )
    assert summary(story) == []  # the text between the two frames, which this one lacks


def test_it_ends_before_the_line_that_would_exceed_the_limit() -> None:
    story = Story()
    story.start()
    for letter in "abc":
        story.human(letter * 9)
    assert summary(story, limit=20) == ["a" * 9, "b" * 9]
    assert summary(story, limit=19) == ["a" * 9]
    assert summary(story, limit=0) == []


def test_a_long_line_without_end_is_looked_at_in_part() -> None:
    story = Story()
    story.start()
    story.reads("x", "/".join(["d" * 70] * 50_000) + " error")
    story.reads("y", "error " + "x" * 5_000)
    lines = summary(story)
    assert lines[0] == ("error " + "x" * 5_000)[:500]
    assert all(len(line) < 1_100 for line in lines)
