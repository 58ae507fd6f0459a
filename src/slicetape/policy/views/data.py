"""The view of data and prose: both ends, table rows, and the first lines of a structure."""

import math
import re

from slicetape.policy.kind import BLANK
from slicetape.policy.settings import DigestSettings
from slicetape.policy.views.gaps import filled
from slicetape.policy.views.lines import kept_indices, render
from slicetape.policy.views.logs import footer, groups_of
from slicetape.policy.views.severity import Level, levels
from slicetape.policy.views.subject import Condensed, Subject

_MOSTLY = 0.8
_PROSE, _STRUCTURE, _ROW = 0, 1, 2

_STRUCTURED = re.compile(
    rf"{BLANK}*+(?:(?a:[A-Za-z_][\w.\-/]*+(?: [\w.\-/]++)?){BLANK}*+[=:]{BLANK}*+\S"
    rf"|#{{1,6}}{BLANK}|\[[^\]]*+\]{BLANK}*+\Z|```|(?P<row>\|.*\|{BLANK}*+\Z)"
    rf"|[-*•]{BLANK}++\S|[0-9]{{1,3}}[.)]{BLANK}++\S)"
)
_KEY = re.compile(rf"(?a:[\w.\-]++)(?={BLANK}*+[=:])")


def cut(line: str, settings: DigestSettings) -> str:
    """A line longer than `max_line_chars` by its head and its tail, with what is missing."""
    head, tail = settings.line_head_chars, settings.line_tail_chars
    if len(line) <= settings.max_line_chars or head + tail >= len(line):
        return line
    missing = len(line) - head - tail
    return f"{line[:head]} …[+{missing} chars]… {line[len(line) - tail :]}"


def condense_data(subject: Subject, *, printed: bool = True) -> Condensed:
    """The view of a text that is none of the other kinds.

    `printed` says that a command printed it: then its first errors are shown wherever they stand.
    """
    settings = subject.settings
    if len(subject.text) < settings.min_chars:
        return subject.whole("data")
    short = subject
    if max(map(len, subject.lines)) > settings.max_line_chars:
        short = subject.with_text("\n".join([cut(line, settings) for line in subject.lines]))
    kept = _kept(short.naked, settings)
    below = ""
    if subject.rules.fill_gaps:
        kept = filled(short.lines, kept)
    if subject.rules.show_errors and printed:
        kept, below = _with_errors(subject, kept)
    originals = subject.lines if subject.rules.original_chars else short.lines
    view = render(short.lines, kept, originals=originals, is_blank=short.naked)
    admitted = subject.admit(view, "data", len(kept), below=len(below))
    if admitted.view is None:
        return admitted
    return Condensed(view + below, "data", subject.total, len(kept))


def _with_errors(subject: Subject, kept: list[int]) -> tuple[list[int], str]:
    """The kept lines with the first errors of each sort, and what is said of hidden ones."""
    found = levels(subject.naked, subject.rules)
    keep = bytearray(subject.total)
    for index in kept:
        keep[index] = 1
    most = subject.settings.log_max_errors
    firsts = [
        group[0]
        for (level, _), group in groups_of(subject.naked, found).items()
        if level == Level.ERROR
    ]
    for index in (*firsts[:most], *firsts[-1:]):
        keep[index] = 1
    shown = kept_indices(keep)
    return shown, footer(found, keep, subject.total - len(shown))


def _kept(naked: list[str], settings: DigestSettings) -> list[int]:
    kinds = [_kind(line) for line in naked]
    total = len(naked)
    mostly = total - kinds.count(_PROSE) >= _MOSTLY * total
    cap = math.inf if mostly else settings.structured_block_cap
    tail = total - settings.tail_lines
    kept = list(range(min(settings.head_lines, total)))
    seen = {_key(naked[index]) for index in kept if kinds[index]}
    run = 0
    for index in range(len(kept), total):
        keep = index >= tail
        if kinds[index] == _ROW:
            keep = True
        elif kinds[index] == _PROSE:
            run = 0
        else:
            key = _key(naked[index])
            new = key not in seen
            seen.add(key)
            if run < cap and (new or run < settings.structured_block_min):
                keep = True
                run += 1
        if keep:
            kept.append(index)
    return kept


def _kind(line: str) -> int:
    found = _STRUCTURED.match(line)
    if found is None:
        return _PROSE
    return _STRUCTURE if found["row"] is None else _ROW


def _key(line: str) -> str:
    line = line.strip()
    found = _KEY.match(line)
    return found[0] if found else line
