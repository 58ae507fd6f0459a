"""The requests of a run under price sheets: what each provider's cache would have billed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from slicetape.prices.cache import PrefixCache
from slicetape.prices.cost import Tokens, charged, cost
from slicetape.prices.rules import cache_rules
from slicetape.prices.sheet import Sheet, sheet_at
from slicetape.replay.meter import Sent


@dataclass(frozen=True, slots=True)
class Bill:
    """What the requests of a run cost on one sheet, and the tokens behind it.

    `rows` has the tokens of each request.
    """

    sheet: Sheet
    tokens: Tokens
    money: Fraction
    rows: Sequence[Tokens]


def bills(sent: Sequence[Sent], sheets: Iterable[Sheet], *, ttl: bool) -> list[Bill]:
    """One bill a sheet. `ttl` lets entries expire by the recorded times."""
    charges: dict[str, list[Tokens]] = {}
    made: list[Bill] = []
    for sheet in sheets:
        if sheet.cache not in charges:
            charges[sheet.cache] = _charges(sent, sheet.cache, ttl)
        rows = charges[sheet.cache]
        tokens = sum(rows, Tokens())
        made.append(Bill(sheet, tokens, _money(sheet, sent, rows, tokens), rows))
    return made


def spent(sheet: Sheet, rows: Iterable[tuple[int | None, Tokens]]) -> Fraction:
    """What tokens cost, each with the time it is sent at, for sheets with peak hours."""
    by_sheet: dict[str, Tokens] = {}
    used: dict[str, Sheet] = {}
    for time, tokens in rows:
        now = sheet if time is None or sheet.peak is None else sheet_at(sheet.id, time)
        used[now.id] = now
        by_sheet[now.id] = by_sheet.get(now.id, Tokens()) + tokens
    return sum((cost(tokens, used[id]) for id, tokens in by_sheet.items()), Fraction(0))


def _charges(sent: Sequence[Sent], rules: str, ttl: bool) -> list[Tokens]:
    cache = PrefixCache(cache_rules(rules), expiry=ttl)
    return [charged(cache.charge(row.request), row.output) for row in sent]


def _money(sheet: Sheet, sent: Sequence[Sent], rows: Sequence[Tokens], tokens: Tokens) -> Fraction:
    if sheet.peak is None:
        return cost(tokens, sheet)
    times = (row.request.time_ms for row in sent)
    return spent(sheet, zip(times, rows, strict=True))
