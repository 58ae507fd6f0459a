"""Files that a shell command prints: told by the command, since the output has no path."""

import shlex

from slicetape.policy.kind import is_source_path

_READERS = frozenset(("bat", "cat", "head", "less", "more", "nl", "sed", "tail"))
_MOST = 2_000


def source_read(arguments: object) -> str | None:
    """The source file that a command prints, when printing files is all it does; else None.

    `cd src && cat a.py` prints one; what is piped or redirected is something else.
    """
    command = _command(arguments)
    if command is None or len(command) > _MOST:
        return None
    if any(mark in command for mark in "|<>`$\n") or not _begins(command):
        return None
    try:
        parts = _commands(command)
    except ValueError:
        return None
    paths: list[str] = []
    for part in parts:
        if part[0] == "cd":
            continue
        if not _reads(part[0]):
            return None
        paths += [word for word in part[1:] if is_source_path(word)]
    return paths[-1] if paths else None


def _command(arguments: object) -> str | None:
    """The command line in the arguments of a shell tool, whatever the tool calls it."""
    if not isinstance(arguments, dict):
        return None
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, list) and len(command) == 3 and command[1] in ("-c", "-lc"):
        command = command[2]
    return command if isinstance(command, str) else None


def _begins(command: str) -> bool:
    """Whether the first word may begin such a command; most do not, and need no parsing."""
    first = command.split(None, 1)
    return bool(first) and (first[0] == "cd" or _reads(first[0]))


def _reads(word: str) -> bool:
    return word.rsplit("/", 1)[-1] in _READERS


def _commands(line: str) -> list[list[str]]:
    """The simple commands of a line, in order; ValueError when its quotes do not close."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&")
    lexer.whitespace_split, lexer.commenters = True, ""
    found: list[list[str]] = [[]]
    for word in lexer:
        if word.strip(";&"):
            found[-1].append(word)
        else:
            found.append([])
    return [part for part in found if part]
