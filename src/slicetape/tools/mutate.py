"""Changing a file whole: written beside it, made durable, and put in its place in one move."""

import asyncio
import contextlib
import errno
import hashlib
import os
import secrets
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from pathlib import Path

import msgspec

from slicetape.log.events import Foreign
from slicetape.loop.protocols import Call, Output
from slicetape.tools.guard import Guard, Seen, stale, unseen, version_of
from slicetape.tools.workspace import Place, told

MOST_DIFF_BYTES = 10 * 1_024 * 1_024
MOST_DIFF_LINES = 20_000
MOST_DIFF_WORK = 200_000  # pairs of equal lines that a comparison may look at
CONTEXT = 3

_Change = tuple[int, int, int, int]

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


async def whole(work: Callable[[], Output]) -> Output:
    """What `work` returns, run beside the loop. A cancelled call waits for it: it changes files."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def publish(place: Place, data: bytes, *, replacing: os.stat_result | None) -> os.stat_result:
    """Put `data` at a path, whole or not at all; the facts of the new file. Raises OSError.

    `replacing` are the facts of the file that is given up: Refused when another one stands there
    by now, or, without them, when there is one.
    """
    real = place.real
    made = real.parent / f".{real.name[:40]}.{secrets.token_hex(4)}.part"
    if replacing is not None and not os.access(real, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            _dress(file.fileno(), replacing)
            os.fsync(file.fileno())
            facts = os.fstat(file.fileno())
        if replacing is None:
            _create(made, place)
        else:
            _replace(made, place, replacing)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    return facts


def _dress(descriptor: int, replacing: os.stat_result | None) -> None:
    """Give a new file its mode, and the owner of the one that it takes the place of."""
    if replacing is None:
        os.fchmod(descriptor, 0o666 & ~_umask())
        return
    with contextlib.suppress(PermissionError):
        os.fchown(descriptor, replacing.st_uid, replacing.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(replacing.st_mode))


def _create(made: Path, place: Place) -> None:
    """Give a finished file its name, unless something has that name."""
    try:
        os.link(made, place.real)
    except FileExistsError:
        raise unseen(place) from None
    made.unlink()


def _replace(made: Path, place: Place, replacing: os.stat_result) -> None:
    """Give a finished file the name of the one that it replaces, if that is still there."""
    if version_of(place.real.stat()) != version_of(replacing):
        raise stale(place)
    made.replace(place.real)


def observed(
    guard: Guard, place: Place, call: Call, wrote: tuple[bytes, os.stat_result]
) -> Foreign:
    """The note that a file was just written by us and is known whole."""
    data, facts = wrote
    return guard.note(
        Seen(
            call.call_id,
            str(place.shown),
            str(place.real),
            version=version_of(facts),
            sha256=hashlib.sha256(data).hexdigest(),
            bytes=len(data),
            complete=True,
        )
    )


def hunks(path: str, old: str, new: str) -> list[Hunk]:
    """The changed places with three lines around each; none for files too large to compare."""
    if len(old) + len(new) > MOST_DIFF_BYTES:
        return []
    before, after = lines_of(old), lines_of(new)
    found: list[Hunk] = []
    for group in _together(list(_changes(before, after))):
        (start, _, first, _), (_, end, _, last) = group[0], group[-1]
        was = before[max(start - CONTEXT, 0) : end + CONTEXT]
        now = after[max(first - CONTEXT, 0) : last + CONTEXT]
        found.append(Hunk(path, "\n".join(was) if was else None, "\n".join(now)))
    return found


def lines_of(text: str) -> list[str]:
    """The lines of a text; behind the last line end there is none."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _changes(before: list[str], after: list[str]) -> Iterator[_Change]:
    """What differs: two ranges of lines each, from the top. Costly comparisons are one change."""
    head = _shared(before, after)
    tail = _shared(before[head:][::-1], after[head:][::-1])
    was, now = before[head : len(before) - tail], after[head : len(after) - tail]
    if not was and not now:
        return
    counts = Counter(now)
    if len(was) + len(now) > MOST_DIFF_LINES or sum(counts[line] for line in was) > MOST_DIFF_WORK:
        yield head, head + len(was), head, head + len(now)
        return
    for kind, *places in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if kind != "equal":
            start, end, first, last = (head + at for at in places)
            yield start, end, first, last


def _shared(one: list[str], other: list[str]) -> int:
    """How many lines two texts start with in common."""
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    return same


def _together(changes: list[_Change]) -> list[list[_Change]]:
    """Changes whose surroundings touch, as one."""
    groups: list[list[_Change]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


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
