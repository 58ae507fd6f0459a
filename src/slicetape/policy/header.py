"""The first line of an entry: write ours, and read it and the retired forms."""

import re

from slicetape.log.events import FORMAT_VERSION

MARK = "[slice tape v1"
"""How every entry of ours begins."""

_RANGE = re.compile(r"\[slice (?:tape|checkpoint) v1 · turns ([0-9]{1,15})-([0-9]{1,15})")

RECIPES = (
    'recall_turn({"turn":"<n>","view":"dialogue"}) returns a turn\'s dialogue; '
    f'expand_result({{"seq":<q>,"formatVersion":{FORMAT_VERSION}}}) returns a tool result'
)


def turn_range(text: str) -> tuple[int, int] | None:
    """The turns that an entry of any version says it covers; None when it says none."""
    match = _RANGE.match(text)
    return (int(match[1]), int(match[2])) if match else None


def covered(turns: list[int]) -> str:
    """The part that every header of ours begins with, without its end."""
    return f"{MARK} · turns {min(turns)}-{max(turns)} · {len(set(turns))} turn(s) sealed"


def complete(turns: list[int]) -> str:
    """The header of an entry that gives up nothing."""
    return f"{covered(turns)} · {RECIPES}]"


def compact(turns: list[int]) -> str:
    """The header under a tight cap."""
    return (
        f'{covered(turns)} · details: recall_turn({{"turn":"{min(turns)}"}}); '
        f"repeat for each turn through {max(turns)}]"
    )


def marker(turns: list[int]) -> str:
    """The whole entry when nothing else fits; always below 256 code points."""
    return (
        f"{covered(turns)}]\n"
        f'[details omitted to fit entry; recall_turn({{"turn":"{min(turns)}"}}); '
        f"repeat for each turn through {max(turns)}]"
    )
