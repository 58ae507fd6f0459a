"""The view of search results: every file by its first matches and its last one."""

from slicetape.policy.kind import hit_path
from slicetape.policy.settings import DigestSettings
from slicetape.policy.views.lines import bare_lines
from slicetape.policy.views.result import Condensed, Guard, whole
from slicetape.policy.views.rules import Rules


def condense_search(
    text: str, lines: list[str], settings: DigestSettings, rules: Rules, guard: Guard
) -> Condensed:
    """The view of lines `PATH:LINE:`."""
    total = len(lines)
    files: dict[str, list[int]] = {}
    for index, line in enumerate(bare_lines(lines, rules.keep_times)):
        path = hit_path(line)
        if path is not None:
            files.setdefault(path, []).append(index)
    matches = sum(map(len, files.values()))
    few = matches < settings.search_min_matches and len(text) < settings.search_min_chars
    if few or not files:
        return whole("search", total)
    dropped, after = _share(files, settings, rules)
    if not dropped:
        return whole("search", total)
    shown = []
    for index, line in enumerate(lines):
        if index not in dropped:
            shown.append(line)
        if index in after:
            shown.append(after[index])
    view = "\n".join(shown)
    return guard.admit(view, "search", total, view.count("\n") + 1)


def _share(
    files: dict[str, list[int]], settings: DigestSettings, rules: Rules
) -> tuple[set[int], dict[int, str]]:
    quota = (
        int(max(2, settings.search_max_per_file)) if settings.search_max_per_file < 1e9 else 10**9
    )
    dropped: set[int] = set()
    after: dict[int, str] = {}
    room = settings.search_max_total
    unnamed: list[list[int]] = []
    named = 0
    for path, hits in files.items():
        want = hits if len(hits) <= quota else [*hits[: quota - 1], hits[-1]]
        kept = want[: int(max(0, min(room, len(want))))]
        room -= len(kept)
        if len(kept) == len(hits):
            continue
        dropped.update(set(hits) - set(kept))
        if kept:
            after[kept[-1]] = f"[... and {len(hits) - len(kept)} more matches in {path}]"
        elif rules.name_files and named < settings.search_max_total:
            named += 1
            after[hits[0]] = f"[... and {len(hits)} more matches in {path}]"
        else:
            unnamed.append(hits)
    if unnamed and rules.name_files:
        last = max(hits[-1] for hits in unnamed)
        count = sum(map(len, unnamed))
        after[last] = f"[... and {len(unnamed)} more files, {count} matches]"
    return dropped, after
