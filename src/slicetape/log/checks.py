"""What an event must be on its own, given only its place in the log."""

from slicetape.errors import InvalidEvent
from slicetape.log.events import (
    AssistantMessage,
    Event,
    Foreign,
    Replace,
    RequestHeader,
    SystemMessage,
    ToolResult,
    UserMessage,
    type_of,
)
from slicetape.log.kinds import OPAQUE_KINDS, SURFACE_TYPES
from slicetape.log.seqs import PackedSeqs

_ROLES: dict[type, str] = {
    SystemMessage: "system",
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolResult: "user",
}
_HEADER_REASONS = frozenset(("initial", "resume", "change", "series"))


def check_event(event: Event, seq: int) -> None:
    """Raise InvalidEvent unless `event` may stand at `seq`, whatever stands before it."""
    if event.seq != seq:
        raise InvalidEvent(_misplaced(event.seq, seq))
    kind = type(event)
    if event.source_event_seqs is not None:
        if kind is AssistantMessage:
            raise InvalidEvent(f"event {seq}: an assistant/message cites no sources")
        _check_sources(event.source_event_seqs, seq)
    if kind in SURFACE_TYPES:
        _check_on_surface(event, seq)
    elif event.surface_op is not None and (kind is not Foreign or type_of(event) in OPAQUE_KINDS):
        raise InvalidEvent(f"event {seq}: a {type_of(event)} event has no surfaceOp")
    if kind is RequestHeader:
        assert isinstance(event, RequestHeader)
        _check_header(event, seq)


def check_appended(event: Event) -> None:
    """Raise InvalidEvent for what may be read from another host's log but is not ours to write."""
    if type(event) is Foreign and event.surface_op is not None:
        raise InvalidEvent(
            f"event {event.seq}: a {event.kind[:80]} event stands on no surface; drop surfaceOp"
        )


def _misplaced(found: int, expected: int) -> str:
    if found < 0:
        return f"an event without a seq where {expected} is due"
    if found < expected:
        return f"seq {found} a second time, where {expected} is due"
    return f"seq {found} where {expected} is due: {found - expected} missing"


def _check_sources(packed: PackedSeqs, seq: int) -> None:
    if not packed:
        raise InvalidEvent(f"event {seq}: an empty list of sources must be absent")
    if not all(isinstance(item, int) for item in packed):
        _check_runs(packed, seq)
        return
    numbers = [item for item in packed if isinstance(item, int)]
    if min(numbers) < 0 or max(numbers) >= seq:
        raise InvalidEvent(f"event {seq} cites {max(numbers)}, which is not before it")
    if len(set(numbers)) != len(numbers):
        raise InvalidEvent(f"event {seq} cites a source twice")


def _check_runs(packed: PackedSeqs, seq: int) -> None:
    """Runs are checked unexpanded: a line of a few bytes may name a run of any length."""
    last = -1
    for item in packed:
        first, end = (item, item) if isinstance(item, int) else item
        if first <= last or end < first or end >= seq:
            raise InvalidEvent(f"event {seq}: sources with runs must increase and stand before it")
        last = end


def _check_on_surface(event: Event, seq: int) -> None:
    op = event.surface_op
    if op is None:
        raise InvalidEvent(f"event {seq}: a {type_of(event)} event needs a surfaceOp")
    if type(op) is Replace:
        for end in (op.start_seq, op.end_seq):
            if not 0 <= end < seq:
                raise InvalidEvent(f"event {seq} replaces {end}, which is not before it")
        if event.source_event_seqs is None and type(event) is not AssistantMessage:
            raise InvalidEvent(f"event {seq}: a replacement cites what it replaces")
    assert isinstance(event, UserMessage | SystemMessage | AssistantMessage | ToolResult)
    role = event.data.role if isinstance(event, UserMessage) else event.data.message.role
    if role != _ROLES[type(event)]:
        raise InvalidEvent(f"event {seq}: a {type_of(event)} event has the role {role}")


def _check_header(event: RequestHeader, seq: int) -> None:
    if event.data.reason not in _HEADER_REASONS:
        raise InvalidEvent(
            f"event {seq}: the reason {event.data.reason[:40]!r} of a request/header is none of"
            " initial, resume, change, series"
        )
    envelope = event.data.header
    for name, raw in (("tools", envelope.tools), ("adapterDefaults", envelope.adapter_defaults)):
        if bytes(raw).translate(None, b" \t\r\n") in (b"[]", b"{}"):
            raise InvalidEvent(f"event {seq}: empty {name} of a request/header must be absent")
