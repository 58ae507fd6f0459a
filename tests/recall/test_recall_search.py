"""recall_search: what is found, in which order, and how it is shown."""

from typing import Any

import pytest

from recall_story import SNAPSHOT, Story, result
from slicetape.recall.index import Index
from slicetape.recall.ranking import REFERENCE
from slicetape.recall.search import search, terms

HEAD = (
    '[recall_search "{}" · {} hit(s) · historical record — each hit ends with the exact call that '
    'returns its original: recall_turn({{"turn": "slice-turn-N"}}) (view "dialogue" is the default: '
    'the cheap text-only page) for said text, recall_turn view "full" for tool inputs, '
    'expand_result({{"seq": Q,"formatVersion": 3,"block": B}}) for tool output (block only for '
    "multi-result events)]"
)


def hits(story: Story, query: str, **options: Any) -> list[str]:
    """The hit lines of a search through the tool."""
    return story.ask("recall_search", query=query, **options).split("\n")[1:]


def kinds_of(story: Story, query: str, **options: Any) -> list[str]:
    index = Index.of(story.view)
    return [hit.document.kind for hit in search(index, query, **options)]


@pytest.fixture
def fact() -> Story:
    told = Story()
    told.tool_turn(1, "pad " * 300 + "the fact is PELICAN-42 " + "pad " * 300)
    return told


def test_case_134_a_fact_of_a_tool_result_is_found(fact: Story) -> None:
    (line,) = hits(fact, "pelican-42", scope="auto")
    assert line.startswith("- slice-turn-1 step 1 seq 4 [tool_output] …")
    assert line.endswith('… → expand_result({"seq":4,"formatVersion":3})')
    shown = line.split("] ", 1)[1].split(" → ")[0]
    assert "PELICAN-42" in shown
    assert len(shown) <= 602


def test_case_135_dialogue_does_not_look_into_output(fact: Story) -> None:
    assert hits(fact, "pelican-42", scope="dialogue") == []
    assert kinds_of(fact, "pelican-42") == []


def test_case_136_explicit_kinds_override_the_scope(fact: Story) -> None:
    assert hits(fact, "pelican-42", scope="auto", kinds=["user", "assistant"]) == []


def test_case_137_kinds_may_widen_the_dialogue_scope(fact: Story) -> None:
    assert len(hits(fact, "pelican-42", scope="dialogue", kinds=["tool_output"])) == 1


def test_case_138_only_the_kinds_asked_for() -> None:
    story = Story()
    story.turn(1, "apple", "apple pie")
    assert kinds_of(story, "apple", kinds=["user"]) == ["user"]


def test_cases_139_and_140_recall_is_not_found_again() -> None:
    story = Story()
    story.turn(1, "the code is OSPREY", "noted")
    story.start(2)
    story.said(2, 1, calls=[("a", "recall_search", '{"query":"osprey question"}')])
    story.returned(2, 1, result("a", "copied OSPREY and only-here"))
    story.end(2)
    every = {"kinds": ["user", "assistant", "context", "tool_input", "tool_error", "tool_output"]}
    assert hits(story, "only-here", **every) == []
    assert hits(story, "question", **every) == []
    (line,) = hits(story, "osprey", **every)
    assert line.startswith("- slice-turn-1 [user]")


def test_case_141_the_open_turn_is_not_searched() -> None:
    story = Story()
    story.turn(1, "apple", "x")
    story.start(2)
    story.heard("apple again")
    assert [line[:22] for line in hits(story, "apple")] == ["- slice-turn-1 [user] "]
    story.end(2)
    assert len(hits(story, "apple")) == 2


@pytest.mark.parametrize(
    ("case", "text", "error", "kind"),
    [
        (142, "TimeoutError: deadline", True, "tool_error"),
        (143, '{"isError":true} deadline', False, "tool_output"),
    ],
)
def test_cases_142_and_143_the_flag_decides_what_an_error_is(
    case: int, text: str, error: bool, kind: str
) -> None:
    story = Story()
    story.tool_turn(1, text, error=error)
    assert kinds_of(story, "deadline", scope="auto") == [kind]
    other = "tool_output" if error else "tool_error"
    assert kinds_of(story, "deadline", kinds=[other]) == []


