"""The view of search results: every file by its first matches and its last one."""

from itertools import islice

from slicetape.policy.kind import hit_path
from slicetape.policy.settings import DigestSettings
from slicetape.policy.views.subject import Condensed, Subject

Files = dict[str, list[int]]
"""The lines with the matches of each file, files in order of appearance."""


def condense_search(subject: Subject) -> Condensed:
    """The view of lines `PATH:LINE:`; all other lines are kept.

    Every file with hidden matches is named with their number. When naming them all would save
    too little, files without a shown match are counted in one line instead.
    """
    settings = subject.settings
    files: Files = {}
    for index, line in enumerate(subject.naked):
        path = hit_path(line)
        if path is not None:
            files.setdefault(path, []).append(index)
    matches = sum(map(len, files.values()))
    few = matches < settings.search_min_matches
    if not files or (few and len(subject.text) < settings.search_min_chars):
        return subject.whole("search")
    kept = _share(files, settings)
    if sum(map(len, kept)) == matches:
        return subject.whole("search")
    named = 0
    if subject.rules.name_files:
        named = int(min(len(files), max(settings.search_max_total, 0)))
        result = _view(subject, files, kept, named)
        if result.view is not None:
            return result
    return _view(subject, files, kept, 0)


def _share(files: Files, settings: DigestSettings) -> list[list[int]]:
    """The matches to keep of each file: its first ones and its last, while there is room."""
    most = max(2, settings.search_max_per_file)
    room = settings.search_max_total
    shares = []
    for hits in files.values():
        share = hits if len(hits) <= most else [*hits[: int(most) - 1], hits[-1]]
        share = list(islice(share, int(min(max(room, 0), len(share)))))
        room -= len(share)
        shares.append(share)
    return shares


def _view(subject: Subject, files: Files, kept: list[list[int]], named: int) -> Condensed:
    """The view in which `named` files without a shown match are named, the others counted."""
    drop = bytearray(subject.total)
    after: dict[int, str] = {}
    uncounted: list[int] = []
    others = 0
    for (path, hits), share in zip(files.items(), kept, strict=True):
        if len(share) == len(hits):
            continue
        for index in hits:
            drop[index] = 1
        for index in share:
            drop[index] = 0
        if share or named > 0:
            named -= not share
            place = share[-1] if share else hits[0]
            after[place] = f"[... and {len(hits) - len(share)} more matches in {path}]"
        else:
            others += 1
            uncounted += hits
    if others and subject.rules.name_files:
        after[max(uncounted)] = f"[... and {others} more files, {len(uncounted)} matches]"
    return _shown(subject, drop, after)


def _shown(subject: Subject, drop: bytearray, after: dict[int, str]) -> Condensed:
    shown = []
    for index, line in enumerate(subject.lines):
        if not drop[index]:
            shown.append(line)
        if index in after:
            shown.append(after[index])
    view = "\n".join(shown)
    return subject.admit(view, "search", view.count("\n") + 1)
