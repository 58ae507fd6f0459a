"""Which digest a text gets."""

from slicetape.policy.kind import (
    READ_TOOLS,
    RETRIEVAL_TOOLS,
    SEARCH_TOOLS,
    is_log_like,
    is_search_like,
    is_source_path,
    is_source_text,
)
from slicetape.policy.settings import DigestSettings
from slicetape.policy.views.data import condense_data
from slicetape.policy.views.diff import condense_diff, is_diff
from slicetape.policy.views.items import items_of
from slicetape.policy.views.json import condense_json
from slicetape.policy.views.lines import bare_lines, blank
from slicetape.policy.views.logs import condense_log
from slicetape.policy.views.result import Condensed, Guard, whole
from slicetape.policy.views.rules import RULES, Rules
from slicetape.policy.views.search import condense_search


def condense(
    text: str,
    tool: str,
    path: str | None,
    *,
    settings: DigestSettings,
    rules: Rules = RULES,
    head_chars: int = 0,
) -> Condensed:
    """The view of a tool result, or None in its place when the result is to be shown whole."""
    if rules.code_points or text.isascii():
        return _route(text, tool, path, settings, rules, head_chars)
    units = text.encode("utf-16-le", "surrogatepass")
    text = "".join(map(chr, memoryview(units).cast("H")))
    result = _route(text, tool, path, settings, rules, head_chars)
    if result.view is None:
        return result
    view = result.view.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return Condensed(view, result.kind, result.total_lines, result.kept_lines)


def _route(
    text: str, tool: str, path: str | None, settings: DigestSettings, rules: Rules, head_chars: int
) -> Condensed:
    lines = text.split("\n")
    total = len(lines)
    guard = Guard(len(text), settings.max_keep_ratio, head_chars if rules.head_counts else 0)
    if tool in RETRIEVAL_TOOLS or (rules.obey_enabled and not settings.enabled):
        return whole("search", total)
    if tool in SEARCH_TOOLS:
        return condense_search(text, lines, settings, rules, guard)
    if rules.path_first and is_source_path(path):
        return whole("code", total)
    if is_diff(text):
        return condense_diff(lines, settings, guard)
    items = items_of(text, rules)
    if items is not None:
        return condense_json(text, total, items, settings, rules, guard)
    naked = bare_lines(lines, rules.keep_times)
    if is_source_path(path) or is_source_text(naked):
        return whole("code", total)
    if tool in READ_TOOLS:
        return condense_data(text, lines, settings, rules, guard)
    filled = [line for line in naked if not blank(line)]
    if len(filled) >= 4:
        if is_search_like(filled):
            return condense_search(text, lines, settings, rules, guard)
        if is_log_like(filled, rules):
            return condense_log(text, lines, settings, rules, guard)
    return condense_data(text, lines, settings, rules, guard)
