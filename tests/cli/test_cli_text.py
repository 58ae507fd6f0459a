"""Hostile text: nothing in a transcript may act on a terminal."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicetape.cli.text import (
    amount,
    counted,
    cut,
    one_line,
    padded,
    plain,
    safe_json,
    visible,
    when,
    wrapped,
)

ANY = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202egnp.exe", "a\\u202egnp.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("half\ud83d", "half\\ud83d"),
        ("next\u2028line", "next\\u2028line"),
        ("\x00\r", "\\x00\\x0d"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
        ("family 👨‍👩‍👧 连接", "family 👨‍👩‍👧 连接"),
    ],
)
def test_what_a_terminal_would_act_on_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANY)
def test_visible_text_holds_no_control_and_can_be_encoded(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert not [c for c in shown if unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "RLI")]


@given(ANY)
def test_safe_json_says_the_same(text: str) -> None:
    line = safe_json(json.dumps({"text": text}, ensure_ascii=False))
    line.encode()
    assert json.loads(line)["text"].encode("utf-16", "surrogatepass") == text.encode(
        "utf-16", "surrogatepass"
    )
    assert "\x1b" not in line
    assert "\n" not in line


@given(ANY, st.integers(4, 40))
def test_one_line_keeps_its_width(text: str, width: int) -> None:
    from rich.cells import cell_len

    line = one_line(text, width)
    assert "\n" not in line
    assert cell_len(line) <= width


@given(st.text("ab 连接", max_size=80), st.integers(4, 30))
def test_wrapping_loses_nothing_but_blanks(line: str, width: int) -> None:
    from rich.cells import cell_len

    pieces = wrapped(line, width)
    assert "".join(pieces).replace(" ", "") == line.replace(" ", "")
    assert all(cell_len(piece) <= width for piece in pieces)


def test_cutting_and_padding_count_cells() -> None:
    assert cut("连接失败", 5) == "连接…"
    assert cut("short", 5) == "short"
    assert padded("连接", 6) == "连接  "


def test_halves_of_surrogate_pairs_are_counted() -> None:
    assert plain("a\ud83db\udc00") == ("a\ufffdb\ufffd".encode(), 2)
    assert plain("\ufffd\ud83d") == ("\ufffd\ufffd".encode(), 1)
    assert plain("连接") == ("连接".encode(), 0)


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (45_000, "45 kB"), (2_340_000, "2.3 MB"),
     (1_200_000_000, "1.2 GB")],
)  # fmt: skip
def test_sizes_read_well(size: int, shown: str) -> None:
    assert amount(size) == shown


def test_times_and_counts_read_well() -> None:
    assert when(0) == ""
    assert when(10**18) == ""
    assert len(when(1_700_000_000_000)) == len("2023-11-14 22:13")
    assert counted(1, "event") == "1 event"
    assert counted(1200, "event") == "1,200 events"
