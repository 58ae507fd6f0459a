import json
import re
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from data import shared
from slicetape.errors import PriceError
from slicetape.prices.rules import cache_rules
from slicetape.prices.sheet import peak_hours, sheet, sheet_at, sheets, source_text


def test_the_published_deepseek_sheets_are_here_with_their_dates():
    for row in json.loads(shared("published/prices.json").read_text())["deepseek"]:
        ours = sheet(row["id"])
        assert (ours.model, ours.currency, ours.per) == (row["model"], "USD", 1_000_000)
        assert [float(ours.hit), float(ours.miss), float(ours.out)] == [
            row["hit"],
            row["miss"],
            row["out"],
        ]
        assert ours.write == ours.miss
        assert ours.effective == row["effective"].removesuffix(" launch")
        if "peak_multiplier" in row:
            peak = sheet(ours.peak)
            for name in ("hit", "miss", "write", "out"):
                assert getattr(peak, name) == row["peak_multiplier"] * getattr(ours, name)


def test_the_latest_prices_in_yuan_are_here():
    latest = json.loads(shared("published/prices.json").read_text())["deepseek_cny_latest"]
    for name, model in (("cny-flash", "deepseek-flash"), ("cny-pro", "deepseek-v4-pro")):
        for when in ("offpeak", "peak"):
            ours = sheet(f"{name}-{when}")
            assert (ours.currency, ours.model) == ("CNY", model)
            row = {"hit": float(ours.hit), "miss": float(ours.miss), "out": float(ours.out)}
            assert row == latest[model][when]


def test_relative_sheets_have_the_published_multipliers():
    prices = json.loads(shared("published/prices.json").read_text())
    anthropic = prices["anthropic_multipliers"]
    for minimum in (512, 1024, 2048, 4096):
        for life in ("5m", "1h"):
            ours = sheet(f"anthropic-{life}-{minimum}")
            assert float(ours.write) == anthropic[f"cache_write_{life}"]
            assert float(ours.hit) == anthropic["cache_read"]
            assert cache_rules(ours.cache).minimum == minimum
    for name, row in (("before-5.6", "before_gpt_5_6"), ("5.6", "gpt_5_6_and_later")):
        ours, theirs = sheet(f"openai-{name}"), prices["openai_multipliers"][row]
        assert float(ours.write) == theirs["cache_write"]
        assert float(ours.hit) == theirs["cache_read"]


def test_reference_sheets_are_as_the_comparisons_define_them():
    rows = {
        name: (ours.hit, ours.miss, ours.write, ours.reread_out, ours.cache)
        for name in ("rel-30", "rel-10", "rel-none", "flat-30", "flat-10")
        if (ours := sheet(name)).input_only
    }
    tenth, thirtieth = Fraction(1, 10), Fraction(1, 30)
    assert rows == {
        "rel-30": (thirtieth, 1, 1, 3, "rel-30"),
        "rel-10": (tenth, 1, Fraction("1.25"), 4, "rel-10"),
        "rel-none": (1, 1, 1, 4, "none"),
        "flat-30": (thirtieth, 1, 1, 4, "flat"),
        "flat-10": (tenth, 1, 1, 4, "flat"),
    }


def test_every_sheet_names_its_cache_its_source_and_a_date():
    ids = [ours.id for ours in sheets()]
    assert len(set(ids)) == len(ids) == 32
    for ours in sheets():
        rules = cache_rules(ours.cache)
        assert rules.writes or ours.write == ours.miss
        assert source_text(ours)
        if ours.source != "slicetape":
            date = ours.effective or ours.seen
            assert re.fullmatch(r"2026-\d\d(-\d\d(T\d\d:\d\dZ)?)?", date)
        assert ours.input_only == (ours.currency == "base")
        if ours.peak:
            assert sheet(ours.peak).model == ours.model
            assert peak_hours(ours.hours).id == ours.hours


def test_an_unknown_sheet_is_answered_with_the_nearest():
    with pytest.raises(PriceError, match=r"no price sheet 'rel30'; did you mean rel-30 or "):
        sheet("rel30")
    with pytest.raises(PriceError, match=r"no price sheet '\?\?\?'; there are v4-flash-launch, "):
        sheet("???")
    with pytest.raises(PriceError) as hostile:
        sheet("\x1b[31m\ud800" * 1000)
    assert len(str(hostile.value)) < 1500
    assert "\x1b" not in str(hostile.value)
    with pytest.raises(PriceError, match="no peak hours 'x'"):
        peak_hours("x")


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("time", "peak"),
    [
        ("2026-09-14T00:59:59", False),  # a Monday
        ("2026-09-14T01:00:00", True),
        ("2026-09-14T03:59:59", True),
        ("2026-09-14T04:00:00", False),
        ("2026-09-14T06:00:00", True),
        ("2026-09-14T09:59:59", True),
        ("2026-09-14T10:00:00", False),
        ("2026-09-19T02:00:00", False),  # a Saturday
        ("2026-09-20T02:00:00", False),
    ],
)
def test_peak_hours_are_two_windows_on_working_days(time, peak):
    found = sheet_at("v41-flash-20260910-offpeak", at(time))
    assert found.id == f"v41-flash-20260910-{'peak' if peak else 'offpeak'}"


def test_the_earlier_notice_names_no_days():
    assert sheet_at("v4-flash-20260816-offpeak", at("2026-08-22T02:00:00")).id.endswith("-peak")


def test_a_sheet_without_peak_hours_is_itself_at_any_time():
    assert sheet_at("rel-30", at("2026-09-14T02:00:00")) is sheet("rel-30")
