"""No view is larger than a model reads at once, whatever the text holds."""

import json

import pytest

from slicetape.policy.settings import DigestSettings
from slicetape.policy.views import Condensed, condense
from slicetape.policy.views.bounded import MOST_CHARS, bounded

SIZE = 3_000_000
NOTE = 300


def errors(number: int) -> str:
    return f"2026-11-30T10:00:00Z ERROR module{number} failed with code {number * 7919}"


def hostile(kind: str) -> str:
    """A text of three megabytes of which each line seems worth showing."""
    lines: list[str] = []
    size = number = 0
    while size < SIZE:
        number += 1
        line = {
            "keys": f"key_{number}: value of it, {number * 31} and more words",
            "log": errors(number),
            "search": f"src/folder{number}/file{number}.py:{number}: def function_{number}():",
            "diff": f"diff --git a/f{number} b/f{number}\n--- a/f{number}\n+++ b/f{number}\n"
            f"@@ -1,2 +1,2 @@\n-old {number}\n+new {number}",
            "table": f"| {number} | {number * 3} | a cell of row {number} |",
            "prose": f"Sentence number {number} says something of its own, word{number * 17}.",
        }[kind]
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines)


@pytest.mark.parametrize("kind", ["keys", "log", "search", "diff", "table", "prose"])
@pytest.mark.parametrize("tool", ["bash", "read", "grep"])
def test_a_view_of_three_megabytes_is_bounded(kind: str, tool: str) -> None:
    made = condense(hostile(kind), tool, None, settings=DigestSettings())
    assert made.view is not None
    assert len(made.view) <= MOST_CHARS + NOTE


def test_json_with_many_long_items_is_bounded() -> None:
    text = json.dumps([{f"key{n}": f"error {n} " * 400} for n in range(800)])
    made = condense(text, "bash", None, settings=DigestSettings())
    assert made.view is not None
    assert len(made.view) <= MOST_CHARS + NOTE


def test_source_code_and_recalled_text_stay_whole_at_any_length() -> None:
    code = "".join(f"def function_{n}(a):\n    return a + {n}\n\n" for n in range(20_000))
    assert condense(code, "bash", "big.py", settings=DigestSettings()).view is None
    assert condense(hostile("keys"), "recall_turn", None, settings=DigestSettings()).view is None
    off = DigestSettings(enabled=False)
    assert condense(hostile("keys"), "bash", None, settings=off).view is None


def test_what_is_missing_is_counted_and_whole_lines_stay() -> None:
    view = "".join(f"line {number:06}\n" for number in range(10_000))
    made = bounded(Condensed(view, "data", 50_000, 10_000))
    assert made.view is not None
    shown = made.view.split("\n")
    note = next(line for line in shown if line.startswith("[this view goes on: "))
    lines, chars = int(note.split()[4]), int(note.split()[7])
    assert lines == 10_000 - (len(shown) - 2)
    assert chars == lines * len("line 000000\n")
    assert made.kept_lines == 10_000 - lines
    assert set(shown) - {note, ""} <= set(view.split("\n"))


def test_a_single_long_line_is_cut_within() -> None:
    made = bounded(Condensed("x" * 100_000, "data", 1, 1))
    assert made.view is not None
    assert len(made.view) <= MOST_CHARS + NOTE


def test_a_view_of_the_most_stays_as_it_is() -> None:
    made = Condensed("x" * MOST_CHARS, "data", 1, 1)
    assert bounded(made) is made
