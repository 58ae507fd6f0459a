import sys

import pytest

from slicetape.errors import PriceError
from slicetape.prices.cache import Charge, PrefixCache, Request
from slicetape.prices.prefix import Prefix
from slicetape.prices.rules import CacheRules, all_cache_rules, cache_rules

MINUTE = 60_000
HOUR = 60 * MINUTE


def session(*tokens: int, root: Prefix | None = None) -> Prefix:
    """Tools, a system text, then messages, of the given sizes."""
    end = root or Prefix()
    for place, size in enumerate(tokens):
        section = ("tools", "system")[place] if place < 2 else "messages"
        end = end.then((place, size), size, section=section)
    return end


def test_the_three_counts_add_up_to_the_prompt_under_every_rule():
    for rules in all_cache_rules():
        cache = PrefixCache(rules, expiry=True)
        end = session(900, 700)
        for turn in range(20):
            end = end.then(turn, 137)
            charge = cache.charge(Request(prefix=end, time_ms=turn * 7 * MINUTE))
            assert charge.cached + charge.written + charge.fresh == end.tokens, rules.id
            assert min(charge.cached, charge.written, charge.fresh) >= 0


def test_deepseek_reads_whole_blocks_of_prompt_and_output():
    cache = PrefixCache(cache_rules("deepseek"))
    first = session(1000, 500, 300)
    answer = first.then("answer", 210)
    assert cache.charge(Request(prefix=first, answer=answer)) == Charge(0, 0, 1800, "first-use")
    second = answer.then("result", 40)
    assert cache.charge(Request(prefix=second)) == Charge(1920, 0, 130, None)


def test_output_that_comes_back_changed_is_not_read():
    cache = PrefixCache(cache_rules("deepseek"))
    first = session(1000, 500, 300)
    cache.charge(Request(prefix=first, answer=first.then("with reasoning", 210)))
    assert cache.charge(Request(prefix=first.then("without", 110))).cached == 1792


def test_a_side_call_does_not_disturb_the_main_chain():
    cache = PrefixCache(cache_rules("deepseek"))
    root = Prefix()
    main = session(1000, 500, 300, root=root)
    cache.charge(Request(prefix=main))
    side = root.then("other system", 4000, section="system")
    assert cache.charge(Request(prefix=side)).cached == 0
    assert cache.charge(Request(prefix=main.then("more", 10))) == Charge(1792, 0, 18, None)


def test_a_surface_that_is_rewritten_back_hits_the_older_request():
    cache = PrefixCache(cache_rules("deepseek"))
    head = session(1000, 500)
    long = head.then("a", 5000).then("b", 5000)
    cache.charge(Request(prefix=long))
    assert cache.charge(Request(prefix=head.then("sealed", 100))).why == "history-rewrite"
    assert cache.charge(Request(prefix=long)).cached == long.tokens // 128 * 128


def test_shared_tokens_inside_a_changed_message_are_read():
    cache = PrefixCache(cache_rules("deepseek"))
    head = session(1000, 500)
    cache.charge(Request(prefix=head.then("tape", 900)))
    charge = cache.charge(Request(prefix=head.then("longer tape", 1200), shared=2400))
    assert charge == Charge(2304, 0, 396, "history-rewrite")


@pytest.mark.parametrize(
    ("again", "why"),
    [
        (session(11, 5000, 300), "tool-change"),
        (session(5000, 11, 300), "system-change"),
        (session(5000, 5000, 11), "history-rewrite"),
    ],
)
@pytest.mark.parametrize("rules", ["deepseek", "anthropic-5m-1024", "openai-5.6", "flat"])
def test_a_change_is_named_by_the_first_changed_section(rules, again, why):
    cache = PrefixCache(cache_rules(rules))
    root = Prefix()
    cache.charge(Request(prefix=session(5000, 5000, 300, root=root)))
    pieces = [again.at(depth).tokens - again.at(depth - 1).tokens for depth in (1, 2, 3)]
    assert cache.charge(Request(prefix=session(*pieces, root=root))).why == why


def test_tools_that_disappear_are_a_tool_change():
    cache = PrefixCache(cache_rules("deepseek"))
    root = Prefix()
    cache.charge(Request(prefix=session(500, 500, root=root)))
    assert cache.charge(Request(prefix=root.then("s", 9, section="system"))).why == "tool-change"


def test_a_request_that_was_cut_back_reads_all_of_itself():
    cache = PrefixCache(cache_rules("deepseek"))
    head = session(1000, 536)
    cache.charge(Request(prefix=head.then("a", 128)))
    assert cache.charge(Request(prefix=head)) == Charge(1536, 0, 0, None)


