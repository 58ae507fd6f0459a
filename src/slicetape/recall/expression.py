r"""A regular expression as models write it, in JavaScript's notation, as Python reads it.

Kept from JavaScript (no flag but `i`): `\d`, `\w` and `\b` are ASCII, `\s` has its blanks, `.`
stops at CR, U+2028 and U+2029, `[^]` is any character and `[]` none, `{` that opens no count is
itself, a letter that needs no escape is itself, `(?<name>…)` and `\k<name>` name groups, and what
it calls invalid is invalid: `(?i)`, `(?P<name>…)`, `a++`, `(?>…)`.

Different: text is code points, not UTF-16 units, and case is ignored by the tables of Python
(`ſ` matches `s`); octal escapes and references to groups that do not exist are invalid.
"""

import re

BLANKS = r"\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
NO_BLANKS = (
    r"\x00-\x08\x0e-\x1f!-\u009f\u00a1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e"
    r"\u2030-\u205e\u2060-\u2fff\u3001-\ufefe\uff00-\U0010ffff"
)
CLASSES = {
    "d": r"0-9",
    "D": r"\x00-/:-\U0010ffff",
    "w": r"A-Za-z0-9_",
    "W": r"\x00-/:-@\[-\^`{-\U0010ffff",
    "s": BLANKS,
    "S": NO_BLANKS,
}
LINE = r"[^\n\r\u2028\u2029]"
SAME = frozenset("fnrtv")
TOKEN = re.compile(
    r"""\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|k<[^>]*>|[\s\S])
    |\(\?(?:[:=!]|<[=!]|<[A-Za-z_][A-Za-z0-9_]*>)|\(\?
    |\[\^?\]?|\{[0-9]+(?:,[0-9]*)?\}\??|[*+?]\??|[\s\S]""",
    re.VERBOSE,
)
QUANTIFIER = re.compile(r"[*+?{]")


class Invalid(ValueError):
    """The expression is none in JavaScript's notation."""


def python_expression(pattern: str) -> str:
    """What Python must be given to match as `pattern` does. Invalid when that is nothing."""
    named = "(?<" in re.sub(r"\\.|\(\?<[=!]", "", pattern)
    written: list[str] = []
    in_class = quantified = False
    for found in TOKEN.finditer(pattern):
        piece = found[0]
        if piece == "\\":
            raise Invalid
        if in_class:
            for part in _split_class(piece):
                in_class = in_class and part != "]"
                written.append(_in_class(part))
            continue
        repeats = piece != "{" and QUANTIFIER.match(piece) is not None
        if repeats and quantified:
            raise Invalid
        quantified = repeats
        if piece[0] == "[":
            text, in_class = _opened(piece)
        else:
            text = _outside(piece, named=named)
        written.append(text)
    if in_class:
        raise Invalid
    return "".join(written)


def _outside(piece: str, *, named: bool) -> str:
    if piece == ".":
        return LINE
    if piece == "{":
        return r"\{"
    if piece == "(?":
        raise Invalid
    if piece.startswith("(?<") and piece[3] not in "=!":
        return f"(?P{piece[2:]}"
    if piece[0] != "\\":
        return piece
    if piece in (r"\b", r"\B"):
        return f"(?a:{piece})"
    if piece[1] in CLASSES:
        return f"[{CLASSES[piece[1]]}]"
    if piece.startswith(r"\k<") and named:
        return f"(?P={piece[3:-1]})"
    if piece[1] in "123456789":
        return piece
    return _escaped(piece)


def _opened(piece: str) -> tuple[str, bool]:
    """What a bracket opens, and whether a class has begun."""
    if piece == "[]":
        return "(?!)", False
    if piece == "[^]":
        return r"[\s\S]", False
    return piece, True


def _split_class(piece: str) -> list[str]:
    """A piece as it is within brackets, where only an escape is more than one character."""
    if piece[0] == "\\" and not piece.startswith(r"\k<"):
        return [piece]
    return [piece[:2], *piece[2:]] if piece[0] == "\\" else list(piece)


def _in_class(piece: str) -> str:
    if piece[0] != "\\":
        return rf"\{piece}" if piece in "[&|~" else piece
    if piece[1] in CLASSES:
        return CLASSES[piece[1]]
    return r"\x08" if piece == r"\b" else _escaped(piece)


def _escaped(piece: str) -> str:
    """An escape that means one character."""
    if len(piece) > 2:
        if piece[1] == "c":
            return rf"\x{ord(piece[2]) % 32:02x}"
        return piece if piece[1] in "ux" else piece[1:]
    letter = piece[1]
    if letter in SAME:
        return piece
    return r"\x00" if letter == "0" else re.escape(letter)
