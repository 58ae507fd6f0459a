"""Advice on values that are legal but only repeat what older releases had as defaults."""

from collections.abc import Mapping

from slicetape.config.keys import OLD_DEFAULTS
from slicetape.config.resolve import DEFAULT, effective
from slicetape.policy.settings import Settings


def advise(settings: Settings, origins: Mapping[str, str]) -> tuple[str, ...]:
    """One line for each explicit old default: where it stands and what deleting it gives."""
    now = dict(effective(Settings()))
    return tuple(
        f"{origins[name]}: {name} {value} was the default of an older release; "
        f"delete it to get the current one ({_word(now[name])}). See README migration."
        for name, value in effective(settings)
        if name in OLD_DEFAULTS and value == OLD_DEFAULTS[name] and origins[name] != DEFAULT
    )


def _word(value: object) -> str:
    return "no limit" if value is None else str(value)
