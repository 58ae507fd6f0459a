"""What a model is told: truthful, short, and the same every time."""

from slicetape.policy.teaching import KERNEL, fold_text
from slicetape.prices.tokens import counter
from slicetape.recall.schemas import SCHEMAS


def test_both_texts_take_at_most_450_tokens() -> None:
    count = counter("o200k").count
    assert count(KERNEL) + count(fold_text(recall_step=True)) <= 450


def test_case_189_recall_step_is_named_only_where_it_is_offered() -> None:
    assert "recall_step" not in fold_text(recall_step=False)
    assert 'recall_step({"turn": t, "step": s})' in fold_text(recall_step=True)


def test_case_190_the_text_about_views_says_what_they_keep_and_no_more() -> None:
    text = fold_text(recall_step=False)
    assert text.startswith("<fold>\n")
    assert text.endswith("</fold>\n")
    for said in (
        "Source code is never condensed",
        "[... and N more matches in <file>]",
        "those with new keys",
        "about a dozen a run",
        "…[+N lines / M chars]…",
        'with "as above" they stand earlier',
        '"grep": <regex>',
        '"lines": "a-b"',
        "A view tells only what the tool returned",
    ):
        assert said in text
    assert "every structured line" not in text
    assert "grep is never" not in text


def test_the_kernel_names_no_tool_that_there_is_not() -> None:
    named = {word.split("(")[0].strip(".,;") for word in KERNEL.split() if "_" in word}
    assert named == {"recall_turn", "expand_result", "recall_search"}
    assert named <= set(SCHEMAS)


def test_the_texts_quote_no_number_that_can_be_configured() -> None:
    told = KERNEL + fold_text(recall_step=True)
    numbers = {word for word in told.replace("v1", "").split() if any(map(str.isdigit, word))}
    assert numbers == set()
