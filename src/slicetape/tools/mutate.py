"""Changing a file whole: written beside it, made durable, and put in its place in one move."""

import contextlib
import os
import secrets
import stat
import threading
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

import msgspec

from slicetape.log.events import Foreign
from slicetape.loop.protocols import Call, Output
from slicetape.tools.guard import Guard, Seen, sha256_of, version_of
from slicetape.tools.workspace import Place, told

MOST_DIFF_BYTES = 10 * 1_024 * 1_024
CONTEXT = 3

_locks: dict[str, threading.Lock] = {}
_guard = threading.Lock()


class Hunk(msgspec.Struct, frozen=True, rename="camel"):
    """A changed place of a file; `old_text` is None where lines were only added."""

    path: str
    old_text: str | None
    new_text: str


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the right to change one file; others wait."""
    with _guard:
        lock = _locks.setdefault(str(path), threading.Lock())
    with lock:
        yield


def publish(place: Place, data: bytes, *, replacing: bool) -> None:
    """Put `data` at a path, whole or not at all. Raises OSError.

    Without `replacing` a file that has come to be there meanwhile is an error.
    """
    folder = place.real.parent
    made = folder / f".{place.real.name[:40]}.{secrets.token_hex(4)}.part"
    mode = stat.S_IMODE(place.real.stat().st_mode) if replacing else 0o666 & ~_umask()
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        if replacing:
            made.replace(place.real)
        else:
            os.link(made, place.real)
            made.unlink()
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def observed(guard: Guard, place: Place, call: Call) -> Foreign:
    """The note that a file was just written by us and is known whole."""
    facts = place.real.stat()
    return guard.note(
        Seen(
            call.call_id,
            str(place.shown),
            str(place.real),
            version=version_of(facts),
            sha256=sha256_of(place.real),
            bytes=facts.st_size,
            complete=True,
        )
    )


def hunks(path: str, old: str, new: str) -> list[Hunk]:
    """The changed places with three lines around each; none for files too large to compare."""
    if len(old) + len(new) > MOST_DIFF_BYTES:
        return []
    before, after = old.split("\n"), new.split("\n")
    found: list[Hunk] = []
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        was = "\n".join(before[first[1] : last[2]])
        now = "\n".join(after[first[3] : last[4]])
        added = all(code[0] in ("equal", "insert") for code in group) and first[1] == last[2]
        found.append(Hunk(path, None if added else was, now))
    return found


def ending(text: str) -> str:
    """The line ending that most lines have."""
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def failed(error: OSError, place: Place) -> Output:
    """The result of a write that the system refused."""
    return told(error, place, "write").output


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
