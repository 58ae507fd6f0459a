"""Time and order: when entries begin, are refreshed, and end."""

import pytest

from slicetape.prices.cache import Charge, PrefixCache, Request
from slicetape.prices.prefix import Prefix
from slicetape.prices.rules import cache_rules

MINUTE = 60_000
HOUR = 60 * MINUTE


def session(*tokens: int, root: Prefix | None = None) -> Prefix:
    """Tools, a system text, then messages, of the given sizes."""
    end = root or Prefix()
    for place, size in enumerate(tokens):
        section = ("tools", "system")[place] if place < 2 else "messages"
        end = end.then((place, size), size, section=section)
    return end


@pytest.mark.parametrize(
    ("rules", "life"),
    [
        ("anthropic-5m-1024", 5 * MINUTE),
        ("anthropic-1h-1024", HOUR),
        ("deepseek", 24 * HOUR),
        ("openai-before-5.6", 10 * MINUTE),
    ],
)
def test_a_gap_above_the_ttl_turns_hits_into_misses(rules, life):
    for gap, hit in ((life, True), (life + 1, False)):
        cache = PrefixCache(cache_rules(rules), expiry=True)
        first = session(1000, 500, 500)
        cache.charge(Request(prefix=first, time_ms=0))
        charge = cache.charge(Request(prefix=first.then("a", 9), time_ms=gap))
        assert (charge.cached > 0) is hit
        assert charge.why == (None if hit else "ttl")


def test_a_read_refreshes_what_it_reads():
    cache = PrefixCache(cache_rules("anthropic-5m-1024"), expiry=True)
    end = session(1000, 500, 500)
    for minute in range(0, 40, 4):
        end = end.then(minute, 10)
        charge = cache.charge(Request(prefix=end, time_ms=minute * MINUTE))
        assert charge.cached == (end.parent.tokens if minute else 0)


def test_an_entry_that_is_only_read_stays_too():
    cache = PrefixCache(cache_rules("anthropic-5m-1024"), expiry=True)
    head = session(1000, 500)
    cache.charge(Request(prefix=head, time_ms=0))
    for minute in range(4, 40, 4):
        side = Request(prefix=head.then(minute, 10), time_ms=minute * MINUTE)
        assert cache.charge(side).cached == 1500


def test_only_the_part_that_was_used_stays():
    cache = PrefixCache(cache_rules("deepseek"), expiry=True)
    head = session(1000, 536)
    long = head.then("long", 6400)
    cache.charge(Request(prefix=long, time_ms=0))
    cache.charge(Request(prefix=head.then("side", 10), time_ms=20 * HOUR))
    assert cache.charge(Request(prefix=long, time_ms=40 * HOUR)) == Charge(1536, 0, 6400, "ttl")


def test_openai_forgets_after_an_hour_however_busy():
    cache = PrefixCache(cache_rules("openai-before-5.6"), expiry=True)
    end = session(2000, 500)
    whys = []
    for minute in range(0, 70, 6):
        end = end.then(minute, 128)
        whys.append(cache.charge(Request(prefix=end, time_ms=minute * MINUTE)).why)
    assert whys == ["first-use"] + [None] * 10 + ["ttl"]


def test_a_life_ends_after_its_last_moment():
    for gap, cached in ((24 * HOUR, 1408), (24 * HOUR + 1, 0)):
        cache = PrefixCache(cache_rules("openai-5.6"), expiry=True)
        end = session(1000, 500)
        cache.charge(Request(prefix=end, time_ms=0))
        assert cache.charge(Request(prefix=end, time_ms=gap)).cached == cached


def test_nothing_expires_unless_asked():
    cache = PrefixCache(cache_rules("anthropic-5m-1024"))
    first = session(1000, 500)
    cache.charge(Request(prefix=first, time_ms=0))
    assert cache.charge(Request(prefix=first, time_ms=10**12)).cached == 1500


def test_shared_tokens_expire_with_the_request_before():
    cache = PrefixCache(cache_rules("deepseek"), expiry=True)
    root = Prefix()
    cache.charge(Request(prefix=root.then("a", 1000), time_ms=0))
    late = Request(prefix=root.then("b", 1000), shared=900, time_ms=25 * HOUR)
    assert cache.charge(late).cached == 0


@pytest.mark.parametrize("rules", ["deepseek", "anthropic-5m-1024", "openai-5.6", "flat"])
def test_parallel_requests_cannot_hit_each_other(rules):
    cache = PrefixCache(cache_rules(rules))
    end = session(1000, 500, 36)
    assert cache.charge(Request(prefix=end)).why == "first-use"
    assert cache.charge(Request(prefix=end, shared=1536, parallel=True)) == Charge(
        0, 1536 if cache.rules.writes else 0, 0 if cache.rules.writes else 1536, "parallel"
    )
    assert cache.charge(Request(prefix=end)).cached == 1536


def test_an_entry_exists_from_the_beginning_of_the_response():
    cache = PrefixCache(cache_rules("anthropic-5m-1024"), expiry=True)
    end = session(1000, 536)
    cache.charge(Request(prefix=end, time_ms=0, answered_ms=3000))
    assert cache.charge(Request(prefix=end, time_ms=2999)).why == "parallel"
    assert cache.charge(Request(prefix=end, time_ms=3000)).cached == 1536
