"""Session logs of DeepSeek Harness and of ours, formats 0 to 4.

Format 3 passes through as it is; other formats are migrated by `log.upgrade`. Snapshots without
`seq` and `time` are numbered first, and their session is named after the file.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from slicetape.errors import DamagedLog, InvalidEvent, LogError
from slicetape.formats.decoding import Damaged, Unexpected, decoder
from slicetape.formats.session import ImportedSession
from slicetape.formats.source import Transcript
from slicetape.log.codec import decode_event, decode_header
from slicetape.log.events import Event
from slicetape.log.upgrade import upgrade

FORMAT = "dsh-session"
_PACKED = {"text-chunks": "texts", "reasoning-chunks": "texts", "tool-call-chunks": "args"}

_decode = decoder(dict[str, Any])


def open_sessions(transcript: Transcript) -> Iterator[ImportedSession]:
    """The session of the log, read as its events are taken."""
    lines = (line.rstrip(b"\r\n") for line in transcript.lines() if not line.isspace())
    notes: list[str] = []
    try:
        first = next(lines, b"")
        second = next(lines, b"")
        source: Iterator[bytes] = chain([first, second] if second else [first], lines)
        if second and _is_bare(second):
            source = _numbered(source, transcript.name)
        upgraded = upgrade(source)
        head = decode_header(next(upgraded))
    except (LogError, Damaged, Unexpected) as error:
        raise transcript.error(f"is no session log that can be read: {error}") from None
    yield ImportedSession(head.id, FORMAT, head, _events(upgraded, transcript, notes), notes)


def _events(lines: Iterable[bytes], transcript: Transcript, notes: list[str]) -> Iterator[Event]:
    count = 0
    try:
        for line in lines:
            yield decode_event(line)
            count += 1
    except (DamagedLog, InvalidEvent, Damaged, Unexpected) as error:
        notes.append(f"read up to event {count}: {error}"[:1000])
    except LogError as error:
        raise transcript.error(f"cannot be read on from event {count}: {error}") from None


def _is_bare(line: bytes) -> bool:
    event = _decode(line)
    return "seq" not in event and "seq0" not in event


def _numbered(lines: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The lines with seqs and times; the time is that of the session plus the line number."""
    head = _decode(next(lines))
    created_at = head["createdAt"] if isinstance(head.get("createdAt"), int) else 0
    yield json.dumps({**head, "id": name}).encode()
    seq = 0
    for number, line in enumerate(lines, 1):
        event = _decode(line)
        packed = _PACKED.get(str(event.get("type")))
        data = event.get("data")
        members = data.get(packed) if packed and isinstance(data, dict) else None
        if not isinstance(members, list):
            event |= {"seq": seq, "time": created_at + number}
            seq += 1
        else:
            event |= {"seq0": seq, "time0": created_at + number}
            seq += len(members)
        yield json.dumps(event).encode()
