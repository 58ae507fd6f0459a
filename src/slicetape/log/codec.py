r"""One line of a session log to one event, and back.

Decoding knows every kind of `events.py`. Other kinds become `Foreign` when the line may be
skipped (`ignorable`) or the kind is one that hosts of format 3 write; any other kind refuses the
log. Blocks of unknown kinds are kept as their JSON text. What JSON in UTF-8 cannot say plainly,
a lone surrogate, is written as a `\uXXXX` escape (see `oddities.py`). Both directions stand in
one file, because each is only right by the other.
"""

import json
import math
import re
from typing import Any, NoReturn

import msgspec
from msgspec import Raw

from slicetape.errors import InvalidEvent, UnsupportedFormat
from slicetape.log.events import (
    FORMAT_VERSION,
    Event,
    Foreign,
    Header,
    KnownEvent,
    RequestHeader,
    Retry,
    SurfaceOp,
    TurnEnd,
    type_of,
)
from slicetape.log.kinds import KNOWN_TYPES, OPAQUE_KINDS, own_opaque
from slicetape.log.oddities import (
    conceal_in_event,
    conceal_in_line,
    halves_written,
    has_unknown_blocks,
    inline_blocks,
    reveal_halves,
    shelter_blocks,
)
from slicetape.log.seqs import PackedSeqs


