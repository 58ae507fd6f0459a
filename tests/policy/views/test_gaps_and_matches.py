"""Gaps that cost more than they save, and search results with very long lines."""

import random
from dataclasses import replace

import pytest

from slicetape.policy.settings import DigestSettings
from slicetape.policy.views import RULES, condense
from slicetape.policy.views.gaps import filled

SETTINGS = DigestSettings(
    min_chars=1000, max_keep_ratio=0.9, search_min_matches=20, search_min_chars=2500
)


def listing(gap: str) -> str:
    return "\n".join(f"- point {at} of the list, said at some length\n{gap}" for at in range(80))


def test_a_gap_shorter_than_its_marker_is_shown() -> None:
    text = "\n".join([listing("ok"), *["a sentence of plain prose without any key"] * 60])
    found = condense(text, "bash", None, settings=SETTINGS)
    rules = replace(RULES, fill_gaps=False)
    without = condense(text, "bash", None, settings=SETTINGS, rules=rules)
    assert found.view is not None
    assert without.view is not None
    assert "…[+1 lines / 3 chars]…" in without.view
    assert "…[+1 lines / 3 chars]…" not in found.view
    assert len(found.view) < len(without.view)


def test_a_longer_gap_keeps_its_marker() -> None:
    gap = "a sentence that takes more room than a marker would take"
    found = condense(listing(gap), "bash", None, settings=SETTINGS)
    assert found.view is not None
    assert f"…[+1 lines / {len(gap) + 1} chars]…" in found.view


@pytest.mark.parametrize("seed", range(30))
def test_filling_only_ever_adds_lines_in_order(seed: int) -> None:
    pick = random.Random(seed)
    lines = ["x" * pick.randrange(40) for _ in range(pick.randrange(60))]
    kept = sorted(pick.sample(range(len(lines)), pick.randrange(len(lines) + 1)))
    found = filled(lines, kept)
    assert found == sorted(set(found))
    assert set(kept) <= set(found)
    assert filled(lines, found) == found


def hits(width: int, count: int = 12) -> str:
    return "\n".join(f"dist/bundle{at}.js:{at}: {'x' * width} needle{at}" for at in range(count))


def test_a_very_long_match_is_cut_and_says_by_how_much() -> None:
    found = condense(hits(9_000), "grep", None, settings=SETTINGS)
    assert found.view is not None
    assert found.kind == "search"
    for at, line in enumerate(found.view.split("\n")):
        assert line.startswith(f"dist/bundle{at}.js:{at}: xxx")
        assert line.endswith(f" needle{at}")
        assert " …[+8" in line
    assert len(found.view) < 13_000


@pytest.mark.parametrize("width", [100, 2_000])
def test_a_match_that_is_not_very_long_is_whole(width: int) -> None:
    assert condense(hits(width), "grep", None, settings=SETTINGS).view is None


def test_files_with_many_matches_are_cut_in_both_ways() -> None:
    text = "\n".join(
        f"a/file{file}.json:{line}: {'x' * 4_000}" for file in range(4) for line in range(30)
    )
    found = condense(text, "grep", None, settings=SETTINGS)
    assert found.view is not None
    assert "[... and 27 more matches in a/file0.json]" in found.view
    assert max(map(len, found.view.split("\n"))) < 1_100


def test_with_the_rule_off_long_matches_stay() -> None:
    rules = replace(RULES, cut_matches=False, bound_views=False)
    assert condense(hits(9_000), "grep", None, settings=SETTINGS, rules=rules).view is None
