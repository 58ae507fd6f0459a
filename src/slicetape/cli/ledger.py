"""What a running session has cost: tokens and money of this turn and in total."""

from dataclasses import dataclass, field
from fractions import Fraction

from slicetape.log.events import AssistantMessage, CompactionSummary, Event, TurnStart
from slicetape.log.payloads import Usage
from slicetape.prices.cost import Tokens, cost, recorded
from slicetape.prices.sheet import Sheet, sheet_at
from slicetape.surface import Session


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of some calls, and their price; None where no sheet is known."""

    tokens: Tokens = field(default_factory=Tokens)
    calls: int = 0
    money: Fraction = Fraction(0)

    @property
    def hit_share(self) -> float | None:
        """How much of the input was read from the cache; None before any input."""
        return self.tokens.cached / self.tokens.input if self.tokens.input else None


class Ledger:
    """Follows one session. `sheet` is the id of the price sheet, None when none is known."""

    def __init__(self, session: Session, sheet: str | None) -> None:
        self.sheet = sheet
        self.turn = Spent()
        self.total = Spent()
        self.context = 0
        """Tokens of the last request and its answer."""
        for event in session.log.events:
            self._take(event)
        session.listen(lambda event, _: self._take(event))

    @property
    def currency(self) -> str:
        """What money is counted in; empty when no sheet is known."""
        sheet = self._sheet_at(0)
        return sheet.currency if sheet else ""

    def _take(self, event: Event) -> None:
        if isinstance(event, TurnStart):
            self.turn = Spent()
        elif isinstance(event, AssistantMessage) and event.data.usage and event.is_original:
            tokens = self._add(event.data.usage, event.time)
            self.context = tokens.input + tokens.output
        elif isinstance(event, CompactionSummary) and event.data.usage:
            self._add(event.data.usage, event.time)

    def _add(self, usage: Usage, time: int) -> Tokens:
        tokens = recorded(usage)
        sheet = self._sheet_at(time)
        money = cost(tokens, sheet) if sheet else Fraction(0)
        self.turn = _plus(self.turn, tokens, money)
        self.total = _plus(self.total, tokens, money)
        return tokens

    def _sheet_at(self, time: int) -> Sheet | None:
        return sheet_at(self.sheet, time) if self.sheet else None


def _plus(spent: Spent, tokens: Tokens, money: Fraction) -> Spent:
    return Spent(spent.tokens + tokens, spent.calls + 1, spent.money + money)


def priced(money: Fraction, currency: str) -> str:
    """Money as people read it; empty when no sheet is known.

    A sheet that knows only ratios counts in input tokens that nothing was cached of.
    """
    if not currency:
        return ""
    value = float(money)
    if currency == "base":
        return f"the price of {value:,.0f} input tokens"
    digits = 2 if value >= 1 else 4
    sign = {"USD": "$", "CNY": "¥", "EUR": "€"}.get(currency, f"{currency} ")
    return f"{sign}{value:.{digits}f}"


def status(ledger: Ledger, window: int | None) -> str:
    """One line: the size of the context, the share read from the cache, and the money."""
    size = f"context {ledger.context:,}" + (f" of {window:,}" if window else "") + " tokens"
    share = ledger.total.hit_share
    parts = [size]
    if share is not None:
        parts.append(f"cache {share:.0%}")
    if ledger.currency:
        turn = priced(ledger.turn.money, ledger.currency)
        parts.append(f"turn {turn}, total {priced(ledger.total.money, ledger.currency)}")
    return " · ".join(parts)
