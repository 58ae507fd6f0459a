"""What a digest returns, and the guard every view must pass."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["search", "diff", "json", "code", "log", "data"]


@dataclass(frozen=True, slots=True)
class Condensed:
    """The view of a text, or None to leave the text whole.

    `kind` says what the text is. `total_lines` are the lines of the text, `kept_lines` those
    the view keeps (for searches and JSON: the lines of the view); both are equal when whole.
    """

    view: str | None
    kind: Kind
    total_lines: int
    kept_lines: int


def whole(kind: Kind, total: int) -> Condensed:
    """A text left as it is."""
    return Condensed(None, kind, total, total)


@dataclass(frozen=True, slots=True)
class Guard:
    """When a view is worth it: with its head it stays below a share of the original."""

    chars: int
    ratio: float
    head_chars: int = 0

    def admit(self, view: str, kind: Kind, total: int, kept: int) -> Condensed:
        """The view, or the whole text when too little is saved."""
        if len(view) + self.head_chars >= self.ratio * self.chars:
            return whole(kind, total)
        return Condensed(view, kind, total, kept)
