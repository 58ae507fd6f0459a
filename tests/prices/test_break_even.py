from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicetape.errors import PriceError
from slicetape.prices.breakeven import BreakEven, Shape, break_even, turn_cost
from slicetape.prices.sheet import sheet, without_cache

LONG = Shape(head=4000, extra=900, raw=30_000, sealed=1500, steps=8)
FLASH = sheet("v4-flash-20260816-offpeak")


def test_a_turn_reads_what_is_there_once_a_step_and_pays_what_is_new():
    cost = turn_cost(LONG, sheet("rel-30"), 3, sealing=False)
    assert cost == 8 * (4000 + 60_000) * Fraction(1, 30) + 30_000
    sealed = turn_cost(LONG, sheet("rel-30"), 3, sealing=True)
    assert sealed == 8 * (4900 + 3000) * Fraction(1, 30) + 31_500


def test_long_turns_pay_back_at_once_and_light_ones_late():
    assert break_even(LONG, FLASH) == BreakEven(turn=2, total=2)
    light = Shape(head=4000, extra=900, raw=700, sealed=300, steps=1)
    found = break_even(light, FLASH)
    assert found.turn > 20
    assert found.total > found.turn


def test_a_turn_that_sealing_does_not_shrink_never_pays_back():
    grown = Shape(head=4000, raw=300, sealed=300, steps=1)
    assert break_even(grown, FLASH) == BreakEven(turn=None, total=None)


def test_without_a_cache_sealing_pays_back_sooner():
    light = Shape(head=4000, extra=900, raw=3000, sealed=300, steps=2)
    assert break_even(light, without_cache(FLASH)).turn <= break_even(light, FLASH).turn


@given(
    st.builds(
        Shape,
        head=st.integers(0, 20_000),
        extra=st.integers(0, 2000),
        raw=st.integers(0, 20_000),
        sealed=st.integers(0, 20_000),
        steps=st.integers(1, 20),
    )
)
def test_the_crossing_is_where_adding_up_turns_finds_it(shape):
    found = break_even(shape, sheet("rel-10"))
    spent, by_turn, by_sum = Fraction(0), None, None
    for turn in range(1, 400):
        saved = turn_cost(shape, sheet("rel-10"), turn, sealing=False) - turn_cost(
            shape, sheet("rel-10"), turn, sealing=True
        )
        spent += saved
        if turn > 1 and by_turn is None and saved >= 0:
            by_turn = turn
        if turn > 1 and by_turn is not None and by_sum is None and spent >= 0:
            by_sum = turn
    if found.turn is None:
        assert shape.sealed >= shape.raw
        return
    assert found.turn == by_turn or (by_turn is None and found.turn >= 400)
    assert found.total == by_sum or (by_sum is None and found.total >= 400)


def test_shapes_that_are_none_are_refused():
    with pytest.raises(PriceError, match="not the shape of a session"):
        break_even(Shape(head=1, raw=1, sealed=1, steps=0), FLASH)
    with pytest.raises(PriceError, match="not the shape of a session"):
        break_even(Shape(head=1, raw=-1, sealed=1, steps=1), FLASH)