class _Line(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The envelope of any kind."""

    type: str
    seq: int
    time: int
    data: Raw
    ignorable: bool | None = None
    surface_op: SurfaceOp | None = None
    source_event_seqs: PackedSeqs | None = None


class _EnvelopeData(msgspec.Struct):
    header: dict[str, Raw]


class _EnvelopeLine(msgspec.Struct):
    data: _EnvelopeData


_known = msgspec.json.Decoder(KnownEvent)
_line = msgspec.json.Decoder(_Line)
_encode = msgspec.json.Encoder().encode
_KIND_STARTS = b'{"type":"'
_KNOWN_KINDS = frozenset(kind.encode() for kind in KNOWN_TYPES)
_MINUS_ZERO = re.compile(rb"[\[:,]\s*-0(?:\.0+)?(?:[eE][+-]?[0-9]+)?\s*[,\]}]")


def encode_event(event: Event) -> bytes:
    """The line of `event`, without its newline.

    Raises InvalidEvent for a value that JSON cannot carry.
    """
    try:
        return _written(event)
    except UnicodeEncodeError:
        concealed, mark = conceal_in_event(event)
        return halves_written(_written(concealed), mark)


def _written(event: Event) -> bytes:
    try:
        data = _encode(event.data)
    except (TypeError, OverflowError, ValueError) as error:
        if isinstance(error, UnicodeEncodeError):
            raise
        raise InvalidEvent(
            f"a {type_of(event)} event cannot be written as JSON: {_said(error)}"
        ) from None
    if has_unknown_blocks(event):
        data = _encode(inline_blocks(event.data))
    head = b'{"type":%b,"seq":%d,"time":%d,"data":%b' % (
        _encode(type_of(event)),
        event.seq,
        event.time,
        data,
    )
    if event.ignorable is not None:
        head += b',"ignorable":true' if event.ignorable else b',"ignorable":false'
    if event.source_event_seqs is not None:
        head += b',"sourceEventSeqs":' + _encode(event.source_event_seqs)
    if event.surface_op is not None:
        head += b',"surfaceOp":' + _encode(event.surface_op)
    line = head + b"}"
    if b"\n" in line or b"\r" in line:  # only opaque JSON can hold one, between its tokens
        line = line.replace(b"\n", b" ").replace(b"\r", b" ")
    return line


def decode_event(line: bytes) -> Event:
    """The event that `line` says.

    Raises InvalidEvent, with the path of what is wrong, for a line that is not one event of
    format 3, and UnsupportedFormat for a kind that may not be skipped.
    """
    if not line.isascii():
        try:
            line.decode()
        except UnicodeDecodeError as error:
            raise InvalidEvent(f"not UTF-8 at byte {error.start} of the line") from None
    if line.startswith(_KIND_STARTS) and line[9 : line.find(b'"', 9)] not in _KNOWN_KINDS:
        return _decode_slowly(line)
    try:
        event = _known.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return _decode_slowly(line)
    if has_unknown_blocks(event):
        return _decode_slowly(line)  # the line itself uses our tag for unknown blocks
    return _settled(event, line)


def _settled(event: KnownEvent, line: bytes) -> Event:
    """The event, when `line` says nothing that its struct cannot tell."""
    if event.time == 0 or event.ignorable is False:
        _parse(line)
        _require_true(event)
    if type(event) is RequestHeader and b'"system"' in line:
        _refuse_system(line)
    if own_opaque(event) or _has_minus_zero(event):
        _refuse_minus_zero(line)
    return event


def _has_minus_zero(event: KnownEvent) -> bool:
    """Whether a number that need not be whole is -0; whole numbers cannot be."""
    numbers: tuple[float | None, ...] = ()
    if type(event) is RequestHeader:
        numbers = (event.data.header.config.temperature,)
    elif type(event) is Retry:
        numbers = (event.data.delay_ms, event.data.failure.provider_retry_after_ms)
    elif type(event) is TurnEnd and event.data.reason.error is not None:
        numbers = (event.data.reason.error.provider_retry_after_ms,)
    return any(number == 0 and math.copysign(1, number) < 0 for number in numbers)


def _decode_slowly(line: bytes) -> Event:
    """Decode a line of a kind, or with a text or block, that the fast way cannot take."""
    _refuse_minus_zero(line)
    concealed, mark = conceal_in_line(line)
    event = _decode_concealed(concealed)
    return reveal_halves(event, mark) if mark else event


def _decode_concealed(line: bytes) -> Event:
    parsed = _parse(line)
    if parsed.type not in KNOWN_TYPES:
        return _carried(parsed)
    try:
        event = _known.decode(shelter_blocks(line))
    except msgspec.DecodeError as error:
        raise InvalidEvent(f"a {parsed.type} event that does not fit: {_said(error)}") from None
    return _settled(event, line)


def _parse(line: bytes) -> _Line:
    try:
        return _line.decode(line)
    except msgspec.ValidationError as error:
        raise InvalidEvent(f"not an event: {_said(error)}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidEvent(f"not JSON: {_said(error)}") from None


def _carried(parsed: _Line) -> Foreign:
    if not parsed.ignorable and parsed.type not in OPAQUE_KINDS:
        raise UnsupportedFormat(
            f"events of kind {parsed.type[:80]!r} are unknown to this build and may not be skipped;"
            " a newer slicetape may read this log"
        )
    data = parsed.data.copy()
    if not bytes(data).startswith(b"{"):
        raise InvalidEvent(f"a {parsed.type[:80]} event that does not fit: `$.data` is no object")
    event = Foreign(
        kind=parsed.type,
        data=data,
        seq=parsed.seq,
        time=parsed.time,
        ignorable=parsed.ignorable,
        surface_op=parsed.surface_op,
        source_event_seqs=parsed.source_event_seqs,
    )
    _require_true(event)
    return event


def _require_true(event: Event) -> None:
    if event.ignorable is False:
        raise InvalidEvent("not an event: `$.ignorable` is true or absent")


def _refuse_system(line: bytes) -> None:
    """Raise for a prompt where formats before 3 had it: here it is a system/message."""
    envelope = msgspec.json.decode(line, type=_EnvelopeLine).data.header
    if "system" in envelope:
        raise InvalidEvent(
            "a request/header event that does not fit: it has `$.data.header.system`"
        )


def _refuse_minus_zero(line: bytes) -> None:
    """Raise for a number -0, which no host of format 3 can write back; text is not meant."""
    if not _MINUS_ZERO.search(line):
        return

    def number(text: str) -> float:
        value = float(text)
        if value == 0 and text.startswith("-"):
            raise InvalidEvent("not lossless JSON: it holds the number -0")
        return value

    try:
        json.loads(line.decode(), parse_int=number, parse_float=number)
    except (ValueError, RecursionError):
        return  # the decoder says what is wrong with it


def foreign(kind: str, data: object, *, time: int = 0) -> Foreign:
    """An event of our own kind `x/…` that every reader may skip; `data` is a JSON object."""
    if not kind.startswith("x/"):
        raise InvalidEvent(f"the kind {kind[:80]!r} is not ours to write: ours start with x/")
    return Foreign(kind=kind, data=Raw(_dumped(data)), time=time, ignorable=True)


def _dumped(value: object) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidEvent(f"not lossless JSON: {_said(error)}") from None
    return text.encode("utf-8", "backslashreplace")


_HEADER_ORDER = (
    *("type", "version", "id", "createdAt", "cwd", "parentSession", "isSeeded", "origin"),
    *("delegationDepth", "agentPreset"),
)


def encode_header(header: Header) -> bytes:
    """The first line of a log, without its newline."""
    said = msgspec.to_builtins(header)
    return _dumped({key: said[key] for key in _HEADER_ORDER if key in said})


def header_version(line: bytes) -> int:
    """The format version that the first line of a log names.

    Raises InvalidEvent when the line is no header of any version.
    """
    version = header_object(line).get("version")
    if type(version) is not int or version < 0:
        raise InvalidEvent("the first line is not a session header: `$.version` is no version")
    return version


def decode_header(line: bytes) -> Header:
    """The header of a log of format 3.

    Raises UnsupportedFormat for another version and InvalidEvent for what is no header.
    """
    version = header_version(line)
    if version != FORMAT_VERSION:
        refuse_version(version)
    try:
        return msgspec.convert(header_object(line), Header)
    except msgspec.ValidationError as error:
        raise InvalidEvent(f"the first line is not a session header: {_said(error)}") from None


def refuse_version(version: int) -> NoReturn:
    """Raise UnsupportedFormat for a log of another version, with what to do about it."""
    if version > FORMAT_VERSION + 1:
        raise UnsupportedFormat(
            f"the log has format {version}, newer than the formats 0 to 4 that this build reads;"
            " update slicetape"
        )
    raise UnsupportedFormat(
        f"the log has format {version}; `slicetape import` makes a session of format"
        f" {FORMAT_VERSION} from it and leaves the file as it is"
    )


def _said(error: Exception) -> str:
    """What a decoder says, which may quote the line, bounded and without control characters."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(error)[:200])


def header_object(line: bytes) -> dict[str, Any]:
    """The members of a header of any version; InvalidEvent when the line is none."""
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or value.get("type") != "session":
        raise InvalidEvent("the first line is not a session header")
    return value
