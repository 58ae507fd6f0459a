"""The line above a view: one line whatever the names are, and it leads back."""

import pytest

from slicetape.log.spill import stored_head
from slicetape.policy.fold_head import (
    Place,
    Stored,
    most_head_chars,
    spill_view_head,
    view_head,
    with_locators,
)
from slicetape.policy.views import Condensed

PLACE = Place(turn=1, step=2, call=1, seq=31)
MADE = Condensed(None, "log", 47, 16)


def test_the_worked_example_of_a_head() -> None:
    assert view_head("bash", None, MADE, PLACE) == (
        '[bash · log · 47 lines, 16 kept · expand_result({"turn": 1, "step": 2, "call": 1}) or '
        'expand_result({"seq": 31, "formatVersion": 3}) returns the full text]'
    )


@pytest.mark.parametrize("path", ["a\nb", "a\r\x1b[2Jb", "\u2028", "\ud800", "x" * 100_000])
def test_a_head_is_one_bounded_printable_line(path: str) -> None:
    head = view_head(path, path, MADE, PLACE)
    assert head.isprintable()
    assert len(head) < 1_000


def test_a_path_of_any_script_is_named_as_it_is() -> None:
    assert "[read docs/读我 ☃.md · log" in view_head("read", "docs/读我 ☃.md", MADE, PLACE)
    assert view_head("read", "", MADE, PLACE).startswith("[read · log")


@pytest.mark.parametrize("kept", [0, 16, 47])
def test_no_head_is_longer_than_what_the_guard_counts(kept: int) -> None:
    text = "line\n" * 46
    for kind in ("search", "diff", "json", "code", "log", "data"):
        head = view_head("bash", "a b", Condensed("v", kind, 47, kept), PLACE)
        assert len(head) + 1 <= most_head_chars("bash", "a b", text, PLACE)


@pytest.mark.parametrize("locator", [None, 'expand_result({"turn": 1, "step": 2, "call": 1})'])
def test_a_spill_head_is_completed_once_and_still_read_back(locator: str | None) -> None:
    stored = Stored(bytes=64_000, where="/s/blobs/ab", hint="read it there", locator=locator)
    head = spill_view_head("bash", None, MADE, stored)
    full = with_locators(f"{head}\nview\nof it", PLACE)
    assert full == (
        "[bash · log · 47 lines, 16 kept · full text (64000 bytes) stored at /s/blobs/ab — "
        f"read it there · {PLACE.locators} returns the full text]\nview\nof it"
    )
    claim = stored_head(full)
    assert claim is not None
    assert (claim.where, claim.bytes) == ("/s/blobs/ab", 64_000)
