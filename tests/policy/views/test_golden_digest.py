"""Every recorded decision on one text: with all differences off, and with ours on."""

import json
import math
from dataclasses import fields, replace
from typing import Any

import pytest

from data import shared
from slicetape.config.keys import snake
from slicetape.policy.settings import DigestSettings
from slicetape.policy.views import REFERENCE, RULES, Rules, condense

FILES = ("code", "data", "diff", "json", "log", "misc", "search")
RECORDED = [json.loads(shared(f"golden/digest/{name}.json").read_text()) for name in FILES]
CASES = [case for recorded in RECORDED for case in recorded["cases"]]
DEFAULTS = RECORDED[0]["defaultPolicy"]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])

CHANGED: dict[tuple[str, ...], tuple[str, str]] = {
    # The rules that must be off for the recorded answer, why they exist, and the cases.
    ("code_points",): (
        "D9: lengths are code points",
        "data/unicode data/unicode-bash data/emoji-long-line",
    ),
    ("original_chars",): (
        "D4: a marker says how much is missing, also of lines that were cut before",
        "data/policy-head0tail0 data/policy-line80",
    ),
    ("path_first",): (
        "D4: a source path is never condensed, whatever it looks like",
        "diff/read-py-looking-diff json/read-array-code-ext",
    ),
    ("constant_fields",): (
        "D4: what all items have in common is said once",
        "json/array-3 json/object-two-arrays json/statuses json/levels json/all-duplicates",
    ),
    ("jsonl",): (
        "D12: lines of JSON are condensed as such",
        "json/jsonl-1 json/jsonl-2 json/jsonl-arrays",
    ),
    ("own_bytes",): (
        "D12: JSON items keep their own bytes",
        "json/array-escaped-unicode json/array-floats json/policy-keep100 misc/mcp-json",
    ),
    ("own_bytes", "constant_fields"): (
        "D12: keys keep their order; D4: constant fields are said once",
        "json/object-dup-key-order-ints",
    ),
    ("count_groups",): (
        "D4: a log view counts each group of like lines",
        (
            "log/pytest-2 log/cargo-0 log/cargo-2 log/app-1 log/app-5 "
            "log/app-identical-errors log/errors-differ-only-in-hex log/ansi "
            "log/errors-differ-in-prefix log/log-30pct log/policy-maxErrors1 "
            "log/policy-maxErrors30 log/policy-context10 log/policy-ratio1"
        ),
    ),
    ("end_traces",): (
        "D4: a log view shows which exception a trace ends in",
        "log/app-2 log/numbered-prefix-log log/unknown-tool-log log/bash-with-path-arg",
    ),
    ("count_groups", "end_traces"): (
        "D4: a log view shows the end of a trace, and counts each group of like lines",
        "log/app-0 log/app-4 log/crlf log/policy-context0",
    ),
    ("count_groups", "show_failures"): (
        "D4: a log view shows failed tests that differ in names only, and counts the others",
        "log/jest-3 log/tap",
    ),
    ("show_errors",): (
        "D4: data that a command printed keeps its first errors and counts the others",
        (
            "json/invalid-json json/trailing-comma json/jsonl-mixed-invalid log/npm-0 log/npm-2 "
            "log/eslint log/log-29pct"
        ),
    ),
    ("jsonl", "show_errors"): (
        "D12: lines of JSON are condensed as such; D4: data keeps its first errors",
        "json/jsonl-0",
    ),
    ("more_marks",): (
        "D4: `warning:` makes a line log-like",
        "log/cargo-1",
    ),
    ("code_points", "count_groups"): (
        "D9: lengths are code points; D4: a log view counts each group",
        "log/unicode-log",
    ),
    ("fill_gaps",): (
        "a gap that takes no more room than its marker is shown",
        (
            "code/vue data/markdown-0 data/markdown-1 data/markdown-2 data/fetch_page "
            "data/web_fetch diff/diff-late-after-4000 misc/read_section"
        ),
    ),
    ("name_files",): (
        "D4: a search view names every file",
        (
            "search/grep-0 search/grep-3 search/grep-4 search/grep-6 search/bash-grep "
            "search/grep-pipe-sep search/grep-path-arg search/grep-with-header "
            "search/policy-perFile20 search/policy-total5 search/policy-min1 "
            "search/policy-minchars1"
        ),
    ),
}
OFF = {case: rules for rules, (_, cases) in CHANGED.items() for case in cases.split()}


def decision(case: dict[str, Any], rules: Rules) -> tuple[str | None, str, int, int]:
    policy = {
        snake(key): math.inf if value == "Infinity" else value
        for key, value in (DEFAULTS | case["policy"]).items()
    }
    settings = DigestSettings(**policy)
    found = condense(case["input"], case["tool"], case["path"], settings=settings, rules=rules)
    return found.view, found.kind, found.total_lines, found.kept_lines


def recorded(case: dict[str, Any]) -> tuple[str | None, str, int, int]:
    return case["expected"], case["kind"], case["totalLines"], case["keptLines"]


def test_the_recorded_decisions_are_all_there() -> None:
    assert len(CASES) == 304
    assert set(OFF) <= {case["id"] for case in CASES}


@every_case
def test_with_every_difference_off_the_recorded_decision_is_ours(case: dict[str, Any]) -> None:
    assert decision(case, REFERENCE) == recorded(case)


@every_case
def test_a_decision_differs_only_by_the_rules_listed_for_it(case: dict[str, Any]) -> None:
    off = OFF.get(case["id"], ())
    if off:
        assert decision(case, RULES) != recorded(case)
    assert decision(case, replace(RULES, **dict.fromkeys(off, False))) == recorded(case)


def test_the_reference_has_every_rule_off_and_the_product_every_rule_on() -> None:
    assert not any(getattr(REFERENCE, field.name) for field in fields(Rules))
    assert all(getattr(RULES, field.name) for field in fields(Rules))
