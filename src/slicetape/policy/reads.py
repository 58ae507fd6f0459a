"""The read index: one line that names what a turn read, with fingerprints and comparisons."""

import json
from collections.abc import Sequence

from slicetape.policy.observe import Evidence, Observation

BUDGET = 2_000
"""Code points of one line in a complete entry."""

_MOST_ITEMS = 10


def read_line(evidence: Evidence, turn: int, results: Sequence[int], budget: int = BUDGET) -> str:
    """The line for these original results of `turn`; empty when nothing was read or nothing fits.

    Items that do not fit are counted, never cut; locators are never shortened.
    """
    shown = evidence.of_results(results)
    if not shown:
        return ""
    items: list[str] = []
    for observation in shown[:_MOST_ITEMS]:
        items.append(_item(observation, evidence.before(observation, turn)))
        if len(_line(items, len(shown), turn)) > budget:
            items.pop()
            break
    line = _line(items, len(shown), turn)
    return line if len(line) <= budget else ""


def label(text: str, limit: int) -> str:
    """A name on one line, at most `limit` code points and a mark when it was shortened."""
    if any(char in text for char in "\r\n\t"):
        text = json.dumps(text, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[: limit - 24]}…[label shortened]"


def _line(items: list[str], total: int, turn: int) -> str:
    more = ""
    if total > len(items):
        more = f"+{total - len(items)} more; {_full_page(turn)}"
    return f"[files read this turn: {', '.join([*items, more] if more else items)}]"


def _item(read: Observation, earlier: Observation | None) -> str:
    channel = "logged result"
    if read.block is None:
        channel = f"code log; model visibility not implied; {_full_page(read.turn)}"
    change = ""
    if earlier:
        mark = "=" if earlier.digest == read.digest else "≠"
        change = f", {mark} turn {earlier.turn} {_place(earlier)}"
    return (
        f"{label(read.target, 180)} ({read.lines} lines, {read.digest}, {_place(read)}, "
        f"{read.tool} window {label(read.window, 140)}, {channel}{change})"
    )


def _place(read: Observation) -> str:
    if read.block is None:
        return f"step {read.step}, dispatch seq {read.seq}"
    return f"step {read.step}, seq {read.seq} block {read.block}"


def _full_page(turn: int) -> str:
    return f'recall_turn({{"turn":"{turn}","view":"full"}})'
