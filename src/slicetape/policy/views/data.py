"""The view of data and prose: both ends, table rows, and the first lines of a structure."""

import re

from slicetape.policy.settings import DigestSettings
from slicetape.policy.views.lines import BLANK, bare_lines, render
from slicetape.policy.views.result import Condensed, Guard, whole
from slicetape.policy.views.rules import Rules

_STRUCTURED = re.compile(
    rf"{BLANK}*+(?:(?a:(?P<key>[A-Za-z_][\w.\-/]*+(?: [\w.\-/]++)?)){BLANK}*+[=:]{BLANK}*+\S"
    rf"|#{{1,6}}{BLANK}|\[[^\]]*+\]{BLANK}*+\Z|```|(?P<row>\|.*\|{BLANK}*+\Z)"
    rf"|[-*•]{BLANK}++\S|[0-9]{{1,3}}[.)]{BLANK}++\S)"
)
_KEY = re.compile(rf"(?a:[\w.\-]+)(?={BLANK}*+[=:])")


def cut_lines(lines: list[str], settings: DigestSettings) -> list[str]:
    """Lines longer than `max_line_chars` keep their head and their tail."""
    most = settings.max_line_chars
    head, tail = settings.line_head_chars, settings.line_tail_chars
    return [
        line
        if len(line) <= most or head + tail >= len(line)
        else f"{line[:head]} …[+{len(line) - head - tail} chars]… {line[len(line) - tail :]}"
        for line in lines
    ]


def _key(line: str) -> str:
    line = line.strip()
    found = _KEY.match(line)
    return found[0] if found else line


def _structured(naked: list[str]) -> list[int]:
    """0: prose, 1: structured, 2: a table row."""
    kinds = []
    for line in naked:
        found = _STRUCTURED.match(line)
        kinds.append(0 if found is None else 1 if found["row"] is None else 2)
    return kinds


def condense_data(
    text: str, lines: list[str], settings: DigestSettings, rules: Rules, guard: Guard
) -> Condensed:
    """The view of a text that is none of the other kinds."""
    total = len(lines)
    if len(text) < settings.min_chars:
        return whole("data", total)
    lines = cut_lines(lines, settings)
    naked = bare_lines(lines, rules.keep_times)
    kinds = _structured(naked)
    cap = settings.structured_block_cap
    if total - kinds.count(0) >= 0.8 * total:
        cap = float("inf")
    head, tail = settings.head_lines, settings.tail_lines
    seen = {_key(line) for line, kind in zip(naked[:head], kinds, strict=False) if kind}
    kept = list(range(min(head, total)))
    run = 0
    for index in range(len(kept), total):
        kind = kinds[index]
        keep = index >= total - tail
        if kind == 0:
            run = 0
        elif kind == 2:
            keep = True
        else:
            key = _key(naked[index])
            new = key not in seen
            seen.add(key)
            if run < cap and (run < settings.structured_block_min or new):
                keep = True
                run += 1
        if keep:
            kept.append(index)
    return guard.admit(render(lines, kept, naked), "data", total, len(kept))
