"""Folder names for working directories and session ids, as hosts of format 3 name them.

Escapes are `~XXXX`, one for each UTF-16 unit outside `[A-Za-z0-9._-]`.
"""

import re

from slicetape.errors import LogError

NO_PROJECT = "_no-cwd"
"""The folder of sessions without a working directory."""

_NAME_LIMIT = 251
_SEPARATORS = re.compile(r"[/\\:]+")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_ESCAPE = re.compile(r"~([0-9A-F]{4})")
_SAFE_NAME = re.compile(r"(?:[A-Za-z0-9._-]|~[0-9A-F]{4})+")


def project_name(cwd: str | None) -> str:
    """The folder of the sessions of a working directory. Two directories may share one."""
    if cwd is None:
        return NO_PROJECT
    name = _escaped(_SEPARATORS.sub("-", cwd)).lstrip("-") or "root"
    return f"--{name[:_NAME_LIMIT]}--"


def encoded_id(session_id: str) -> str:
    """The folder of a session; different ids have different folders."""
    if not session_id:
        raise LogError("a session id is not empty")
    if session_id in (".", ".."):
        return session_id.replace(".", "~002E")
    return _escaped(session_id)


def decoded_id(name: str) -> str | None:
    """The id whose folder is called `name`; None when that is no name of a session's folder."""
    if not _SAFE_NAME.fullmatch(name):
        return None
    units = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), name)
    session_id = units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return session_id if encoded_id(session_id) == name else None


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda found: _units(found[0]), text)


def _units(char: str) -> str:
    data = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"~{data[at] << 8 | data[at + 1]:04X}" for at in range(0, len(data), 2))
