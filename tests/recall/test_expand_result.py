"""expand_result: one logged result, whole or in part."""

from typing import Any

import pytest

from recall_story import Story, result
from slicetape.log.events import Replace, ToolResult

ROWS = "\n".join(f"row {number} of the file" for number in range(120))
STALE = (
    "ERROR expand_result: numeric seq requires formatVersion 3 from a fresh locator; sequence "
    "numbers can change during format migration. Do not relabel an old locator. Obtain a fresh "
    'locator from recall_turn({"turn":"N","view":"dialogue"}) or recall_search, or use the stable '
    '{"turn":N,"step":M,"call":K} address.'
)
ADDRESSES = (
    'ERROR expand_result needs {"seq": N, "formatVersion": 3} or {"turn": N, "step": M} (and '
    'optional "call": K), all positive integers'
)


@pytest.fixture
def story() -> Story:
    told = Story()
    told.tool_turn(1, ROWS)
    return told


@pytest.fixture
def blocks() -> Story:
    told = Story()
    told.start(1)
    told.said(1, 1, calls=[("a", "recall_search", "{}"), ("b", "read", "{}"), ("c", "bash", "{}")])
    told.returned(1, 1, result("a", "copy"), result("b", "two", "parts"), result("c", "three"))
    told.end(1)
    return told


@pytest.mark.parametrize("version", [{}, {"formatVersion": 2}, {"formatVersion": 4}])
def test_case_156_a_seq_needs_the_format_version_of_today(story: Story, version: Any) -> None:
    assert story.ask("expand_result", seq=4, **version) == STALE
    assert story.ask("expand_result", seq=999, **version) == STALE


def test_case_157_a_seq_or_an_ordinal_gives_the_original(story: Story) -> None:
    assert story.ask("expand_result", seq=4, formatVersion=3) == (
        f"[full result of read · seq 4 (turn 1 step 1 call 1)]\n{ROWS}"
    )
    assert story.ask("expand_result", turn=1, step=1, call=1) == (
        f"[full result of read · turn 1 step 1 call 1]\n{ROWS}"
    )


def test_case_158_a_view_resolves_to_its_original(story: Story) -> None:
    view = story.replaced(4, "[folded]")
    again = story.replaced(view, "[folded more]")
    for seq in (view, again):
        page = story.ask("expand_result", seq=seq, formatVersion=3)
        assert page == f"[full result of read · seq 4 (turn 1 step 1 call 1)]\n{ROWS}"


def test_an_original_that_cites_its_call_is_not_followed(story: Story) -> None:
    story.start(2)
    call = story.said(2, 1, calls=[("x", "bash", "{}")])
    seq = story.returned(2, 1, result("x", "out"), cites=(call,))
    page = story.ask("expand_result", seq=seq, formatVersion=3)
    assert page == f"[full result of bash · seq {seq} (turn 2 step 1 call 1)]\nout"


def test_case_159_other_events_are_no_results(story: Story) -> None:
    assert story.ask("expand_result", seq=1, formatVersion=3) == (
        "ERROR expand_result: seq 1 is a user/message event, not a tool result"
    )


def test_case_160_lines_are_numbered_and_both_ends_count(story: Story) -> None:
    assert story.ask("expand_result", turn=1, step=1, call=1, lines="2-3") == (
        "[read · turn 1 step 1 call 1 · lines 2-3 of 120]\n"
        "2: row 1 of the file\n3: row 2 of the file"
    )


def test_case_161_one_block_of_several(blocks: Story) -> None:
    assert blocks.ask("expand_result", seq=5, formatVersion=3, block=2) == (
        "[full result of read · seq 5 (turn 1 step 1 call 1) block 2]\ntwo\nparts"
    )
    assert blocks.ask("expand_result", turn=1, step=1, block=3) == (
        "[full result of bash · turn 1 step 1 call 1 block 3]\nthree"
    )


def test_case_162_no_block_means_all_siblings(blocks: Story) -> None:
    assert blocks.ask("expand_result", turn=1, step=1) == (
        "[full result of recall_search, read, bash · turn 1 step 1 call 1]\ncopy\ntwo\nparts\nthree"
    )


def test_case_163_a_block_too_many(blocks: Story) -> None:
    assert blocks.ask("expand_result", turn=1, step=1, block=4) == (
        "ERROR expand_result: no result block 4 (result has 3 blocks)"
    )


@pytest.mark.parametrize("block", [0, -1, 1.5])
def test_a_block_is_a_positive_integer_before_anything_else(blocks: Story, block: Any) -> None:
    assert blocks.ask("expand_result", seq=5, block=block) == (
        'ERROR expand_result: "block" must be a positive integer'
    )


@pytest.fixture
def log() -> Story:
    told = Story()
    lines = [f"line {number} ok" for number in range(1, 301)]
    lines[150] = "ERROR pool exhausted"
    told.tool_turn(1, "\n".join(lines), name="bash")
    return told


