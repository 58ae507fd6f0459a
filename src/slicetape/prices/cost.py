"""Tokens and a sheet to money, exactly.

Money is a `Fraction` of the sheet's currency, so sums do not depend on their order; round once,
where it is printed. Cost is linear: add the `Tokens` of many requests and price the sum.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from slicetape.errors import PriceError
from slicetape.log.payloads import Usage
from slicetape.prices.cache import Charge
from slicetape.prices.sheet import Sheet


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens by price: read from the cache, written to it, fresh, and output."""

    cached: int = 0
    written: int = 0
    fresh: int = 0
    output: int = 0

    @property
    def input(self) -> int:
        """All tokens of the prompts."""
        return self.cached + self.written + self.fresh

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.cached + other.cached,
            self.written + other.written,
            self.fresh + other.fresh,
            self.output + other.output,
        )


def charged(charge: Charge, output: int = 0) -> Tokens:
    """The tokens of a replayed request and its output."""
    return Tokens(charge.cached, charge.written, charge.fresh, output)


def recorded(usage: Usage) -> Tokens:
    """The tokens of a recorded call. PriceError when a count is negative."""
    tokens = Tokens(
        usage.cache_read_tokens or 0,
        usage.cache_write_tokens or 0,
        usage.input_tokens,
        usage.output_tokens,
    )
    if min(tokens.cached, tokens.written, tokens.fresh, tokens.output) < 0:
        raise PriceError(f"recorded usage has a negative count: {tokens}")
    return tokens


def total(tokens: Iterable[Tokens]) -> Tokens:
    """The sum of many."""
    return sum(tokens, Tokens())


def cost(tokens: Tokens, sheet: Sheet) -> Fraction:
    """What the tokens cost in the sheet's currency; output costs nothing on an input-only sheet."""
    money = tokens.cached * sheet.hit + tokens.written * sheet.write + tokens.fresh * sheet.miss
    if sheet.out is not None:
        money += tokens.output * sheet.out
    return money / sheet.per


def reread_output_cost(output: int, sheet: Sheet) -> Fraction:
    """What output costs that only a re-reading model writes, also on reference sheets.

    PriceError on a sheet that prices no output at all.
    """
    price = sheet.reread_out if sheet.out is None else sheet.out
    if price is None:
        raise PriceError(f"sheet {sheet.id} has no output price; choose a real or reference sheet")
    return output * price / sheet.per
