"""The view of a diff: headers and changed lines with a little around them."""

from collections.abc import Iterable
from dataclasses import dataclass

from slicetape.policy.views.lines import kept_indices
from slicetape.policy.views.subject import Condensed, Subject

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
_CHANGED = ("+", "-", "\\ No newline")


@dataclass(frozen=True, slots=True)
class _Hunk:
    """The lines `start` to `end`, the last not included; `start` has the `@@`."""

    start: int
    end: int
    changes: int


def condense_diff(subject: Subject) -> Condensed:
    """The view of a unified diff; what is left out is counted in lines and in hunks a file."""
    settings, lines = subject.settings, subject.lines
    if subject.total < settings.diff_min_lines:
        return subject.whole("diff")
    keep, files = _outline(lines)
    notes = []
    for number, hunks in files.items():
        chosen = _choose(hunks, settings.diff_max_hunks_per_file)
        if len(chosen) < len(hunks):
            notes.append(f"[... and {len(hunks) - len(chosen)} more hunks in file #{number}]")
        for hunk in chosen:
            _keep_changes(lines, hunk, keep, settings.diff_context_lines)
    if 0 not in keep:
        return subject.whole("diff")
    shown = [*_marked(lines, kept_indices(keep)), *notes]
    return subject.admit("\n".join(shown), "diff", len(shown))


def _marked(lines: list[str], kept: list[int]) -> Iterable[str]:
    at = 0
    for index in (*kept, len(lines)):
        if index > at:
            yield f"…[+{index - at} lines]…"
        if index < len(lines):
            yield lines[index]
        at = index + 1


def _outline(lines: list[str]) -> tuple[bytearray, dict[int, list[_Hunk]]]:
    """The header lines, flagged, and the hunks of each file, files from 1."""
    keep = bytearray(len(lines))
    starts: list[tuple[int, int]] = []
    ends: list[int] = []
    file = 0
    in_header = False
    for index, line in enumerate(lines):
        hunk = line.startswith("@@ ")
        header = not hunk and line.startswith(_HEADERS)
        if (hunk or header) and len(ends) < len(starts):
            ends.append(index)
        if hunk:
            starts.append((file, index))
            in_header = False
        elif header:
            file += line.startswith("diff --") or (not in_header and line.startswith("--- "))
            in_header = True
        keep[index] = header or not (starts or in_header)
    ends += [len(lines)] * (len(starts) - len(ends))
    files: dict[int, list[_Hunk]] = {}
    for (number, start), end in zip(starts, ends, strict=True):
        changes = sum(line.startswith(("+", "-")) for line in lines[start + 1 : end])
        files.setdefault(number, []).append(_Hunk(start, end, changes))
    return keep, files


def _choose(hunks: list[_Hunk], most: float) -> list[_Hunk]:
    if len(hunks) <= most:
        return hunks
    middle = sorted(hunks[1:-1], key=lambda hunk: hunk.changes, reverse=True)
    return [hunks[0], *middle[: int(max(0, most - 2))], *hunks[1:][-1:]]


def _keep_changes(lines: list[str], hunk: _Hunk, keep: bytearray, around: float) -> None:
    """Flag the head of a hunk and its changes with `around` lines before and after each."""
    keep[hunk.start] = 1
    reach = int(min(around, hunk.end - hunk.start))
    done = hunk.start + 1
    for index in range(hunk.start + 1, hunk.end):
        if lines[index].startswith(_CHANGED):
            start, end = max(done, index - reach), min(hunk.end, index + reach + 1)
            keep[start:end] = b"\x01" * (end - start)
            done = end
