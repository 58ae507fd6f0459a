"""One line of a log file as JSON, and what old files pack into one line.

JSON is read and written by the standard library: only it keeps lone surrogates, which
JavaScript writes as escapes.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from slicetape.errors import DamagedLog, UnsupportedFormat

Json = dict[str, Any]

PACKED = {"text-chunks": "texts", "reasoning-chunks": "texts", "tool-call-chunks": "args"}
"""Kinds of packed rows of formats 0 and 1, and the list that holds their members."""

_SHOWN_CHARS = 60
_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Row:
    """An event on its way through the steps.

    `line` is its line in the source file, from 1; `origin` is the seq it had there, -1 for
    an event that a step inserted.
    """

    line: int
    origin: int
    event: Json

    @property
    def kind(self) -> str:
        """The event's `type`."""
        return str(self.event["type"])

    @property
    def data(self) -> Json:
        """The event's `data`."""
        data: Json = self.event["data"]
        return data


def shown(text: object) -> str:
    """A quoted, escaped and bounded form of hostile text."""
    text = ascii(text)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def damaged(row: Row, what: str) -> DamagedLog:
    """The error for a row that breaks its own format."""
    return DamagedLog(f"line {row.line} ({shown(row.event.get('type'))}): {what}")


def unsupported(row: Row, what: str) -> UnsupportedFormat:
    """The error for a whole row that has no equal in the format asked for."""
    return UnsupportedFormat(
        f"line {row.line} ({shown(row.event.get('type'))}): {what}; the source file is unchanged"
    )


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON value")


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise ValueError(f"the number {text[:20]} is out of range")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def parse(line: bytes, number: int) -> Json:
    """The object on a line; DamagedLog names the line when there is none."""
    try:
        value = _DECODER.decode(line.decode())
    except (ValueError, RecursionError) as error:
        raise DamagedLog(f"line {number} is not JSON: {shown(str(error))}") from None
    if type(value) is not dict:
        raise DamagedLog(f"line {number} is JSON, but not an object")
    return value


def dump(row: Json) -> bytes:
    """A line without newline, as JavaScript writes it: lone surrogates become escapes."""
    try:
        text = _ENCODER.encode(row)
    except RecursionError:
        raise DamagedLog(f"event {shown(row.get('seq'))} is nested too deeply") from None
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _LONE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", text).encode()


def is_count(value: object) -> bool:
    """Whether a JSON value is an integer of 0 or more (`1.0` and `true` are not)."""
    return type(value) is int and value >= 0


def members(row: Row) -> int:
    """How many events a row stands for: more than one only where it is packed."""
    key = PACKED.get(row.kind)
    return 1 if key is None else len(row.data[key])


def placed(events: Iterable[Json], *, line: int = 2) -> Iterator[Row]:
    """Rows with their place, seqs dense from 0 and envelopes sound, or DamagedLog.

    `line` is the line of the first event.
    """
    expected = 0
    for number, event in enumerate(events, line):
        row = Row(number, expected, event)
        _check(row)
        yield row
        expected += members(row)


def _check(row: Row) -> None:
    event = row.event
    if type(event.get("type")) is not str:
        raise damaged(row, "an event needs a type")
    if type(event.get("data")) is not dict:
        raise damaged(row, "an event needs an object as data")
    packed = row.kind in PACKED
    seq, time = ("seq0", "time0") if packed else ("seq", "time")
    if type(event.get(seq)) is not int or event[seq] != row.origin:
        raise damaged(row, f"expected {seq} {row.origin}, found {shown(event.get(seq))}")
    if type(event.get(time)) is not int:
        raise damaged(row, f"{time} must be an integer")
    if packed:
        _check_packed(row)


def _check_packed(row: Row) -> None:
    data = row.data
    texts, gaps = data.get(PACKED[row.kind]), data.get("dt")
    if not isinstance(texts, list) or not texts or any(type(text) is not str for text in texts):
        raise damaged(row, "a packed row needs a list of strings")
    if not isinstance(gaps, list) or len(gaps) != len(texts) - 1:
        raise damaged(row, "dt must have one entry less than the packed row has members")
    if any(type(gap) is not int for gap in gaps):
        raise damaged(row, "dt must hold integers")
    if not all(is_count(data.get(key)) for key in ("turn", "step", "index")):
        raise damaged(row, "a packed row needs turn, step and index")
    if row.kind == "tool-call-chunks" and type(data.get("id")) is not str:
        raise damaged(row, "packed tool call deltas need an id")