def test_nothing_is_read_below_the_minimum():
    cache = PrefixCache(cache_rules("deepseek"))
    end = session(100, 20)
    cache.charge(Request(prefix=end))
    assert cache.charge(Request(prefix=end.then("a", 100))) == Charge(0, 0, 220, "below-minimum")
    assert cache.charge(Request(prefix=end.then("a", 100).then("b", 1))).cached == 128


@pytest.mark.parametrize(
    ("common", "hit"),
    [(0, 0), (1023, 0), (1024, 1024), (1151, 1024), (1152, 1152), (1279, 1152), (1280, 1280)],
)
def test_openai_hits_in_steps_of_128_from_1024_on(common, hit):
    assert cache_rules("openai-before-5.6").round(common) == hit
    cache = PrefixCache(cache_rules("openai-before-5.6"))
    head = Prefix().then("head", common)
    cache.charge(Request(prefix=head.then("a", 50)))
    assert cache.charge(Request(prefix=head.then("b", 50))).cached == hit


def test_openai_from_5_6_on_bills_what_it_newly_stores():
    cache = PrefixCache(cache_rules("openai-5.6"))
    head = Prefix().then("head", 1200)
    assert cache.charge(Request(prefix=head)) == Charge(0, 1152, 48, "first-use")
    assert cache.charge(Request(prefix=head.then("a", 1000))) == Charge(1152, 1024, 24, None)


# --- breakpoints --------------------------------------------------------------------------------


def test_anthropic_reads_exactly_to_the_entry_and_writes_to_the_last_breakpoint():
    cache = PrefixCache(cache_rules("anthropic-5m-1024"))
    first = session(1000, 500, 301)
    assert cache.charge(Request(prefix=first)) == Charge(0, 1801, 0, "first-use")
    second = first.then("a", 77)
    tail = second.then("clock", 9)
    assert cache.charge(Request(prefix=tail, breakpoints=(second,))) == Charge(1801, 77, 9, None)


def test_anthropic_finds_an_entry_up_to_twenty_blocks_before_a_breakpoint():
    for blocks, cached, why in ((20, 2000, None), (21, 0, "lookback")):
        cache = PrefixCache(cache_rules("anthropic-5m-1024"))
        first = Prefix().then("head", 2000)
        cache.charge(Request(prefix=first))
        end = first
        for place in range(blocks):
            end = end.then(place, 10)
        charge = cache.charge(Request(prefix=end))
        assert (charge.cached, charge.why) == (cached, why)


def test_a_message_of_many_blocks_counts_them_all_in_the_lookback():
    cache = PrefixCache(cache_rules("anthropic-5m-1024"))
    first = Prefix().then("head", 2000)
    cache.charge(Request(prefix=first))
    assert cache.charge(Request(prefix=first.then("results", 900, blocks=21))).why == "lookback"


def test_a_breakpoint_at_the_end_of_the_tape_survives_the_next_seal():
    cache = PrefixCache(cache_rules("rel-10"))
    tape = session(1000, 500).then("entry 1", 600)
    raw = tape.then("raw 1", 4000)
    cache.charge(Request(prefix=raw, breakpoints=(tape, raw)))
    longer = tape.then("entry 2", 300)
    end = longer.then("raw 2", 1000)
    charge = cache.charge(Request(prefix=end, breakpoints=(longer, end)))
    assert charge == Charge(2100, 1300, 0, "history-rewrite")


@pytest.mark.parametrize("minimum", [512, 1024, 2048, 4096])
def test_a_breakpoint_below_the_minimum_makes_no_entry(minimum):
    cache = PrefixCache(cache_rules(f"anthropic-5m-{minimum}"))
    short = Prefix().then("head", minimum - 1)
    assert cache.charge(Request(prefix=short)) == Charge(0, 0, minimum - 1, "first-use")
    end = short.then("a", 1)
    assert cache.charge(Request(prefix=end)) == Charge(0, minimum, 0, "below-minimum")
    assert cache.charge(Request(prefix=end.then("b", 5))) == Charge(minimum, 5, 0, None)


def test_an_anthropic_request_that_was_cut_back_finds_no_entry_at_its_end():
    cache = PrefixCache(cache_rules("anthropic-5m-1024"))
    head = Prefix().then("head", 2000)
    cache.charge(Request(prefix=head.then("a", 100)))
    assert cache.charge(Request(prefix=head)) == Charge(0, 2000, 0, "history-rewrite")


# --- other modes -------------------------------------------------------------------------------


def test_no_cache_reads_nothing():
    cache = PrefixCache(cache_rules("none"))
    end = session(1000, 536)
    assert cache.charge(Request(prefix=end)) == Charge(0, 0, 1536, None)
    assert cache.charge(Request(prefix=end)) == Charge(0, 0, 1536, None)


