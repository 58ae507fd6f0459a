"""The most that a view shows, however much of a text seems worth showing."""

from dataclasses import replace

from slicetape.policy.views.subject import Condensed

MOST_CHARS = 40_000
"""About ten thousand tokens: what nobody reads at once is better asked for by `grep` or `lines`."""

MOST_WHOLE = 100_000
"""From this length on no text but source code and what was recalled is shown whole."""

_MARKERS = ("…[", "[...")


def not_too_whole(made: Condensed, text: str) -> Condensed:
    """A view of a long text of which too much seemed worth showing to make one; its two ends."""
    if made.view is not None or made.kind == "code" or len(text) <= MOST_WHOLE:
        return made
    return bounded(replace(made, view=text))


def bounded(made: Condensed, *, most: int = MOST_CHARS) -> Condensed:
    """The view with its middle left out where it is longer than `most` code points.

    Whole lines stay, from both ends; one line in between says how many lines and characters of
    the view are missing. A view of one long line is cut within it.
    """
    view = made.view
    if view is None or len(view) <= most:
        return made
    half = most // 2
    head_end = view.rfind("\n", 0, half) + 1 or half
    tail_start = view.find("\n", len(view) - half) + 1 or len(view) - half
    gone = view[head_end:tail_start]
    lines = gone.count("\n") + (not gone.endswith("\n"))
    note = (
        f"[this view goes on: {lines} lines / {len(gone)} chars of it are left out here; "
        'expand_result with "grep" or "lines" returns what is asked for]\n'
    )
    joint = "" if view[:head_end].endswith("\n") else "\n"
    shown = f"{view[:head_end]}{joint}{note}{view[tail_start:]}"
    kept = sum(not line.startswith(_MARKERS) for line in gone.split("\n") if line)
    return replace(made, view=shown, kept_lines=max(0, made.kept_lines - kept))
