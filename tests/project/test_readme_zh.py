"""The Chinese README says the same: blocks, commands, names and figures are equal."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
FIGURE = re.compile(r"(?<![\w.`/-])\d[\d.,:]*\d|(?<![\w.`/-])\d(?![\w-])")


def prose(text: str) -> str:
    return FENCE.sub("", text)


def quoted(text: str) -> list[str]:
    return sorted(re.findall(r"`([^`\n]+)`", prose(text)))


def links(text: str) -> list[str]:
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(text))
    return [target for target in targets if not target.startswith(("#", "README"))]


def rows(text: str) -> list[str]:
    return [line for line in prose(text).splitlines() if line.startswith("|")]


def test_blocks_are_equal() -> None:
    assert FENCE.findall(CHINESE) == FENCE.findall(ENGLISH)


def test_commands_and_names_are_equal() -> None:
    assert quoted(CHINESE) == quoted(ENGLISH)


def test_links_to_other_pages_are_equal() -> None:
    assert links(CHINESE) == links(ENGLISH)


def test_sections_stand_in_the_same_order() -> None:
    levels = [re.findall(r"^(#+) ", prose(text), re.MULTILINE) for text in (CHINESE, ENGLISH)]
    assert levels[0] == levels[1]


def test_tables_have_the_same_figures_in_the_same_order() -> None:
    found = [[FIGURE.findall(row) for row in rows(text)] for text in (CHINESE, ENGLISH)]
    assert found[0] == found[1]


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_each_links_to_the_other(text: str) -> None:
    other = "README.zh.md" if text is ENGLISH else "README.md"
    assert f"]({other})" in text