@pytest.fixture
def six_turns() -> Story:
    told = Story()
    for turn in range(1, 7):
        told.start(turn)
        told.heard(f"compare apples {turn}")
        told.said(turn, 1, calls=[(f"c{turn}", "read", "{}")])
        told.returned(turn, 1, result(f"c{turn}", "apples " * 400))
        told.end(turn)
    return told


def test_case_144_output_has_three_slots_beside_the_others(six_turns: Story) -> None:
    lines = hits(six_turns, "apples", scope="auto", limit=4)
    assert sum("[tool_output]" in line for line in lines) == 3
    assert sum("[user]" in line for line in lines) == 4
    locator = next(line for line in lines if "[tool_output]" in line).split(" → ")[1]
    seq = int(locator.split('"seq":')[1].split(",")[0])
    assert six_turns.ask("expand_result", seq=seq, formatVersion=3).endswith("apples " * 400)


def test_case_145_asked_for_alone_output_has_the_whole_limit(six_turns: Story) -> None:
    assert len(hits(six_turns, "apples", kinds=["tool_output"], limit=6)) == 6


def test_case_146_a_tool_input_leads_to_the_full_view() -> None:
    story = Story()
    story.start(1)
    story.said(1, 1, "ok", calls=[("a", "bash", '{"command":"make widgets"}')])
    story.end(1)
    (line,) = hits(story, "widgets")
    assert line == (
        '- slice-turn-1 step 1 [tool_input] bash {"command":"make widgets"} '
        '→ recall_turn({"turn":"1","view":"full"})'
    )
    assert "make widgets" in story.ask("recall_turn", turn="1", view="full")
    assert "make widgets" not in story.ask("recall_turn", turn="1")


def test_case_147_recall_blocks_are_left_out_one_by_one() -> None:
    story = Story()
    story.start(1)
    story.said(1, 1, calls=[("a", "expand_result", "{}"), ("b", "read", "{}"), ("c", "bash", "{}")])
    story.returned(
        1, 1, result("a", "copied apple"), result("b", "apple"), result("c", "apple", error=True)
    )
    story.end(1)
    assert hits(story, "copied") == []
    (output,) = hits(story, "apple", kinds=["tool_output"])
    (error,) = hits(story, "apple", kinds=["tool_error"])
    assert " block 2 [tool_output]" in output
    assert " block 3 [tool_error]" in error
    assert error.endswith('→ expand_result({"seq":5,"formatVersion":3,"block":3})')
    assert hits(story, "apple", kinds=["user", "tool_input"]) == []


def test_case_148_snapshots_are_context() -> None:
    story = Story()
    story.start(1)
    story.heard("cwd is /srv/orchard", source=SNAPSHOT)
    story.heard("hello")
    story.end(1)
    (line,) = hits(story, "orchard")
    assert line.startswith("- slice-turn-1 [context] cwd")
    assert line.endswith('→ recall_turn({"turn":"1","view":"dialogue"})')
    assert hits(story, "orchard", kinds=["user"]) == []


def test_case_149_a_view_is_not_found_and_its_original_once() -> None:
    story = Story()
    seq = story.tool_turn(1, "apple orchard")
    story.replaced(seq, "folded apple words")
    assert hits(story, "folded") == []
    assert len(hits(story, "apple")) == 1


def test_case_150_text_between_turns_is_found_where_its_page_has_it() -> None:
    story = Story()
    story.turn(1, "a", "b")
    story.heard("also mind the gap")
    story.turn(2, "c", "d")
    assert [line[:16] for line in hits(story, "mind gap")] == ["- slice-turn-1 ["]
    assert "also mind the gap" in story.ask("recall_turn", turn="1")


def test_case_151_a_dialogue_hit_ends_with_its_page() -> None:
    story = Story()
    story.turn(1, "the  apple\nfell", "b")
    assert story.ask("recall_search", query="Apple") == (
        f"{HEAD.format('Apple', 1)}\n"
        '- slice-turn-1 [user] the apple fell → recall_turn({"turn":"1","view":"dialogue"})'
    )


def test_case_152_no_hits_name_what_was_searched(fact: Story) -> None:
    assert fact.ask("recall_search", query="zebra") == (
        '[recall_search "zebra" · 0 hits over kinds user/assistant/context/tool_input/tool_error/'
        "tool_output — broaden the query, or check earlier sealed turns with recall_turn]"
    )
    assert fact.ask("recall_search", query="zebra", kinds=["context", "user"]) == (
        '[recall_search "zebra" · 0 hits over kinds context/user — retry with kinds: '
        '["tool_output"] if the fact was tool-born, or broaden the query]'
    )


