"""The view of a log: both ends, and errors and warnings with what stands around them."""

import re

from slicetape.policy.settings import DigestSettings
from slicetape.policy.views.lines import bare_lines, blank, render
from slicetape.policy.views.result import Condensed, Guard, whole
from slicetape.policy.views.rules import Rules
from slicetape.policy.views.severity import (
    is_error,
    is_frame,
    is_marked_error,
    is_summary,
    is_warning,
)

_HEX = re.compile(r"(?ai:0x[0-9a-f]+|\b[0-9a-f]{7,}\b)")
_PATH = re.compile(r"(?<!\S)[^\s/]*+/\S*+")
_DIGITS = re.compile(r"[0-9]+")
_SPLIT = re.compile(r"[:=]")


def likeness(line: str) -> str:
    """What lines have in common that differ in numbers, paths and hashes only."""
    found = _SPLIT.search(line)
    at = found.start() if found else 0
    rest = _PATH.sub("P", _HEX.sub("H", line[at:]))
    return _DIGITS.sub("0", line[:at]) + _DIGITS.sub("0", rest)


def _levels(naked: list[str], rules: Rules) -> list[int]:
    levels = []
    for line in naked:
        if is_error(line) or (rules.punctuated_marks and is_marked_error(line)):
            levels.append(3)
        elif is_warning(line) or is_summary(line):
            levels.append(2)
        else:
            levels.append(0)
    return levels


def condense_log(
    text: str, lines: list[str], settings: DigestSettings, rules: Rules, guard: Guard
) -> Condensed:
    """The view of a log."""
    total = len(lines)
    if len(text) < settings.log_min_chars:
        return whole("log", total)
    naked = bare_lines(lines, rules.keep_times)
    levels = _levels(naked, rules)
    groups: dict[tuple[int, str], list[int]] = {}
    for index, level in enumerate(levels):
        if level:
            groups.setdefault((level, likeness(naked[index])), []).append(index)
    errors = [group[0] for (level, _), group in groups.items() if level == 3]
    others = [group[0] for (level, _), group in groups.items() if level == 2]
    picks = {*errors[: settings.log_max_errors], *errors[-1:]}
    some = max(2, settings.log_max_errors // 2)
    picks |= {*others[:some], *others[-1:]}
    keep = set(range(min(3, total))) | set(range(max(0, total - 6), total))
    around = settings.log_context_lines
    for pick in picks:
        keep.update(range(max(0, pick - around), min(total, pick + around + 1)))
        if levels[pick] == 3:
            index = pick + 1
            while index < total and (is_frame(naked[index]) or blank(naked[index])):
                keep.add(index)
                index += 1
    kept = sorted(keep)
    after = _counted(groups, keep) if rules.count_groups else {}
    view = render(lines, kept, naked, after)
    result = guard.admit(view, "log", total, len(kept))
    hidden = [level for index, level in enumerate(levels) if level and index not in keep]
    if result.view is None or not hidden:
        return result
    e = hidden.count(3)
    footer = (
        f"[{total - len(kept)} lines omitted: {e} more error lines, "
        f"{len(hidden) - e} more warning/summary lines]"
    )
    return Condensed(f"{view}\n{footer}", "log", total, len(kept))


def _counted(groups: dict[tuple[int, str], list[int]], keep: set[int]) -> dict[int, str]:
    after = {}
    for group in groups.values():
        shown = [index for index in group if index in keep]
        if shown and len(shown) < len(group):
            after[shown[-1]] = (
                f"…[×{len(group)} like the line above · "
                f"first line {group[0] + 1}, last line {group[-1] + 1}]…"
            )
    return after
