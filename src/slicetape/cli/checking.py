"""Everything that can be wrong with a session: its log, its surface, its requests, its blobs."""

from collections.abc import Sequence
from pathlib import Path

from slicetape.cli.pictures import Pictures, named_in
from slicetape.cli.problems import Report
from slicetape.cli.rebuilding import check_requests
from slicetape.cli.target import Target
from slicetape.cli.text import counted
from slicetape.errors import DamagedLog, InvalidEvent, LogError
from slicetape.log.attachments import Attachments, attachments_in, sha256_of
from slicetape.log.events import Event, ToolResult
from slicetape.log.log import SessionLog
from slicetape.log.rules import Rules
from slicetape.log.spill import spill_rows


def check(found: Target, *, home: Path | None = None) -> Report:
    """Check one session from its first event to its last, and the pictures of it in `home`."""
    log = found.log
    report = Report(found.id, events=len(log.events))
    if found.damage:
        report.problem(len(log.events), "damage", found.damage)
    report.notes += found.notes
    _check_turns(log.events, report)
    check_requests(log, report)
    _check_spills(log, report)
    beside = _check_attachments(log, report)
    if home is not None:
        _check_pictures(log.events, Pictures(home), beside, report)
    return report


def _check_turns(events: Sequence[Event], report: Report) -> None:
    rules = Rules()
    for event in events:
        try:
            rules.check(event)
        except InvalidEvent as error:
            report.problem(event.seq, "turns", str(error))
        rules.advance(event)
    if rules.turn:
        report.notes.append(f"turn {rules.turn} is open: the session runs, or ended by a crash")


def _check_spills(log: SessionLog, report: Report) -> None:
    seen: set[str] = set()
    for event in log.events:
        if not isinstance(event, ToolResult):
            continue
        for row in spill_rows(event.data.meta):
            if row.sha256 in seen:
                continue
            seen.add(row.sha256)
            try:
                log.blobs.get(row.sha256)
            except DamagedLog as error:
                report.problem(event.seq, "blob-changed", str(error))
            except LogError as error:
                report.problem(event.seq, "blob-missing", f"{error}: {row.sha256[:80]}")


def _check_attachments(log: SessionLog, report: Report) -> set[str]:
    """The pictures that stand beside the log, by their content; a changed one is a problem."""
    beside = Attachments.beside(log.path)
    found: set[str] = set()
    for event in log.events:
        for attachment in attachments_in((event,)):
            sha256 = sha256_of(attachment)
            if sha256 is None or sha256 in found or not beside.has(attachment):
                continue
            found.add(sha256)
            try:
                beside.get(attachment)
            except LogError as error:
                report.problem(event.seq, "blob-changed", str(error))
    return found


def _check_pictures(
    events: Sequence[Event], pictures: Pictures, beside: set[str], report: Report
) -> None:
    gone = 0
    seen = set(beside)
    for event in events:
        for sha256 in named_in(event):
            if sha256 in seen:
                continue
            seen.add(sha256)
            state = pictures.state(sha256)
            gone += state == "gone"
            if state == "changed":
                report.problem(event.seq, "blob-changed", f"the bytes of picture {sha256} changed")
    if gone:
        report.notes.append(f"{counted(gone, 'picture')} named here and not kept in this home")