def test_an_empty_prompt_costs_nothing():
    for rules in all_cache_rules():
        cache = PrefixCache(rules)
        assert cache.charge(Request(prefix=Prefix())) == Charge(0, 0, 0, None)


def test_flat_looks_only_at_the_request_before():
    cache = PrefixCache(cache_rules("flat"))
    head = session(10, 20)
    first = head.then("a", 100)
    cache.charge(Request(prefix=first))
    assert cache.charge(Request(prefix=head.then("b", 7))).cached == 30
    assert cache.charge(Request(prefix=first)).cached == 30
    assert cache.charge(Request(prefix=first.then("c", 1), shared=130)) == Charge(130, 0, 1, None)


def test_boundary_mode_learns_where_requests_part():
    cache = PrefixCache(cache_rules("deepseek-boundary"))
    head = session(1000, 536)
    cache.charge(Request(prefix=head.then("a", 5000)))
    assert cache.charge(Request(prefix=head.then("b", 5000))).cached == 0
    assert cache.charge(Request(prefix=head.then("c", 5000))).cached == 1536


def test_boundary_mode_reads_appended_requests_to_their_end():
    cache = PrefixCache(cache_rules("deepseek-boundary"))
    end = session(1000, 536)
    for place in range(5):
        cache.charge(Request(prefix=end, answer=end.then(("answer", place), 128)))
        end = end.then(("answer", place), 128).then(("result", place), 64)
        assert cache.charge(Request(prefix=end)).cached == (end.tokens - 64) // 128 * 128


def test_boundary_mode_falls_back_to_the_last_stored_end():
    cache = PrefixCache(cache_rules("deepseek-boundary"))
    early = session(1000, 536)
    cache.charge(Request(prefix=early))
    long = early.then("a", 1280).then("b", 1280)
    cache.charge(Request(prefix=long))
    assert cache.charge(Request(prefix=long.parent.then("c", 10))).cached == 1536
    assert cache.charge(Request(prefix=long.parent.then("d", 10))).cached == 2816


def test_boundary_mode_learns_parts_inside_a_message():
    cache = PrefixCache(cache_rules("deepseek-boundary"))
    head = session(1000, 536)
    cache.charge(Request(prefix=head.then("a", 5000)))
    cache.charge(Request(prefix=head.then("b", 5000), shared=2560))
    assert cache.charge(Request(prefix=head.then("c", 5000), shared=3000)).cached == 2560


# --- refusals and work --------------------------------------------------------------------------


def test_requests_that_contradict_themselves_are_refused():
    cache = PrefixCache(cache_rules("anthropic-5m-1024"))
    end = session(10, 20)
    other = session(10, 20)
    with pytest.raises(PriceError, match="31 shared tokens in a prompt of 30"):
        cache.charge(Request(prefix=end, shared=31))
    with pytest.raises(PriceError, match="not a prefix of its prompt"):
        cache.charge(Request(prefix=end, breakpoints=(other,)))
    with pytest.raises(PriceError, match="does not begin with its prompt"):
        cache.charge(Request(prefix=end, answer=other))
    with pytest.raises(PriceError, match="5 breakpoints; anthropic-5m-1024 takes 4"):
        cache.charge(Request(prefix=end, breakpoints=(end,) * 5))


def lines_run(work) -> int:
    """How many lines of Python a call runs."""
    count, before = 0, sys.gettrace()

    def trace(frame, event, arg):
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("rules", [rules.id for rules in all_cache_rules()])
def test_the_work_of_a_charge_does_not_grow_with_the_request(rules):
    work = []
    for size in (100, 5000):
        cache = PrefixCache(cache_rules(rules), expiry=True)
        end = session(500, 600)
        for place in range(size):
            end = end.then(place, 100)
        cache.charge(Request(prefix=end, time_ms=0))
        cache.charge(Request(prefix=end.then("a", 1), time_ms=1))
        request = Request(prefix=end.then("a", 1).then("b", 1), time_ms=2)
        work.append(lines_run(lambda cache=cache, request=request: cache.charge(request)))
    assert work[1] <= work[0] + 40
    assert work[1] < 300


def test_rules_are_named():
    assert cache_rules("deepseek") == CacheRules(
        id="deepseek",
        mode="ideal",
        block=128,
        minimum=128,
        keeps_output=True,
        idle_ms=24 * HOUR,
        note=cache_rules("deepseek").note,
    )
    with pytest.raises(PriceError, match=r"no cache rules 'deepsek'; there are deepseek, "):
        cache_rules("deepsek")
