"""Price sheets: what tokens cost, from when, and under which cache; data files of the package."""

from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from slicetape.errors import PriceError

FILES = ("deepseek.json", "anthropic.json", "openai.json", "reference.json")


class Sheet(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Prices of one model (or family) in force from `effective` on.

    `hit`, `miss`, `write` and `out` are exact prices of `per` tokens in `currency`: ISO code, or
    `base` where only ratios to the price of one uncached input token are known. Without `out` the
    sheet prices input only; `rereadOut` then prices the output that re-reading would write, and
    nothing else. `cache` names the cache rules. `effective` (UTC) and `seen` are as precise as the
    source. `hours` and `peak` name the peak hours and the sheet that holds in them.
    """

    id: str
    model: str
    currency: str
    per: int
    hit: Fraction
    miss: Fraction
    write: Fraction
    out: Fraction | None = None
    reread_out: Fraction | None = None
    cache: str
    effective: str | None = None
    seen: str | None = None
    source: str
    peak: str | None = None
    hours: str | None = None
    note: str = ""

    @property
    def input_only(self) -> bool:
        """Whether output has no price on this sheet."""
        return self.out is None


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From minute `start` (included) to `end` (excluded) of a UTC day."""

    start: int
    end: int


class Hours(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When peak prices hold: UTC windows on ISO weekdays (Monday is 1), except on `holidays`.

    `holidays` are dates (YYYY-MM-DD, Beijing) and ship empty where the source names no dates.
    """

    id: str
    windows: tuple[Window, ...]
    weekdays: tuple[int, ...]
    holidays: tuple[str, ...] = ()
    note: str = ""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: dict[str, str]
    sheets: tuple[Sheet, ...]
    hours: tuple[Hours, ...] = ()


def _exact(kind: type, value: Any) -> Any:
    assert kind is Fraction, kind
    return Fraction(value)


@cache
def _files() -> tuple[_File, ...]:
    folder = files("slicetape.prices") / "sheets"
    return tuple(
        msgspec.json.decode((folder / name).read_bytes(), type=_File, dec_hook=_exact)
        for name in FILES
    )


@cache
def _sheets() -> dict[str, Sheet]:
    return {sheet.id: sheet for file in _files() for sheet in file.sheets}


def sheet(name: str) -> Sheet:
    """The sheet of that id; PriceError gives the nearest ids."""
    try:
        return _sheets()[name]
    except KeyError:
        from difflib import get_close_matches

        near = get_close_matches(name[:60], _sheets(), n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(_sheets())}"
        raise PriceError(f"no price sheet {name[:60]!r}; {hint}") from None


def sheets() -> list[Sheet]:
    """Every sheet, real ones first."""
    return list(_sheets().values())


def source_text(sheet: Sheet) -> str:
    """Where the prices of a sheet were read."""
    sources = {name: text for file in _files() for name, text in file.sources.items()}
    return sources[sheet.source]


def peak_hours(name: str) -> Hours:
    """The peak hours of that id; PriceError when there are none."""
    for file in _files():
        for hours in file.hours:
            if hours.id == name:
                return hours
    raise PriceError(f"no peak hours {name[:60]!r}")


def sheet_at(sheet_id: str, time_ms: int) -> Sheet:
    """The sheet or, when `time_ms` (Unix milliseconds) falls in its peak hours, the peak one."""
    from datetime import UTC, datetime, timedelta

    found = sheet(sheet_id)
    if found.peak is None or found.hours is None:
        return found
    hours = peak_hours(found.hours)
    day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time_ms)
    minute = day.hour * 60 + day.minute
    busy = any(window.start <= minute < window.end for window in hours.windows)
    beijing = (day + timedelta(hours=8)).date().isoformat()
    if busy and day.isoweekday() in hours.weekdays and beijing not in hours.holidays:
        return sheet(found.peak)
    return found


def without_cache(sheet: Sheet) -> Sheet:
    """The same prices from a provider that caches nothing: every input token is a miss."""
    return msgspec.structs.replace(
        sheet, id=f"{sheet.id}-uncached", hit=sheet.miss, write=sheet.miss, cache="none", peak=None
    )
