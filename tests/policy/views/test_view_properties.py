"""What holds for every view: it saves enough, and says exactly what is missing.

With HYPOTHESIS_PROFILE=wide the hostile texts are 20,000 instead of a few hundred.
"""

import json
import os
import random
import re
from collections.abc import Callable
from dataclasses import fields, replace

import pytest

import fold_texts
from slicetape.policy.kind import hit_path
from slicetape.policy.settings import DigestSettings
from slicetape.policy.views import RULES, Condensed, Rules, condense
from slicetape.policy.views.data import cut
from slicetape.policy.views.lines import blank

WIDE = os.environ.get("HYPOTHESIS_PROFILE") == "wide"
HOSTILE = 20_000 if WIDE else 400
SETTINGS = DigestSettings()
EAGER = DigestSettings(
    min_chars=200, log_min_chars=100, search_min_chars=300, diff_min_lines=5, max_keep_ratio=1.0
)

RUN = re.compile(r"…\[\+([0-9]+) lines / ([0-9]+) chars\]…")
GROUP = re.compile(r"…\[×([0-9]+) like the line above · first line ([0-9]+), last line ([0-9]+)\]…")
FOOTER = re.compile(
    r"\[([0-9]+) lines omitted: [0-9]+ more error lines, [0-9]+ more warning/summary lines\]"
)
ITEMS = re.compile(r"…\[\+([0-9]+) of ([0-9]+) items omitted.*\]…,?")
seeds = pytest.mark.parametrize("seed", range(60))


def views(make: Callable[[random.Random], str], seed: int, tool: str) -> tuple[str, Condensed]:
    text = make(random.Random(seed))
    return text, condense(text, tool, None, settings=EAGER)


def test_hostile_texts_give_a_view_or_the_whole_text_and_never_an_exception() -> None:
    pick = random.Random(20260921)
    off = [replace(RULES, **{field.name: False}) for field in fields(Rules)]
    for number in range(HOSTILE):
        text = fold_texts.any_text(pick)
        settings = (SETTINGS, EAGER)[number % 2]
        rules = pick.choice([RULES, RULES, *off])
        tool, path = pick.choice(fold_texts.TOOLS), pick.choice(fold_texts.PATHS)
        head = pick.choice([0, 160, 400])
        found = condense(text, tool, path, settings=settings, rules=rules, head_chars=head)
        assert found.total_lines == text.count("\n") + 1
        if found.view is None:
            assert found.kept_lines == found.total_lines
        elif rules.code_points and rules.head_counts:
            assert len(found.view) + head < settings.max_keep_ratio * len(text)


@seeds
@pytest.mark.parametrize("tool", ["bash", "read"])
@pytest.mark.parametrize("make", [fold_texts.data, fold_texts.log], ids=["data", "log"])
def test_the_markers_of_omitted_lines_add_up(
    make: Callable[[random.Random], str], tool: str, seed: int
) -> None:
    text, found = views(make, seed, tool)
    if found.view is None:
        return
    lines = text.split("\n")
    shown = found.view.split("\n")
    if FOOTER.fullmatch(shown[-1]):
        footer = FOOTER.fullmatch(shown.pop())
        assert footer is not None
        assert int(footer[1]) == found.total_lines - found.kept_lines
    at = kept = 0
    after_blank = False
    for line in shown:
        run = RUN.fullmatch(line)
        while after_blank and not run and blank(lines[at]) and line != lines[at]:
            at += 1  # a run of blank lines is shown by its first
        if run:
            missing = lines[at : at + int(run[1])]
            assert int(run[2]) == sum(map(len, missing)) + len(missing)
            at += len(missing)
        elif group := GROUP.fullmatch(line):
            count, first, last = map(int, group.groups())
            assert 2 <= count <= last - first + 1
            assert last <= len(lines)
            continue
        else:
            assert line in (lines[at], cut(lines[at], EAGER))
            kept += 1
            at += 1
        after_blank = blank(line)
    assert all(map(blank, lines[at:]))
    assert kept >= found.kept_lines


@seeds
def test_a_search_view_accounts_for_every_match_and_names_or_counts_every_file(seed: int) -> None:
    text, found = views(fold_texts.search, seed, "grep")
    if found.view is None:
        return
    paths = [path for line in text.split("\n") if (path := hit_path(line))]
    shown = [path for line in found.view.split("\n") if (path := hit_path(line))]
    more = re.findall(r"\[\.\.\. and ([0-9]+) more matches in (.+)\]", found.view)
    rest = re.findall(r"\[\.\.\. and ([0-9]+) more files, ([0-9]+) matches\]", found.view)
    counted = sum(int(count) for count, _ in more) + sum(int(count) for _, count in rest)
    assert len(shown) + counted == len(paths)
    named = {*shown, *(path for _, path in more)}
    assert len(named) + sum(int(files) for files, _ in rest) == len(set(paths))


@seeds
def test_a_json_view_accounts_for_every_item_and_shows_slices_of_the_text(seed: int) -> None:
    text, found = views(fold_texts.items, seed, "bash")
    if found.view is None or found.kind != "json":
        return
    gaps = ITEMS.findall(found.view)
    total = int(gaps[0][1])
    body = found.view.split("\n")
    if body[0] == "[":
        body = body[1:-1]
    elif body[1] == '"rows": [':
        body = body[2:-1]
    rows = [line for line in body if not line.startswith("…[")]
    assert len(rows) + sum(int(count) for count, _ in gaps) == total
    plain = "".join(text.split())
    for line in rows:
        item = line.removesuffix(",")
        assert json.loads(item)
        assert "".join(item.split()) in plain


@seeds
def test_a_diff_view_accounts_for_every_line(seed: int) -> None:
    text, found = views(fold_texts.diff, seed, "bash")
    if found.view is None:
        return
    shown = found.view.split("\n")
    gone = [int(line[3:-7]) for line in shown if re.fullmatch(r"…\[\+[0-9]+ lines\]…", line)]
    notes = [line for line in shown if line.startswith("[... and ")]
    kept = len(shown) - len(gone) - len(notes)
    assert kept + sum(gone) == found.total_lines
    changes = [line for line in text.split("\n") if line.startswith(("+", "-"))]
    if not notes:
        assert [line for line in shown if line.startswith(("+", "-"))] == changes


@seeds
def test_a_view_condensed_again_is_shorter_or_whole(seed: int) -> None:
    text = fold_texts.any_text(random.Random(seed))
    first = condense(text, "bash", None, settings=EAGER)
    if first.view is None:
        return
    again = condense(first.view, "bash", None, settings=EAGER)
    assert again.view is None or len(again.view) < len(first.view)
    assert again.total_lines == first.view.count("\n") + 1


@seeds
def test_the_same_text_gives_the_same_view(seed: int) -> None:
    text = fold_texts.any_text(random.Random(seed))
    assert condense(text, "bash", None, settings=EAGER) == condense(
        text, "bash", None, settings=EAGER
    )
