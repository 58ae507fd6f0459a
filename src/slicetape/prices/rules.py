"""How a provider's prefix cache behaves, as data read from `caches.json`."""

from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from slicetape.errors import PriceError

Mode = Literal["ideal", "boundary", "breakpoints", "previous", "none"]


class CacheRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One provider's rules. Times are milliseconds; None means no limit.

    `mode` says where a hit may end: `ideal` at the end of the common prefix with anything stored;
    `boundary` at the last stored unit before an end that is seen for the first time;
    `breakpoints` at an entry that an earlier request asked for; `previous` at the end of the common
    prefix with the request before; `none` nowhere.

    `block` and `minimum` are tokens: a hit is `minimum` or more, in steps of `block`.
    `writes` says that the provider bills writes apart, `keepsOutput` that a response is stored
    behind its request. `idleMs` counts from the last use, `lifeMs` from the first write.
    `lookback` is how many content blocks before a breakpoint are searched.
    """

    id: str
    mode: Mode
    block: int = 1
    minimum: int = 0
    writes: bool = False
    keeps_output: bool = False
    idle_ms: int | None = None
    life_ms: int | None = None
    lookback: int = 0
    max_breakpoints: int = 0
    note: str = ""

    def round(self, tokens: int) -> int:
        """The part of `tokens` common tokens that can hit."""
        if tokens < self.minimum:
            return 0
        return self.minimum + (tokens - self.minimum) // self.block * self.block


@cache
def _all() -> dict[str, CacheRules]:
    raw = (files("slicetape.prices") / "caches.json").read_bytes()
    return {row.id: row for row in msgspec.json.decode(raw, type=list[CacheRules])}


def cache_rules(name: str) -> CacheRules:
    """The rules of that id; PriceError lists the ids there are."""
    try:
        return _all()[name]
    except KeyError:
        known = ", ".join(_all())
        raise PriceError(f"no cache rules {name[:60]!r}; there are {known}") from None


def all_cache_rules() -> list[CacheRules]:
    """Every set of rules, in file order."""
    return list(_all().values())
