"""The line above a view: what the result was, how much is shown, and what returns the rest."""

from dataclasses import dataclass

from slicetape.log.events import FORMAT_VERSION
from slicetape.log.spill import stored_head
from slicetape.policy.views import Condensed

_MOST = 300


@dataclass(frozen=True, slots=True)
class Place:
    """Where an original result is: its seq, and its place among the results of its step."""

    turn: int
    step: int
    call: int
    seq: int

    @property
    def locators(self) -> str:
        """Both calls that return it; either alone is enough."""
        seq = f'expand_result({{"seq": {self.seq}, "formatVersion": {FORMAT_VERSION}}})'
        return f"{ordinal_call(self.turn, self.step, self.call)} or {seq}"


def ordinal_call(turn: int, step: int, call: int) -> str:
    """The call that returns a result before its seq is known."""
    return f'expand_result({{"turn": {turn}, "step": {step}, "call": {call}}})'


def view_head(tool: str, path: str | None, made: Condensed, place: Place) -> str:
    """The first line of a view."""
    return f"[{_what(tool, path, made)} · {place.locators} returns the full text]"


def most_head_chars(tool: str, path: str | None, text: str, place: Place) -> int:
    """What the head and its line break take at most, before it is known what a view keeps."""
    lines = text.count("\n") + 1
    return len(view_head(tool, path, Condensed(None, "search", lines, lines), place)) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Where the whole of a spilled text is: its size in bytes, its place, and how to read it.

    `locator` is the call that returns it, when that is known before the result is logged.
    """

    bytes: int
    where: str
    hint: str
    locator: str | None = None


def spill_view_head(tool: str, path: str | None, made: Condensed, stored: Stored) -> str:
    """The first line of a view whose text is kept outside the log."""
    where = f"full text ({stored.bytes} bytes) stored at {stored.where} — {stored.hint}"
    more = f" · {stored.locator} returns the full text" if stored.locator else ""
    return f"[{_what(tool, path, made)} · {where}{more}]"


def with_locators(text: str, place: Place) -> str:
    """The view of a spilled text, its first line completed by what returns the full text."""
    assert stored_head(text) is not None
    first, newline, rest = text.partition("\n")
    early = f" · {ordinal_call(place.turn, place.step, place.call)} returns the full text]"
    opened = first.removesuffix(early) if first.endswith(early) else first[:-1]
    return f"{opened} · {place.locators} returns the full text]{newline}{rest}"


def _what(tool: str, path: str | None, made: Condensed) -> str:
    named = f"{_line(tool)} {_line(path)}" if path else _line(tool)
    return f"{named} · {made.kind} · {made.total_lines} lines, {made.kept_lines} kept"


def _line(text: str) -> str:
    """A name as it can stand in one line: bounded, and without line breaks or controls."""
    if len(text) > _MOST:
        text = f"{text[: _MOST // 2]}…{text[-_MOST // 2 :]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == " " else f"\\u{ord(c):04x}" for c in text)
