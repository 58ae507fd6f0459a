"""The named arms: frozen rows that say only what differs, and the text form of an arm."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from slicetape.errors import PriceError
from slicetape.policy.settings import HistorySettings, Settings

Policy = Literal["transcript", "tape", "fold", "slicetape", "compact", "mask"]
SLICING = frozenset(("tape", "fold", "slicetape"))
"""Policies that are ours: they take settings, and their requests carry the recall tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way of building requests from a recording.

    `keep` is N of `mask:N`. `recalls` says whether its requests carry the recall tools. `does` is
    for people.
    """

    name: str
    policy: Policy
    does: str
    settings: Settings = field(default_factory=Settings)
    keep: int = 0
    recalls: bool = False


TRANSCRIPT = Arm(name="transcript", policy="transcript", does="everything as it happened")
TAPE = Arm(
    name="tape",
    policy="tape",
    does="each finished turn sealed into a frozen entry; takes settings as tape{key=value,…}",
    settings=Settings(history=HistorySettings(seal_only_if_shorter=False)),
    recalls=True,
)
FOLD = Arm(
    name="fold",
    policy="fold",
    does="large results shown as views when they enter, nothing sealed; takes settings",
    recalls=True,
)
SLICETAPE = Arm(
    name="slicetape",
    policy="slicetape",
    does="sealed and folded, as shipped; takes settings as slicetape{key=value,…}",
    recalls=True,
)
COMPACT = Arm(
    name="compact",
    policy="compact",
    does="large results cut, then old messages summarised, when the window is 0.8 full",
)
ARMS: Mapping[str, Arm] = {arm.name: arm for arm in (TRANSCRIPT, SLICETAPE, FOLD, TAPE, COMPACT)}
MASK = Arm(
    name="mask:N", policy="mask", does="tool results older than the last N without their text"
)
DEFAULT_ARMS = ("transcript", "compact", "mask:30", "tape", "fold", "slicetape")

_FORM = re.compile(r"([a-z]+)(?::(\d{1,6}))?(?:\{([^{}]{0,500})\})?")


def arm(text: str) -> Arm:
    """The arm that `name`, `mask:N` or `name{key=value,…}` means. PriceError when none."""
    match = _FORM.fullmatch(text.strip())
    name, number, settings = match.groups() if match else ("", None, None)
    if name == "mask" and number:
        if settings:
            raise PriceError(f"arm {text[:80]!r}: mask:N takes no settings")
        return replace(MASK, name=f"mask:{int(number)}", keep=int(number))
    if name not in ARMS or number:
        raise PriceError(f"unknown arm {text[:80]!r}; {_hint(text)}")
    return _with_settings(ARMS[name], settings) if settings else ARMS[name]


def arms(text: str) -> tuple[Arm, ...]:
    """The arms of a list with commas, `transcript` first, since ratios are taken to it."""
    found = {made.name: made for part in _split(text) if (made := arm(part))}
    return tuple({"transcript": TRANSCRIPT, **found}.values())


def _hint(text: str) -> str:
    from difflib import get_close_matches

    known = [*ARMS, MASK.name]
    near = get_close_matches(re.split("[:{]", text.strip()[:40])[0], [*ARMS, "mask"], n=1)
    if near:
        return f"did you mean {MASK.name if near[0] == 'mask' else near[0]}?"
    return f"the arms are {', '.join(known)}"


def _split(text: str) -> list[str]:
    return [part for part in re.split(r",(?![^{}]*\})", text) if part.strip()]


def _with_settings(row: Arm, text: str) -> Arm:
    from slicetape.config import override

    if row.policy not in SLICING:
        raise PriceError(f"arm {row.name!r} takes no settings; slicetape, fold and tape do")
    pairs = dict(_pair(row, part) for part in text.split(",") if part.strip())
    shown = ",".join(f"{key}={value}" for key, value in pairs.items())
    return replace(row, name=f"{row.name}{{{shown}}}", settings=override(row.settings, pairs))


def _pair(row: Arm, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise PriceError(f"arm {row.name}: {text[:80]!r} is not key=value")
    return key.strip(), value.strip()
