"""Session logs of any version and packing, read up to a damage.

A format 3 log that is called what it is stays in its place and is read from there. Any other is
unpacked and migrated in memory, event by event, so that a damage in the middle withholds only what
lies behind it.
"""

from collections.abc import Iterator
from pathlib import Path

from slicetape.errors import DamagedLog, InvalidEvent, LogError, UnsupportedFormat
from slicetape.formats.decoding import Damaged
from slicetape.formats.source import Transcript
from slicetape.log.codec import header_version
from slicetape.log.events import FORMAT_VERSION
from slicetape.log.log import SessionLog
from slicetape.log.scan import is_compressed
from slicetape.log.upgrade import UpgradeReport, upgrade

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def in_its_place(path: Path) -> tuple[SessionLog, str] | None:
    """A log of format 3 in the form that its name says, and its damage; None for any other."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic[:2] == _GZIP or (magic == _ZSTD) != is_compressed(path):
        return None
    try:
        first = next(Transcript(path).lines(), b"")
        if header_version(first) != FORMAT_VERSION:
            return None
    except (Damaged, InvalidEvent):
        pass  # no header: reading says what the file is
    log = SessionLog.read(path, to_damage=True)
    return log, str(log.damage) if log.damage is not None else ""


def unpacked(path: Path) -> tuple[SessionLog, str]:
    """A log of any version and packing, in memory, and where reading it had to stop.

    One that format 3 cannot continue is not `writable`.
    """
    report = UpgradeReport()
    source = _Source(path)
    lines = upgrade(source, report=report)
    try:
        log = SessionLog.of_lines([next(lines)])
    except UnsupportedFormat as error:
        raise UnsupportedFormat(f"{path}: {error}") from None
    except (LogError, Damaged, StopIteration) as error:
        raise DamagedLog(f"{path}: not a session log: {error}") from None
    damage = ""
    try:
        for line in lines:
            log.extend_lines((line,))
    except UnsupportedFormat as error:
        raise UnsupportedFormat(f"{path}: {error}") from None
    except (LogError, Damaged) as error:
        damage = f"event {len(log.events)}: {error}; {source.behind()}"
    log.torn = source.torn
    if report.view_only:
        log.close()
    return log, damage


class _Source:
    """The lines of a file without their ends; a last line that was cut is left out."""

    def __init__(self, path: Path) -> None:
        self._lines = Transcript(path).lines()
        self.torn = 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            if not line.endswith((b"\n", b"}")):
                self.torn = len(line)
            elif not line.isspace():
                yield line.rstrip(b"\r\n")

    def behind(self) -> str:
        """What lies behind the line that was read last."""
        count = size = 0
        try:
            for line in self._lines:
                count += 1
                size += len(line)
        except Damaged as error:
            return f"behind it {error}"
        if not count:
            return "nothing lies behind it"
        return f"behind it lie {count:,} more lines ({size:,} bytes)"
