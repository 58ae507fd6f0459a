"""The view of a log: both ends, and errors and warnings with what stands around them."""

import re
from itertools import starmap

from slicetape.policy.views.lines import blank, kept_indices, render
from slicetape.policy.views.severity import Level, is_frame, is_test_failure, is_trace_start, levels
from slicetape.policy.views.subject import Condensed, Subject

_FIRST, _LAST = 3, 6
_FAILURE_GROUPS = 3
_FRAME_LINES = 2

_HEX = re.compile(
    r"(?a:[0-9a-fA-F](?:(?<=0)x[0-9a-fA-F]++|(?<!\w[0-9a-fA-F])[0-9a-fA-F]{6,}+(?!\w)))"
)
_PATH = re.compile(r"(?<!\S)[^\s/]*+/\S*+")
_DIGITS = re.compile(r"[0-9]++")
_SPLIT = re.compile(r"[:=]")
_ZEROS = str.maketrans("123456789", "0" * 9)

Groups = dict[tuple[int, str], list[int]]
"""The lines of each level that are alike, by what they have in common."""


def likenesses(lines: list[str]) -> list[str]:
    """What each line has in common with lines that differ in numbers, paths and hashes only."""
    if not lines:
        return []
    ends = [found.start() if (found := _SPLIT.search(line)) else 0 for line in lines]
    heads = "\n".join([line[:end] for line, end in zip(lines, ends, strict=True)])
    rests = "\n".join([line[end:] for line, end in zip(lines, ends, strict=True)])
    rests = _HEX.sub("H", rests)
    if "/" in rests:
        rests = _PATH.sub("P", rests)
    pairs = zip(_numberless(heads).split("\n"), _numberless(rests).split("\n"), strict=True)
    return list(starmap(str.__add__, pairs))


def _numberless(text: str) -> str:
    """The text with every run of digits as one 0."""
    if not text.isascii():
        return _DIGITS.sub("0", text)
    text = text.translate(_ZEROS)
    while "00" in text:
        text = text.replace("00", "0")
    return text


def condense_log(subject: Subject) -> Condensed:
    """The view of a log: its ends, its first errors and warnings, and counts of the others."""
    if len(subject.text) < subject.settings.log_min_chars:
        return subject.whole("log")
    found = levels(subject.naked, subject.rules)
    groups = groups_of(subject.naked, found)
    keep = _keep(subject, groups)
    kept = kept_indices(keep)
    after = _counts(groups, keep) if subject.rules.count_groups else {}
    view = render(subject.lines, kept, after=after, is_blank=subject.naked)
    below = footer(found, keep, subject.total - len(kept))
    admitted = subject.admit(view, "log", len(kept), below=len(below))
    if admitted.view is None:
        return admitted
    return Condensed(view + below, "log", subject.total, len(kept))


def groups_of(naked: list[str], found: bytearray) -> Groups:
    """The marked lines, grouped by level and by what they have in common, in order."""
    marked = [index for index, level in enumerate(found) if level]
    groups: Groups = {}
    for index, alike in zip(marked, likenesses([naked[i] for i in marked]), strict=True):
        group = groups.get((found[index], alike))
        if group is None:
            groups[found[index], alike] = [index]
        else:
            group.append(index)
    return groups


def _keep(subject: Subject, groups: Groups) -> bytearray:
    total, most = subject.total, subject.settings.log_max_errors
    keep = bytearray(total)
    _flag(keep, 0, _FIRST)
    _flag(keep, total - _LAST, total)
    around = subject.settings.log_context_lines
    errors, others = (
        [group[0] for (of, _), group in groups.items() if of == level]
        for level in (Level.ERROR, Level.WARNING)
    )
    walked = ended = 0
    for pick in sorted({*errors[:most], *errors[-1:]}):
        _flag(keep, pick - around, pick + around + 1)
        index = max(pick + 1, walked)
        while index < total and (is_frame(subject.naked[index]) or blank(subject.naked[index])):
            keep[index] = 1
            index += 1
        walked = max(walked, index)
        if subject.rules.end_traces and pick >= ended and is_trace_start(subject.naked[pick]):
            ended = _trace_end(subject.naked, pick + 1)
            _flag(keep, max(pick, ended - _FRAME_LINES), ended + 1)
    if subject.rules.show_failures:
        _show_failures(subject, groups, keep)
    for pick in (*others[: max(2, most // 2)], *others[-1:]):
        _flag(keep, pick - around, pick + around + 1)
    return keep


def _trace_end(naked: list[str], index: int) -> int:
    """The line that names the exception: the first of a trace that is not indented."""
    while index < len(naked) and (naked[index][:1].isspace() or not naked[index]):
        index += 1
    return index


def _show_failures(subject: Subject, groups: Groups, keep: bytearray) -> None:
    """Flag lines about failed tests that are like a shown one: each names another failure."""
    most = subject.settings.log_max_errors
    room = most * _FAILURE_GROUPS
    for (of, _), group in groups.items():
        if of != Level.ERROR or not keep[group[0]]:
            continue
        if not is_test_failure(subject.naked[group[0]]):
            continue
        for index in (*group[1:most], *group[most:][-1:])[: max(room, 0)]:
            room -= not keep[index]
            keep[index] = 1


def _flag(keep: bytearray, start: int, end: int) -> None:
    start, end = max(0, start), min(len(keep), end)
    if start < end:
        keep[start:end] = b"\x01" * (end - start)


def _counts(groups: Groups, keep: bytearray) -> dict[int, str]:
    """Below the last shown line of each group with hidden ones: how many there are, and where."""
    after = {}
    for group in groups.values():
        shown = [index for index in group if keep[index]] if len(group) > 1 else []
        if shown and len(shown) < len(group):
            after[shown[-1]] = (
                f"…[×{len(group)} like the line above · "
                f"first line {group[0] + 1}, last line {group[-1] + 1}]…"
            )
    return after


def footer(found: bytearray, keep: bytearray, lines: int) -> str:
    """The last line of a view that hides marked lines, with its line end; empty when none."""
    hidden = bytes(level for level, shown in zip(found, keep, strict=True) if not shown)
    errors, others = hidden.count(Level.ERROR), hidden.count(Level.WARNING)
    if not errors and not others:
        return ""
    return (
        f"\n[{lines} lines omitted: {errors} more error lines, {others} more warning/summary lines]"
    )
