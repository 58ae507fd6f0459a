"""A log of any format, read as format 3."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from slicetape.errors import DamagedLog, UnsupportedFormat
from slicetape.log.upgrade.header import check_header, header_3, read_header, seed_length
from slicetape.log.upgrade.kinds import admit
from slicetape.log.upgrade.rows import Json, Row, dump, parse, placed
from slicetape.log.upgrade.seqs import SeqMap
from slicetape.log.upgrade.v0 import modernize
from slicetape.log.upgrade.v1 import embed_streams
from slicetape.log.upgrade.v2 import lift_prompts
from slicetape.log.upgrade.v4 import Lowering

IMPORT_KIND = "x/import"
"""Kind of the last event of a renumbered log: `{fromVersion, sha256, seqMap}`."""


@dataclass(slots=True)
class UpgradeReport:
    """What a migration found, complete when its output is exhausted.

    `view_only_from` is the seq of the first event that format 3 cannot show to a model:
    requests after it cannot be rebuilt, so nothing may be appended to such a log. It stands
    in the log as an `x/dsh4` event whose `data.type` is `developer/message`. `seqs` maps old
    numbers to new ones and stays empty where none changed.
    """

    from_version: int = -1
    view_only_from: int | None = None
    seqs: SeqMap = field(default_factory=SeqMap)

    @property
    def view_only(self) -> bool:
        """Whether the log may be read but not continued."""
        return self.view_only_from is not None


def upgrade(
    lines: Iterable[bytes], *, sha256: str | None = None, report: UpgradeReport | None = None
) -> Iterator[bytes]:
    """The lines of a log of format 0 to 4, header first, as a format 3 log has them.

    Format 3 passes byte for byte, and so does every line of format 4 that both write alike.
    Seqs of formats 0 to 2 change: an ignorable `x/import` event at the end says what became
    of them, `{fromVersion, sha256, seqMap}`, where `sha256` names the source file (by default
    its lines, each with a newline) and `seqMap` has a row `[first old, last old, first new]`
    for each run; a seq in no row was folded into a later event.

    DamagedLog names the line that is broken; UnsupportedFormat names the line and kind that
    format 3 has no equal for. Memory holds one model call and one row of `seqMap` per gap.
    """
    report = UpgradeReport() if report is None else report
    source = (line.removesuffix(b"\n") for line in lines)
    first = next(source, None)
    if first is None:
        raise DamagedLog("the log is empty: not even a session header")
    header = read_header(first)
    report.from_version = header["version"]
    if report.from_version == 3:
        yield first
        yield from source
    elif report.from_version == 4:
        yield dump(header_3(header))
        yield from _lowered(source, report)
    else:
        yield from _renumbered(header, first, source, report, sha256)


def upgrade_events(
    header: Json, events: Iterable[Json], report: UpgradeReport | None = None
) -> Iterator[Json]:
    """Decoded events of format 0, 1 or 2 as format 3 events, for callers that read no lines.

    Every event needs its `seq` (a packed row its `seq0`) and `time`. Ends without `x/import`.
    """
    report = UpgradeReport() if report is None else report
    check_header(header)
    version = report.from_version = header["version"]
    if version > 2:
        raise UnsupportedFormat(f"only events of formats 0 to 2 are renumbered, not of {version}")
    rows: Iterator[Row] = placed(events)
    if version == 0:
        rows = modernize(rows, header["id"])
    rows = _admitted(rows, version)
    if version < 2:
        rows = embed_streams(rows, seed_length=seed_length(header))
    for row in lift_prompts(rows, header["id"]):
        if row.origin >= 0:
            report.seqs.add(row.origin, row.event["seq"])
        yield row.event


def _admitted(rows: Iterable[Row], version: int) -> Iterator[Row]:
    for row in rows:
        admit(row, version)
        yield row


def _renumbered(
    header: Json,
    first: bytes,
    source: Iterable[bytes],
    report: UpgradeReport,
    sha256: str | None,
) -> Iterator[bytes]:
    digest = hashlib.sha256(first + b"\n")

    def parsed() -> Iterator[Json]:
        for number, line in enumerate(source, 2):
            digest.update(line + b"\n")
            yield parse(line, number)

    yield dump(header_3(header))
    seq, time = -1, header["createdAt"]
    for event in upgrade_events(header, parsed(), report):
        seq, time = event["seq"], event["time"]
        yield dump(event)
    note = {
        "fromVersion": header["version"],
        "sha256": sha256 or digest.hexdigest(),
        "seqMap": report.seqs.runs(),
    }
    event = {"type": IMPORT_KIND, "seq": seq + 1, "time": time, "data": note, "ignorable": True}
    yield dump(event)


def _lowered(source: Iterable[bytes], report: UpgradeReport) -> Iterator[bytes]:
    texts: list[bytes] = []

    def parsed() -> Iterator[Json]:
        for number, line in enumerate(source, 2):
            texts.append(line)
            yield parse(line, number)

    lowering = Lowering()
    for row in placed(parsed()):
        line = texts.pop()
        event = lowering.lowered(row)
        report.view_only_from = lowering.view_only_from
        yield line if event is row.event else dump(event)
