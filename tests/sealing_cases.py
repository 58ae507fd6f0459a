"""Read golden sealing data: its events, its settings, and the one text rule that differs."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from slicetape.log.codec import encode_header
from slicetape.log.log import SessionLog
from slicetape.log.messages import Message
from slicetape.policy.policy import Seal
from slicetape.policy.settings import HistorySettings
from slicetape.surface import Session
from story import header, raw

_SEQS = re.compile(r"^(\[\+\d+ more tool results) · seqs \d+(?:, \d+)*(?:, …)?\]$", re.MULTILINE)


def without_d1(text: str) -> str:
    """An entry as the reference writes it: results beyond six are counted, not named."""
    return _SEQS.sub(r"\1]", text)


def session_of(rows: Sequence[Any]) -> Session:
    """A session that stands behind these events and can go on."""
    lines = [encode_header(header()), *(bytes(raw(row)) for row in rows)]
    return Session(SessionLog.of_lines(lines), strict=False)


def messages_of(rows: Sequence[Any]) -> tuple[Message, ...]:
    return tuple(msgspec.convert(row, Message) for row in rows)


def settings_of(policy: dict[str, Any]) -> HistorySettings:
    """The settings of a golden plan. The reference seals always, so D10 is off."""
    return HistorySettings(
        keep_recent_turns=policy.get("keepRecentTurns", 0),
        entry_max_chars=policy.get("entryMaxChars"),
        seal_only_if_shorter=False,
    )


def rows_of(seals: Sequence[Seal]) -> list[dict[str, Any]]:
    """Seals in the shape of golden `appends`."""
    return [
        {
            "start": seal.sources[0],
            "end": seal.sources[-1],
            "sources": list(seal.sources),
            "text": seal.text,
        }
        for seal in seals
    ]


def rows_without_d1(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "text": without_d1(row["text"])} for row in rows]


def normal(message: Any) -> Any:
    """A wire message without D1, and with pictures left out: their bytes are not in the logs."""
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": without_d1(content)}
    if isinstance(content, list):
        return {**message, "content": [part for part in content if not _of_picture(part)]}
    return message


def _of_picture(part: Any) -> bool:
    return part["type"] == "image_url" or part["text"].lower().lstrip("[").startswith(
        "image sha256:"
    )
