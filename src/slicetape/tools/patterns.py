"""Glob patterns as regular expressions: `*`, `?`, `[…]`, `{a,b}`, and `**` across folders."""

import re
from functools import cache

VCS = frozenset({".git", ".hg", ".svn", ".jj", "CVS"})
"""Folders of version control, which no search looks into."""

_MOST = 1_000


class BadPattern(ValueError):
    """A pattern that means nothing."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The expression for relative paths with `/`; one without `/` matches the last part alone."""
    if not pattern.strip() or len(pattern) > _MOST:
        raise BadPattern("the pattern is empty or longer than 1000 characters")
    body = _translated(pattern.removeprefix("./"))
    return re.compile(body if "/" in pattern else f"(?:.*/)?{body}", re.DOTALL)


def _translated(pattern: str) -> str:
    made, at, depth = [], 0, 0
    while at < len(pattern):
        letter = pattern[at]
        if pattern.startswith("**/", at):
            made.append("(?:[^/]+/)*")
            at += 3
        elif pattern.startswith("**", at):
            made.append(".*")
            at += 2
        elif letter == "[":
            end = pattern.find("]", at + 2)
            if end < 0:
                raise BadPattern("a [ without its ]")
            inner = pattern[at + 1 : end]
            negated = inner[:1] in ("!", "^")
            inner = (inner[1:] if negated else inner).replace("\\", "\\\\").replace("[", "\\[")
            made.append(f"[{'^/' if negated else ''}{inner}]")
            at = end + 1
        else:
            depth += (letter == "{") - (letter == "}" and depth > 0)
            made.append(_one(letter, depth))
            at += 1
    if depth:
        raise BadPattern("a { without its }")
    return "".join(made)


def _one(letter: str, depth: int) -> str:
    plain = {"*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}
    if letter in plain:
        return plain[letter]
    return "|" if letter == "," and depth else re.escape(letter)
