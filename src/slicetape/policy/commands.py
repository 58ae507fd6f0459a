"""The file that a shell call prints: told by its command, since its arguments name no path."""

import re
import shlex

from slicetape.policy.kind import is_source_path

_PRINTERS = frozenset(("bat", "cat", "head", "less", "more", "nl", "sed", "tail"))
_MOST = 2_000
_SILENCED = re.compile(r"[0-9]>(?:/dev/null|&[0-9])")
_SPECIAL = re.compile(r"[<>`$\n(*?]")
_LINES = re.compile(r"[-+].*|[0-9,$]{1,40}p?", re.DOTALL)


def source_read(arguments: object) -> str | None:
    """The source file that a shell call prints, when printing sources is all it does; else None.

    `cd src && sed -n 1,200p a.py | head` prints one. Nothing is run or opened.
    """
    command = _command(arguments)
    if command is None or len(command) > _MOST or not _begins(command):
        return None
    command = _SILENCED.sub("", command)
    if _SPECIAL.search(command.replace("$p", "p")):
        return None
    try:
        steps = _steps(command)
    except ValueError:
        return None
    paths: list[str] = []
    for step in steps:
        if step[0] == "cd":
            continue
        if not _prints(step[0]):
            return None
        paths += [word for word in step[1:] if not _LINES.fullmatch(word)]
    return paths[-1] if paths and all(map(is_source_path, paths)) else None


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
    return bool(first) and (first[0] == "cd" or _prints(first[0]))


def _prints(word: str) -> bool:
    return word.rsplit("/", 1)[-1] in _PRINTERS


def _steps(line: str) -> list[list[str]]:
    """The simple commands of a line, in order; ValueError when its quotes do not close."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split, lexer.commenters = True, ""
    found: list[list[str]] = [[]]
    for word in lexer:
        if word.strip(";&|"):
            found[-1].append(word)
        else:
            found.append([])
    return [step for step in found if step]
