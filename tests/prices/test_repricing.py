"""Money against published figures."""

import json
from fractions import Fraction

import pytest

from data import shared
from slicetape.errors import PriceError
from slicetape.log.payloads import Usage
from slicetape.prices.cache import Charge
from slicetape.prices.cost import (
    Tokens,
    charged,
    cost,
    recorded,
    reread_output_cost,
    total,
)
from slicetape.prices.sheet import sheet, without_cache

NATIVE = {
    "deepseek-v4-flash": "v4-flash-20260816-offpeak",
    "deepseek-v4-pro": "v4-pro-20260816-offpeak",
}


def test_every_recorded_session_costs_what_was_published():
    rows = json.loads(shared("published/h2h_sessions.json").read_text())["rows"]
    assert len(rows) == 89
    flash = sheet("v4-flash-20260816-offpeak")
    for row in rows:
        tokens = Tokens(cached=row["hit"], fresh=row["miss"], output=row["out"])
        native = cost(tokens, sheet(NATIVE[row["model"]]))
        assert float(native) == pytest.approx(row["cost_native_sheet"], abs=1e-6)
        assert float(cost(tokens, flash)) == pytest.approx(row["cost_flash_sheet"], abs=1e-6)


def test_every_aggregate_of_the_twenty_questions_costs_what_was_published():
    published = json.loads(shared("published/cb20.json").read_text())
    flash = sheet("v4-flash-20260816-offpeak")

    def price(row):
        names = ("hit", "miss", "out") if "hit" in row else ("cacheRead", "input", "output")
        cached, fresh, output = (row[name] for name in names)
        return cost(Tokens(cached=cached, fresh=fresh, output=output), flash)

    counted = [row for row in published["aggregate_paired19"].values() if "hit" in row]
    assert len(counted) == 2
    for row in counted:
        assert float(price(row)) == pytest.approx(row["cost_usd"], abs=5e-4)
    for name in ("per_question_flash_slice_fold_sep", "per_question_flash_default_aug_raw"):
        rows = [row for row in published[name] if row["input"] is not None]
        assert len(rows) >= 19
        for row in rows:
            assert float(price(row)) == pytest.approx(row["cost_usd"], abs=1e-6)
    raw = published["per_question_flash_default_aug_raw"]
    paired = {row["short"] for row in published["per_question_flash_aug"]["rows"]}
    summed = sum(price(row) for row in raw if row["short"] in paired)
    assert float(summed) == pytest.approx(
        published["aggregate_paired19"]["flash_default_aug"]["cost_usd"], abs=5e-4
    )


def test_without_a_cache_the_shorter_prompt_wins():
    flash = without_cache(sheet("v4-flash-20260816-offpeak"))
    assert flash.id == "v4-flash-20260816-offpeak-uncached"
    assert (flash.hit, flash.cache) == (flash.miss, "none")
    assert cost(Tokens(cached=10, fresh=1), flash) == cost(Tokens(fresh=11), flash)


def test_peak_doubles_every_field():
    tokens = Tokens(cached=12345, written=10, fresh=678, output=90)
    off, peak = sheet("v4-flash-20260816-offpeak"), sheet("v4-flash-20260816-peak")
    assert cost(tokens, peak) == 2 * cost(tokens, off)


def test_money_is_exact_and_linear():
    third = sheet("rel-30")
    parts = [Tokens(cached=1), Tokens(cached=1), Tokens(cached=1)]
    assert sum(cost(part, third) for part in parts) == Fraction(1, 10)
    assert cost(total(parts), third) == Fraction(1, 10)


def test_output_costs_nothing_on_an_input_only_sheet():
    assert cost(Tokens(fresh=5, output=1000), sheet("rel-10")) == 5
    assert reread_output_cost(120, sheet("rel-10")) == 480
    assert reread_output_cost(120, sheet("rel-30")) == 360
    assert reread_output_cost(1_000_000, sheet("v41-flash-20260910-offpeak")) == Fraction("0.6")
    with pytest.raises(PriceError, match="anthropic-5m-1024 has no output price"):
        reread_output_cost(120, sheet("anthropic-5m-1024"))


def test_recorded_usage_is_three_disjoint_counts_and_output():
    usage = Usage(input_tokens=7, output_tokens=5, cache_read_tokens=100, cache_write_tokens=20)
    tokens = recorded(usage)
    assert tokens == Tokens(cached=100, written=20, fresh=7, output=5)
    assert tokens.input == 127
    assert cost(tokens, sheet("anthropic-1h-1024")) == 10 + 40 + 7
    assert recorded(Usage(input_tokens=3)) == Tokens(fresh=3)
    with pytest.raises(PriceError, match="negative"):
        recorded(Usage(input_tokens=-1))


def test_a_charge_becomes_tokens():
    assert charged(Charge(1, 2, 3, None), output=4) == Tokens(1, 2, 3, 4)
