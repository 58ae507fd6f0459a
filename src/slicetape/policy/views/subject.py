"""One text on its way to a view: its lines, its settings, and the guard a view must pass."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from slicetape.policy.settings import DigestSettings
from slicetape.policy.views.lines import bare_lines, blank
from slicetape.policy.views.rules import Rules

Kind = Literal["search", "diff", "json", "code", "log", "data"]


@dataclass(frozen=True, slots=True)
class Condensed:
    """The view of a text, or None to leave the text whole.

    `kind` says what the text is. `total_lines` are the lines of the text; `kept_lines` are those
    that the view keeps, in a view of a search, a diff or JSON the lines of the view. Both are
    equal for a whole text.
    """

    view: str | None
    kind: Kind
    total_lines: int
    kept_lines: int


@dataclass(frozen=True)
class Subject:
    """A text and everything that decides what its view keeps.

    `head_chars` is the length of what will stand above the view; it counts in the guard.
    """

    text: str
    settings: DigestSettings
    rules: Rules
    head_chars: int = 0

    @cached_property
    def lines(self) -> list[str]:
        """The text between line feeds; a carriage return stays with its line."""
        return self.text.split("\n")

    @property
    def total(self) -> int:
        """How many lines there are."""
        return len(self.lines)

    @cached_property
    def naked(self) -> list[str]:
        """The lines without line numbers, as classification sees them."""
        rules = self.rules
        colours = rules.see_colours and "\x1b" in self.text
        return bare_lines(
            self.lines,
            keep_times=rules.keep_times,
            see_colours=colours,
            arrows=rules.arrow_numbers,
        )

    @cached_property
    def filled(self) -> list[str]:
        """The naked lines that are not blank."""
        return [line for line in self.naked if not blank(line)]

    def whole(self, kind: Kind) -> Condensed:
        """The text left as it is."""
        return Condensed(None, kind, self.total, self.total)

    def admit(self, view: str, kind: Kind, kept: int, *, below: int = 0) -> Condensed:
        """The view, or the whole text when too little is saved.

        `below` counts characters that will follow the view.
        """
        size = len(view)
        if self.rules.head_counts:
            size += self.head_chars + below
        if size >= self.settings.max_keep_ratio * len(self.text):
            return self.whole(kind)
        return Condensed(view, kind, self.total, kept)

    def with_text(self, text: str) -> "Subject":
        """The same question about another text."""
        return replace(self, text=text)
