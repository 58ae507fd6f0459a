"""Search results with very long lines: matches in a bundle or in records of JSON."""

from slicetape.policy.views.data import cut
from slicetape.policy.views.search import condense_search
from slicetape.policy.views.subject import Condensed, Subject

_VERY_LONG = 2
"""Times the length of a long line."""


def condense_matches(subject: Subject) -> Condensed:
    """The view of search results, in which long lines are cut as they are in data."""
    settings = subject.settings
    if (
        not subject.rules.cut_matches
        or len(subject.text) < settings.search_min_chars
        or max(map(len, subject.lines)) <= _VERY_LONG * settings.max_line_chars
    ):
        return condense_search(subject)
    short = subject.with_text("\n".join([cut(line, settings) for line in subject.lines]))
    view = condense_search(short).view
    view = short.text if view is None else view
    made = subject.admit(view, "search", view.count("\n") + 1)
    return made if made.view is not None else condense_search(subject)
