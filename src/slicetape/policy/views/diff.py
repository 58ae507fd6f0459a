"""The view of a diff: headers and changed lines with a little around them."""

import re
from dataclasses import dataclass

from slicetape.policy.settings import DigestSettings
from slicetape.policy.views.result import Condensed, Guard, whole

_HEADERS = (
    "diff --",
    "index ",
    "--- ",
    "+++ ",
    "rename ",
    "similarity ",
    "dissimilarity ",
    "copy ",
    "new file",
    "deleted file",
    "old mode",
    "new mode",
    "Binary files",
)
_GIT = re.compile(r"^diff --(?:git|combined|cc) ", re.MULTILINE)
_OLD = re.compile(r"^--- \S", re.MULTILINE)
_NEW = re.compile(r"^\+\+\+ \S", re.MULTILINE)
_HUNK = re.compile(r"^@@ ", re.MULTILINE)


def is_diff(text: str) -> bool:
    """Whether a text begins, within 4,000 characters, as a unified diff does."""
    start = text[:4000]
    return bool(
        _GIT.search(start) or (_OLD.search(start) and _NEW.search(start) and _HUNK.search(start))
    )


@dataclass(slots=True)
class _Hunk:
    file: int
    start: int
    end: int
    changes: int


def condense_diff(lines: list[str], settings: DigestSettings, guard: Guard) -> Condensed:
    """The view of a unified diff."""
    total = len(lines)
    if total < settings.diff_min_lines:
        return whole("diff", total)
    keep, hunks, files = _outline(lines)
    dropped: dict[int, int] = {}
    by_file: dict[int, list[_Hunk]] = {}
    for hunk in hunks:
        by_file.setdefault(hunk.file, []).append(hunk)
    for number, group in by_file.items():
        chosen = _choose(group, settings.diff_max_hunks_per_file)
        if len(chosen) < len(group):
            dropped[number] = len(group) - len(chosen)
        for hunk in chosen:
            _keep_changes(lines, hunk, keep, settings.diff_context_lines)
    kept = [index for index, flag in enumerate(keep) if flag]
    if len(kept) == total:
        return whole("diff", total)
    shown = []
    at = 0
    for index in (*kept, total):
        if index > at:
            shown.append(f"…[+{index - at} lines]…")
        if index < total:
            shown.append(lines[index])
        at = index + 1
    shown += [f"[... and {n} more hunks in file #{f}]" for f, n in sorted(dropped.items())]
    return guard.admit("\n".join(shown), "diff", total, len(shown))


def _outline(lines: list[str]) -> tuple[bytearray, list[_Hunk], int]:
    keep = bytearray(len(lines))
    hunks: list[_Hunk] = []
    file = 0
    begun = False
    header_before = False
    current: _Hunk | None = None
    for index, line in enumerate(lines):
        if line.startswith("@@ "):
            begun = True
            header_before = False
            current = _Hunk(file, index, index + 1, 0)
            hunks.append(current)
        elif line.startswith(_HEADERS):
            if line.startswith("diff --") or (line.startswith("--- ") and not header_before):
                file += 1
            header_before = True
            begun = True
            current = None
            keep[index] = 1
        elif current is not None:
            current.end = index + 1
            current.changes += line[:1] in ("+", "-") and line != ""
        elif not begun:
            keep[index] = 1
    return keep, hunks, file


def _choose(group: list[_Hunk], most: float) -> list[_Hunk]:
    if len(group) <= most:
        return group
    middle = sorted(group[1:-1], key=lambda hunk: -hunk.changes)
    return [group[0], group[-1], *middle[: int(max(0, most - 2))]]


def _keep_changes(lines: list[str], hunk: _Hunk, keep: bytearray, around: float) -> None:
    keep[hunk.start] = 1
    reach = int(min(around, hunk.end - hunk.start))
    for index in range(hunk.start + 1, hunk.end):
        if lines[index].startswith(("+", "-", "\\ No newline")):
            for near in range(max(hunk.start, index - reach), min(hunk.end, index + reach + 1)):
                keep[near] = 1
