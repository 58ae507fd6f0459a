"""recall_step: what a step executed and what came back. Spilled results: test_recall_spills."""

import pytest

from recall_story import Story, result

TWO_CALLS = """\
[sealed step · turn 1 · step 1 · 2 call(s) · verbatim tool record: what was executed then, not \
current world state]

## Calls
→ bash({"command":"ls"})
→ read({"path":"x"})

## Results (verbatim)
[result]
a.txt
[error result]
no such file
"""


@pytest.fixture
def story() -> Story:
    told = Story()
    told.start(1)
    told.said(
        1, 1, "look", calls=[("a", "bash", '{"command":"ls"}'), ("b", "read", '{"path":"x"}')]
    )
    told.returned(1, 1, result("a", "a.txt", error=False))
    told.returned(1, 1, result("b", "no such file", error=True))
    told.said(1, 2, "done")
    told.end(1)
    return told


def test_case_125_a_folded_step_gives_the_original_once(story: Story) -> None:
    story.replaced(4, "[bash · view]")
    page = story.ask("recall_step", turn="1", step="1")
    assert page == TWO_CALLS
    assert page.count("[result]") == 1


def test_case_126_parallel_calls_show_each_result(story: Story) -> None:
    assert story.ask("recall_step", turn="1", step="1") == TWO_CALLS


@pytest.mark.parametrize(
    ("turn", "step"), [("turn 1", "step 1"), ("slice-turn-1", "1 "), ("turn-1", "Step:1")]
)
def test_one_word_may_stand_before_the_number(story: Story, turn: str, step: str) -> None:
    assert story.ask("recall_step", turn=turn, step=step) == TWO_CALLS


@pytest.mark.parametrize("step", ["0", "-1", "1.1", "x", "turn -1", "step 2 1", "a b 1", "9" * 99])
def test_d6_only_a_positive_integer_names_a_step(story: Story, step: str) -> None:
    assert story.ask("recall_step", turn="1", step=step) == (
        'ERROR recall_step needs {"turn": "N", "step": "M"}'
    )


@pytest.mark.parametrize(("turn", "step"), [("1", "2"), ("2", "1")])
def test_case_133_a_step_without_calls_is_said_so(story: Story, turn: str, step: str) -> None:
    assert story.ask("recall_step", turn=turn, step=step) == (
        f"ERROR no recorded tool calls for turn {turn} step {step}"
    )


def test_a_call_without_a_result_and_a_result_without_a_call_are_shown() -> None:
    story = Story()
    story.start(1)
    story.said(1, 1, calls=[("a", "bash", "not json")])
    story.returned(1, 2, result("z", "orphan"))
    assert story.ask("recall_step", turn="1", step="1").endswith(
        "## Calls\n→ bash(not json)\n\n## Results (verbatim)\n(no results recorded)\n"
    )
    assert story.ask("recall_step", turn="1", step="2").endswith(
        "## Calls\n(no calls recorded)\n\n## Results (verbatim)\n[result]\norphan\n"
    )
