"""What an entry tells a model to call: the locators on its own lines, and its recipes filled in."""

import re
from collections.abc import Iterator, Sequence

from slicetape.surface import View

EXPAND = re.compile(
    r'expand_result\(\{"seq": ?(\d{1,15}), ?"formatVersion": ?(\d{1,9})'
    r'(?:, ?"block": ?(\d{1,9}))?\}\)'
)
"""A call that expands a result: its seq, the format version, and the block where one is named."""

_EXPAND_RECIPE = re.compile(r'expand_result\(\{"seq":<q>,"formatVersion":(\d{1,9})\}\)')
_TURN_RECIPE = 'recall_turn({"turn":"<n>","view":"dialogue"})'
_TURN = re.compile(r"\[turn (\d{1,15})\]")
_EACH_TURN = re.compile(
    r'recall_turn\(\{"turn":"(\d{1,15})"\}\); repeat for each turn through (\d{1,15})\]'
)
_EARLIER = re.compile(r"\[earlier checkpoint covered turns (\d{1,15})-(\d{1,15}); recall_turn")
_MORE = re.compile(r"\[\+\d+ more tool results · seqs ([\d, …]+)\]")
_REPLY = re.compile(r"\[reply .{1,80} @sha256:(\w{1,64})\]")


def printed_lines(entry: str) -> Iterator[str]:
    """The lines of an entry that are its own, not those of a reply in it."""
    end = ""
    for line in entry.split("\n"):
        if not end:
            yield line
            reply = _REPLY.fullmatch(line)
            end = f"[end reply @sha256:{reply[1]}]" if reply else ""
        elif line == end:
            end = ""


def named_turns(lines: Sequence[str], view: View) -> Iterator[int]:
    """The turns that an entry says how to recall; of a range only those that are recorded."""
    recipe = _TURN_RECIPE in lines[0]
    for line in lines:
        if recipe and (one := _TURN.fullmatch(line)):
            yield int(one[1])
        elif several := _EACH_TURN.search(line) or _EARLIER.match(line):
            last = min(int(several[2]), view.turns.last_turn)
            yield from filter(view.turns.is_recorded, range(int(several[1]), last + 1))


def named_results(lines: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Seq, format version and block, if any, of the results that an entry says how to expand."""
    recipe = _EXPAND_RECIPE.search(lines[0])
    for line in lines[1:]:
        yield from EXPAND.findall(line)
        more = _MORE.fullmatch(line)
        if more and recipe:
            yield from ((seq, recipe[1], "") for seq in re.findall(r"\d+", more[1]))
