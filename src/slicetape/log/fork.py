"""A session that goes on from a finished part of another."""

import msgspec

from slicetape.errors import InvalidEvent
from slicetape.log.attachments import copy_attachments
from slicetape.log.codec import encode_event
from slicetape.log.events import EndSeed, Header
from slicetape.log.log import SessionLog
from slicetape.log.payloads import EndSeedData
from slicetape.log.repair import open_turn
from slicetape.log.spill import copy_spills


def child_header(parent: Header, *, id: str, created_at: int) -> Header:
    """The header of a session that is forked from `parent`; the time is epoch milliseconds."""
    return msgspec.structs.replace(
        parent, id=id, created_at=created_at, parent_session=parent.id, is_seeded=True
    )


def fork(parent: SessionLog, child: SessionLog, *, time: int, end: int | None = None) -> None:
    """Seed `child`, which is empty, with the events of `parent` before `end` (default: all).

    Lines are copied as they stand, spilled texts and pictures with them, and a mark closes the
    seed. Pending messages of the parent stay in its part of the log and are not pending in the
    child: an inbox is read from the mark on. Raises InvalidEvent for an end within a turn.
    """
    size = len(parent.events)
    end = size if end is None else end
    if not 0 <= end <= size:
        raise InvalidEvent(f"no fork before event {end}: the parent has {size} events")
    if child.events or child.header.parent_session != parent.header.id:
        raise InvalidEvent("the child of a fork is empty and its header names the parent")
    opened = open_turn(parent.events[:end])
    if opened is not None:
        raise InvalidEvent(
            f"no fork before event {end}: turn {opened.data.turn} is open there; fork before event"
            f" {opened.seq}, or after the turn has ended"
        )
    copy_spills(parent.events[:end], parent.blobs, child.blobs)
    copy_attachments(parent.events[:end], parent.attachments, child.attachments)
    mark = EndSeed(data=EndSeedData(inherited=True), seq=end, time=time)
    child.extend_lines([*parent.lines(0, end), encode_event(mark)])


def inherited_cut(log: SessionLog) -> int:
    """How many events at the start of `log` were inherited from its parent."""
    if log.header.is_seeded:
        for event in reversed(log.events):
            if isinstance(event, EndSeed) and event.data.inherited:
                return event.seq
    return 0
