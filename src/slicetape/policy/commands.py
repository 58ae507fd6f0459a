"""Files that a shell command prints: told by the command, since the output has no path."""

import shlex

from slicetape.policy.kind import is_source_path

_READERS = frozenset(("bat", "cat", "head", "less", "more", "nl", "sed", "tail"))
_MOST = 2_000


def source_read(arguments: object) -> str | None:
    """The source file that a command prints, when printing files is all it does; else None.

    `cd src && cat a.py` prints one; what is piped or redirected is something else.
    """
    command = arguments.get("command") if isinstance(arguments, dict) else None
    if not isinstance(command, str) or len(command) > _MOST:
        return None
    if any(mark in command for mark in "|<>`$\n") or not _begins(command):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    paths: list[str] = []
    for part in _commands(words):
        if part[0] == "cd":
            continue
        if not _reads(part[0]):
            return None
        paths += [word for word in part[1:] if is_source_path(word)]
    return paths[-1] if paths else None


def _begins(command: str) -> bool:
    """Whether the first word may begin such a command; most do not, and need no parsing."""
    first = command.split(None, 1)
    return bool(first) and (first[0] == "cd" or _reads(first[0]))


def _reads(word: str) -> bool:
    return word.rsplit("/", 1)[-1] in _READERS


def _commands(words: list[str]) -> list[list[str]]:
    """The simple commands of a line, in order."""
    found: list[list[str]] = [[]]
    for word in words:
        if word in ("&&", ";", "||"):
            found.append([])
        else:
            found[-1].append(word)
    return [part for part in found if part]
