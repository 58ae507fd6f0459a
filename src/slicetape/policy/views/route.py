"""Which digest a text gets: by its tool, then by its path, then by its content."""

from slicetape.log.locator import plain_name
from slicetape.policy.kind import (
    READ_TOOLS,
    RETRIEVAL_TOOLS,
    SEARCH_TOOLS,
    is_diff,
    is_log_like,
    is_search_like,
    is_source_path,
    is_source_text,
)
from slicetape.policy.settings import DigestSettings
from slicetape.policy.views.bounded import bounded, not_too_whole
from slicetape.policy.views.data import condense_data
from slicetape.policy.views.diff import condense_diff
from slicetape.policy.views.items import items_of
from slicetape.policy.views.json import condense_json
from slicetape.policy.views.logs import condense_log
from slicetape.policy.views.matches import condense_matches
from slicetape.policy.views.rules import RULES, Rules
from slicetape.policy.views.subject import Condensed, Subject

_FEWEST_LINES = 4


def condense(
    text: str,
    tool: str,
    path: str | None,
    *,
    settings: DigestSettings,
    rules: Rules = RULES,
    head_chars: int = 0,
) -> Condensed:
    """The view of a tool result; no view when the result is to be shown whole.

    `path` is the file that the result comes from, None when unknown. `head_chars` is the length
    of the line that will stand above a view, with its line end. Any text is legal.
    """
    if rules.code_points or text.isascii():
        made = _route(Subject(text, settings, rules, head_chars), tool, path)
        if not rules.bound_views or _stays(tool, settings):
            return made
        return bounded(not_too_whole(made, text))
    result = _route(Subject(_units(text), settings, rules, head_chars), tool, path)
    if result.view is None:
        return result
    view = result.view.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return Condensed(view, result.kind, result.total_lines, result.kept_lines)


def _stays(tool: str, settings: DigestSettings) -> bool:
    """Whether a result stays as it is, however long: recalled text, and all when views are off."""
    return plain_name(tool) in RETRIEVAL_TOOLS or not settings.enabled


def _units(text: str) -> str:
    """The text with one character a UTF-16 unit, so that lengths are those of the reference."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    return "".join(map(chr, units))


def _route(subject: Subject, tool: str, path: str | None) -> Condensed:
    rules = subject.rules
    tool = plain_name(tool) if rules.host_names else tool
    if tool in RETRIEVAL_TOOLS:
        return subject.whole("search")
    if rules.obey_enabled and not subject.settings.enabled:
        return subject.whole("data")
    if tool in SEARCH_TOOLS:
        return condense_matches(subject)
    source = is_source_path(path)
    if source and rules.path_first:
        return subject.whole("code")
    if is_diff(subject.text):
        return condense_diff(subject)
    items = items_of(subject.text, rules)
    if items is not None:
        return condense_json(subject, items)
    if source or is_source_text(subject.filled):
        return subject.whole("code")
    if tool in READ_TOOLS:
        return condense_data(subject, printed=False)
    return _by_lines(subject)


def _by_lines(subject: Subject) -> Condensed:
    if len(subject.filled) >= _FEWEST_LINES:
        if is_search_like(subject.filled):
            return condense_matches(subject)
        if is_log_like(subject.filled, more_marks=subject.rules.more_marks):
            return condense_log(subject)
    return condense_data(subject)
