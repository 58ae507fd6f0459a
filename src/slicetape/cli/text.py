"""Text that came from elsewhere, made fit for a terminal.

A transcript is hostile: it may hold escape sequences that repaint the screen, letters that turn
the reading order around, or letters nobody sees. All of these are shown as what they are.
"""

import re
from datetime import datetime

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Controls, line ends that are none of ours, turners of the reading order, invisible letters."""

_CUT = "…"


def visible(text: str) -> str:
    """The text with every unsafe letter written out as an escape; lines and tabs stay."""
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str, width: int | None = None) -> str:
    """The text on one line, blanks joined, cut to `width` terminal cells with an ellipsis."""
    # More than four letters a cell are never shown, so a long text is not worked through whole.
    part = text if width is None else text[: 4 * width + 80]
    line = visible(" ".join(part.split()))
    return line if width is None else cut(line, width)


def cut(line: str, width: int) -> str:
    """The line, cut to `width` terminal cells with an ellipsis."""
    from rich.cells import cell_len

    if cell_len(line) <= width:
        return line
    taken = 0
    for at, letter in enumerate(line):
        taken += cell_len(letter)
        if taken > width - 1:
            return line[:at] + _CUT
    return line


def wrapped(line: str, width: int) -> list[str]:
    """The line in pieces of at most `width` terminal cells, broken at blanks where there are."""
    from rich.cells import cell_len

    pieces: list[str] = []
    while len(line) * 2 > width and cell_len(line[: width + 1]) > width:
        end = taken = 0
        while taken + cell_len(line[end]) <= width:
            taken += cell_len(line[end])
            end += 1
        blank = line.rfind(" ", end // 2, end + 1)
        pieces.append(line[:blank] if blank > 0 else line[:end])
        line = line[blank + 1 :] if blank > 0 else line[end:]
    return [*pieces, line]


def padded(line: str, width: int) -> str:
    """The line, filled up with blanks to `width` terminal cells."""
    from rich.cells import cell_len

    return line + " " * max(0, width - cell_len(line))


def safe_json(text: str) -> str:
    """JSON text that says the same and has every unsafe letter as an escape."""
    return _UNSAFE.sub(_json_escape, text)


def plain(text: str) -> tuple[bytes, int]:
    """The text in UTF-8, each half of a surrogate pair as U+FFFD; and how many of those."""
    try:
        return text.encode(), 0
    except UnicodeEncodeError:
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole.encode(), whole.count("\ufffd") - text.count("\ufffd")


def amount(size: int) -> str:
    """A size in bytes as people read it."""
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def counted(count: int, one: str, many: str = "") -> str:
    """A number and its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def when(ms: int) -> str:
    """A time in epoch milliseconds as date and minute of the local clock; empty when unknown."""
    if ms <= 0:
        return ""
    try:
        return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):
        return ""


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