def test_case_153_all_terms_before_one_term_repeated() -> None:
    story = Story()
    story.turn(1, "apple " * 300, "x")
    story.turn(2, "an apple and a pear " + "pad " * 2000, "x")
    first, second = hits(story, "apple pear")
    assert first.startswith("- slice-turn-2 ")
    assert second.startswith("- slice-turn-1 ")


def test_case_154_single_characters_are_no_terms_and_cjk_runs_give_pairs() -> None:
    assert terms("a b c !") == ()
    assert terms("折叠") == ("折叠",)
    assert terms("修复数据库 now") == ("修复数据库", "修复", "复数", "数据", "据库", "now")
    assert terms("DB-东京-7 한국어 かな折") == (
        *("db-东京-7", "东京"),
        *("한국어", "한국", "국어"),
        *("かな折", "かな", "な折"),
    )
    assert terms("哈哈哈哈") == ("哈哈哈哈", "哈哈")
    assert terms("deploy deploy v1.2 a_b x-y") == ("deploy", "deploy", "v1.2", "a_b", "x-y")


def test_a_chinese_sentence_finds_what_shares_its_words() -> None:
    story = Story()
    story.turn(1, "我们昨天修好了数据库的连接", "好")
    story.turn(2, "天气不错", "是")
    assert [line[:14] for line in hits(story, "数据库怎么连接")] == ["- slice-turn-1"]


@pytest.mark.parametrize("arguments", [{"query": ""}, {"query": " \n"}, {}])
def test_case_155_a_search_needs_words(fact: Story, arguments: Any) -> None:
    assert fact.ask("recall_search", **arguments) == 'ERROR recall_search needs {"query": "..."}'


@pytest.mark.parametrize(
    ("limit", "found"), [(1, 1), (-3, 1), (0, 5), (None, 5), (99, 20), (2.5, 3), (float("nan"), 5)]
)
def test_the_limit_is_one_to_twenty(limit: Any, found: int) -> None:
    story = Story()
    for turn in range(1, 31):
        story.turn(turn, f"apple {turn}", "x")
    options = {} if limit is None else {"limit": limit}
    assert len(hits(story, "apple", **options)) == found


def test_a_query_of_any_length_is_looked_for_in_bounded_time() -> None:
    words = [f"w{number:06}" for number in range(100_000)]
    assert terms(" ".join(words)) == tuple(words[:256])
    story = Story()
    story.turn(1, "w000255 here", "w000256 there")
    assert [line[:21] for line in hits(story, " ".join(words))] == ["- slice-turn-1 [user]"]


def test_with_very_many_terms_repetition_may_outweigh_one_more_term() -> None:
    story = Story()
    words = [f"word{number:03}" for number in range(250)]
    story.turn(1, " ".join(words[:2] * 5), "x")
    story.turn(2, " ".join(words[:3]) + " pad" * 2000, "x")
    found = search(Index.of(story.view), " ".join(words), ranking=REFERENCE)
    assert [hit.document.turn for hit in found] == [1, 2]
    assert found[0].score > found[1].score > 12


def test_equal_scores_put_the_newest_turn_first_and_then_log_order() -> None:
    story = Story()
    story.turn(1, "apple", "apple")
    story.turn(2, "apple", "apple")
    assert [line[:30] for line in hits(story, "apple")] == [
        "- slice-turn-2 [user] apple → ",
        "- slice-turn-2 step 1 [assista",
        "- slice-turn-1 [user] apple → ",
        "- slice-turn-1 step 1 [assista",
    ]


def test_d7_a_snippet_is_cut_by_code_points() -> None:
    story = Story()
    story.turn(1, "😀İ" * 200 + "needle" + "😀" * 200, "x")
    (hit,) = search(Index.of(story.view), "needle")
    assert hit.snippet == "…" + "😀İ" * 45 + "needle" + "😀" * 84 + "…"


def test_messages_that_belong_to_no_turn_are_not_found() -> None:
    story = Story()
    story.heard("preface apple")
    story.turn(1, "a", "b")
    assert hits(story, "apple") == []
