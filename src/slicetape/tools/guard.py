"""Read before write: what a session has seen of each file, rebuilt from its log after a restart.

Every read, write, edit and confirmed miss is an observation, logged as an ignorable
`x/fs-observation`. A file that exists may be changed only when it was seen and is still the same.
"""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from slicetape.log.codec import foreign
from slicetape.log.events import Event, Foreign
from slicetape.loop.protocols import Output
from slicetape.tools.workspace import Place, Refused, quoted

KIND = "x/fs-observation"


class Seen(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What was seen of a file; without `present` it was not there. `sha256` is of all its bytes."""

    call_id: str
    path: str
    realpath: str
    present: bool = True
    version: str = ""
    sha256: str = ""
    bytes: int = 0
    complete: bool = False


def version_of(facts: os.stat_result) -> str:
    """What tells two states of a file apart without reading it."""
    return f"{facts.st_dev}:{facts.st_ino}:{facts.st_size}:{facts.st_mtime_ns}"


def sha256_of(path: Path) -> str:
    """The digest of a file's bytes; empty when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def unseen(place: Place) -> Refused:
    """The refusal to change a file that this session has not seen."""
    why = "file has not been read — read the file, then retry"
    return Refused(f"cannot modify {quoted(place.shown)}: {why}", "FS_NOT_OBSERVED")


def stale(place: Place) -> Refused:
    """The refusal to change a file that is no longer what was seen."""
    why = "file has changed since it was read — read it again, then retry"
    return Refused(f"cannot modify {quoted(place.shown)}: {why}", "FS_STALE_VERSION")


@dataclass(slots=True)
class Guard:
    """The newest observation of each real path."""

    seen: dict[str, Seen]

    @classmethod
    def of(cls, events: Iterable[Event]) -> "Guard":
        """What the log of a session says that it saw."""
        guard = cls({})
        for event in events:
            if isinstance(event, Foreign) and event.kind == KIND:
                try:
                    guard._take(msgspec.json.decode(event.data, type=Seen))
                except msgspec.MsgspecError:
                    continue
        return guard

    def _take(self, seen: Seen) -> None:
        self.seen[seen.realpath] = seen

    def note(self, seen: Seen) -> Foreign:
        """Remember an observation; the event that records it."""
        self._take(seen)
        return foreign(KIND, msgspec.to_builtins(seen))

    def absent(self, place: Place, call_id: str) -> Foreign:
        """Remember that a file was not there."""
        return self.note(Seen(call_id, str(place.shown), str(place.real), present=False))

    def missed(self, refused: Refused, place: Place, call_id: str) -> Output:
        """The result of a refusal; a file that is not there is remembered as absent."""
        absent = refused.code == "FS_NOT_FOUND" and not os.path.lexists(place.real)
        notes = (self.absent(place, call_id),) if absent else ()
        return replace(refused.output, notes=notes)

    def may_change(self, place: Place, facts: os.stat_result) -> None:
        """Refused unless the file that is there was seen, and is what was seen."""
        seen = self.seen.get(str(place.real))
        if seen is None or not seen.present:
            raise unseen(place)
        if seen.version != version_of(facts) and not self._same_bytes(seen, place, facts):
            raise stale(place)

    @staticmethod
    def _same_bytes(seen: Seen, place: Place, facts: os.stat_result) -> bool:
        """Whether a touched file still says the same."""
        return (
            bool(seen.sha256)
            and seen.bytes == facts.st_size
            and seen.sha256 == sha256_of(place.real)
        )