def test_case_164_grep_shows_two_lines_around(log: Story) -> None:
    assert log.ask("expand_result", turn=1, step=1, grep="POOL exhausted") == (
        "[bash · turn 1 step 1 call 1 · 1 of 300 lines match /POOL exhausted/i]\n"
        "149: line 149 ok\n150: line 150 ok\n151: ERROR pool exhausted\n"
        "152: line 152 ok\n153: line 153 ok"
    )


def test_case_165_no_match_and_no_regex(log: Story) -> None:
    assert log.ask("expand_result", turn=1, step=1, grep="absent") == (
        "[bash · turn 1 step 1 call 1 · 0 of 300 lines match /absent/i]"
    )
    assert log.ask("expand_result", turn=1, step=1, grep="(") == (
        'ERROR expand_result: invalid regex "("'
    )


def test_case_166_three_lines(log: Story) -> None:
    page = log.ask("expand_result", turn=1, step=1, lines="10-12").split("\n")
    assert page[0].endswith("· lines 10-12 of 300]")
    assert page[1:] == ["10: line 10 ok", "11: line 11 ok", "12: line 12 ok"]


@pytest.mark.parametrize("lines", ["12-10", "301-400", "0-0"])
def test_an_empty_range_says_how_many_lines_there_are(log: Story, lines: str) -> None:
    assert log.ask("expand_result", turn=1, step=1, lines=lines) == (
        f"ERROR expand_result: empty range {lines} (result has 300 lines)"
    )


def test_case_168_ordinals_count_original_results_of_the_step() -> None:
    story = Story()
    story.start(1)
    seqs = []
    for number in range(1, 72):
        story.said(1, 1, calls=[(f"c{number}", "read", "{}")])
        seqs.append(story.returned(1, 1, result(f"c{number}", f"result {number}")))
    story.replaced(seqs[0], "[view]")
    assert story.ask("expand_result", turn=1, step=1, call=71).endswith("call 71]\nresult 71")
    assert story.ask("expand_result", turn=1, step=1, call=70).endswith("call 70]\nresult 70")
    assert story.ask("expand_result", turn=1, step=1, call=72) == (
        "ERROR no tool result recorded at turn 1 step 1 call 72"
    )


def test_case_170_an_old_locator_is_refused_and_a_fresh_one_works(story: Story) -> None:
    assert story.ask("expand_result", seq=4) == STALE
    fresh = 'expand_result({"seq":4,"formatVersion":3})'
    assert fresh in story.ask("recall_turn", turn="1")
    assert fresh in story.ask("recall_search", query="row 7", kinds=["tool_output"])


@pytest.mark.parametrize(
    "part",
    [{"grep": "   "}, {"lines": "abc"}, {"lines": "1-"}, {"lines": "9" * 99 + "-1"}, {"grep": ""}],
)
def test_case_171_a_blank_grep_or_malformed_lines_give_all(story: Story, part: Any) -> None:
    page = story.ask("expand_result", turn=1, step=1, **part)
    assert page == f"[full result of read · turn 1 step 1 call 1]\n{ROWS}"


@pytest.mark.parametrize(
    "address",
    [{}, {"turn": 1}, {"step": 1}, {"turn": 0, "step": 1}, {"turn": 1.5, "step": 1},
     {"turn": 1, "step": 1, "call": 0}],
)  # fmt: skip
def test_an_address_is_whole_and_positive(story: Story, address: Any) -> None:
    assert story.ask("expand_result", **address) == ADDRESSES


@pytest.mark.parametrize("seq", [-1, 1.5])
def test_a_seq_is_a_whole_number(story: Story, seq: Any) -> None:
    assert story.ask("expand_result", seq=seq, formatVersion=3) == (
        'ERROR expand_result: "seq" must be a non-negative integer'
    )


def test_a_seq_beyond_the_log_is_no_event(story: Story) -> None:
    assert story.ask("expand_result", seq=10**14, formatVersion=3) == (
        f"ERROR expand_result: no session event at seq {10**14}"
    )


def test_a_replacement_that_cites_no_result_is_said_so() -> None:
    story = Story()
    seq = story.tool_turn(1, "text")
    view = story.replaced(seq, "[view]", original=1)
    assert story.ask("expand_result", seq=view, formatVersion=3) == (
        f"ERROR expand_result: the replacement at seq {view} names no original tool result"
    )


def test_a_damaged_chain_of_replacements_is_said_so() -> None:
    story = Story()
    seq = story.tool_turn(1, "text")
    view = story.replaced(seq, "[view]")
    old = story.events[view]
    assert isinstance(old, ToolResult)
    for cites in ((view,), (99,), None):
        story.events[view] = ToolResult(
            seq=view, data=old.data, surface_op=Replace(seq, seq), source_event_seqs=cites
        )
        assert story.ask("expand_result", seq=view, formatVersion=3) == (
            f"ERROR expand_result: the replacement at seq {view} names no original tool result"
        )


def test_an_event_without_result_blocks_gives_no_text() -> None:
    story = Story()
    story.start(1)
    story.returned(1, 1)
    assert story.ask("expand_result", turn=1, step=1) == (
        "[full result of tool · turn 1 step 1 call 1]\n"
    )
