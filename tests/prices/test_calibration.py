"""The DeepSeek cache against recorded ledgers: hits of real sessions, request by request."""

import json

from data import shared
from slicetape.prices.cache import PrefixCache, Request
from slicetape.prices.prefix import Prefix
from slicetape.prices.rules import cache_rules

HEAD = 14_900  # system and tools of the recorded host, as its reports give it

# Turns before which a compaction rewrote the history. The first one of a session hit 9,088 tokens,
# which no rule explains from the ledger alone; later ones hit the head.
FIRST_RESETS = {("h1_default", 8), ("n1_default", 6), ("x1_default", 27)}
RESETS = {("h1_default", 12), ("h1_default", 15), ("x1_default", 52)} | {
    ("n1_default", turn) for turn in (7, 8, 9)
}


def ledger_rows(name):
    ledger = json.loads(shared("published/ledgers.json").read_text())["ledgers"][name]
    return [dict(zip(ledger["columns"], row, strict=True)) for row in ledger["rows"]]


def predicted(name):
    """Each single-step turn that follows a single-step turn, with its recorded and predicted hit."""
    cache = PrefixCache(cache_rules("deepseek"))
    root = Prefix().then("head", HEAD, section="system")
    answer, before = root, None
    for row in ledger_rows(name):
        prompt = row["input"] + row["cacheRead"]
        follows = before and before["steps"] == row["steps"] == 1
        follows = follows and before["turn"] + 1 == row["turn"]
        reset = (name, row["turn"]) in RESETS | FIRST_RESETS | {("n1_default", 10)}
        start = root if reset or not follows else answer
        if row["steps"] != 1:
            # The last request of the turn is known, its output is not.
            prompt, output = row["peakInput"], 0
        else:
            output = row["output"]
        end = start.then(("prompt", row["turn"]), prompt - start.tokens)
        answer = end.then(("output", row["turn"]), output)
        charge = cache.charge(Request(prefix=end, answer=answer))
        if follows:
            yield row, charge, reset
        before = row


def test_append_only_turns_hit_exactly_what_the_ledgers_recorded():
    exact = 0
    for name in ("h1_default", "n1_default", "x1_default"):
        for row, charge, reset in predicted(name):
            if not reset:
                assert charge.cached == row["cacheRead"], (name, row)
                assert charge.why is None
                exact += 1
    assert exact == 44


def test_turns_after_a_reset_hit_the_head_within_one_block():
    seen = set()
    for name in ("h1_default", "n1_default", "x1_default"):
        for row, charge, _ in predicted(name):
            if (name, row["turn"]) in RESETS:
                assert abs(charge.cached - row["cacheRead"]) <= 128, (name, row)
                assert charge.why == "history-rewrite"
                seen.add((name, row["turn"]))
    assert seen == RESETS


def test_every_recorded_hit_of_a_single_step_turn_is_a_multiple_of_128():
    ledgers = json.loads(shared("published/ledgers.json").read_text())["ledgers"]
    for name in ledgers:
        for row in ledger_rows(name):
            assert row["cacheRead"] % 128 == 0


def test_every_step_of_a_long_turn_hits_exactly_past_a_side_call():
    trace = json.loads(shared("traces/l1_chain_migrate.stream.calls.json").read_text())
    cache = PrefixCache(cache_rules("deepseek"))
    root = Prefix()
    chain, exact = root, 0
    for place, row in enumerate(trace["rows"]):
        prompt = row["input"] + row["cacheRead"]
        if "side" in row:
            side = root.then("side", prompt, section="system")
            cache.charge(Request(prefix=side, answer=side.then("out", row["output"])))
            continue
        end = chain.then(("prompt", place), prompt - chain.tokens)
        chain = end.then(("output", place), row["output"])
        charge = cache.charge(Request(prefix=end, answer=chain))
        if place:
            assert charge.cached == row["cacheRead"], (place, row)
            assert charge.fresh == row["input"]
            exact += 1
    assert exact == 48
