"""From which turn on sealing is cheaper than sending the transcript, for turns of equal shape."""

from dataclasses import dataclass
from fractions import Fraction

from slicetape.errors import PriceError
from slicetape.prices.sheet import Sheet


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A session whose turns are alike, in tokens.

    `head` is sent by both, `extra` only by the sealing side (recall schemas and teaching). A turn
    has `steps` requests and adds `raw` tokens, of which `sealed` remain once it is an entry.
    """

    head: int
    extra: int = 0
    raw: int
    sealed: int
    steps: int


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The first turn (from 1) that is cheaper sealed, and by which the sum is; None for never."""

    turn: int | None
    total: int | None


def turn_cost(shape: Shape, sheet: Sheet, turn: int, *, sealing: bool) -> Fraction:
    """What turn number `turn` costs on the input side.

    The transcript reads every earlier turn raw. The sealing side reads them sealed and pays the
    newest entry as fresh text. Both pay the head fresh in the first turn.
    """
    head = shape.head + (shape.extra if sealing else 0)
    earlier = (turn - 1) * (shape.sealed if sealing else shape.raw)
    new = shape.raw
    if turn == 1:
        new += head
    elif sealing:
        new += shape.sealed
    return (shape.steps * (head + earlier) * sheet.hit + new * max(sheet.miss, sheet.write)) / (
        sheet.per
    )


def break_even(shape: Shape, sheet: Sheet) -> BreakEven:
    """Where the sealing side crosses the transcript, by turn and in total.

    Both differences grow with the turns as soon as a turn shrinks at all, so they cross at most
    once after the first turn. PriceError for a shape with negative counts or without steps.
    """
    if min(shape.head, shape.extra, shape.raw, shape.sealed) < 0 or shape.steps < 1:
        raise PriceError(f"not the shape of a session: {shape}")

    def saved(turn: int) -> Fraction:
        raw = turn_cost(shape, sheet, turn, sealing=False)
        return raw - turn_cost(shape, sheet, turn, sealing=True)

    growth = saved(3) - saved(2)
    if growth <= 0:
        return BreakEven(None, None)
    start, debt = saved(2), -saved(1)
    by_turn = 2 + max(0, _ceil(-start / growth))
    low, high = by_turn, by_turn
    while _sum(start, growth, high - 1) < debt:
        high *= 2
    while low < high:
        middle = (low + high) // 2
        if _sum(start, growth, middle - 1) >= debt:
            high = middle
        else:
            low = middle + 1
    return BreakEven(by_turn, low)


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _sum(first: Fraction, growth: Fraction, count: int) -> Fraction:
    """`count` terms that start at `first` and grow by `growth`."""
    return count * first + growth * (count * (count - 1)) / 2
