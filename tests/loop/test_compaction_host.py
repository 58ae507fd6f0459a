"""The compactor beside the host's own log of five compactions."""

import json
from collections.abc import Iterator

import pytest

from data import shared
from slicetape.log.events import (
    CompactionEnd,
    CompactionPrune,
    CompactionStart,
    CompactionSummary,
    Event,
    Replace,
    ToolResult,
)
from slicetape.log.log import SessionLog
from slicetape.log.messages import ToolResultBlock
from slicetape.loop.compaction import CompactionSettings, Compactor, Route
from slicetape.loop.estimate import estimate_event
from slicetape.surface import Session

WINDOW = 24_000


@pytest.fixture(scope="module")
def host() -> list[Event]:
    return list(SessionLog.read(shared("dsh-logs/v3-codemode.jsonl")).events)


def session_before(host: list[Event], seq: int) -> Session:
    """The host's session as it was when it appended `seq`."""
    log = SessionLog.in_memory(SessionLog.read(shared("dsh-logs/v3-codemode.jsonl")).header)
    session = Session(log, strict=False)
    for event in host[:seq]:
        session.append(event)
    return session


def asked(session: Session, summary: str) -> tuple[list[tuple[int, ...]], list[Event]]:
    """What our compactor asks about in a full window, and what it appends."""
    regions: list[tuple[int, ...]] = []

    def summarise(region: tuple[int, ...]) -> str:
        regions.append(tuple(region))
        return summary

    before = len(session.log.events)
    compactor = Compactor(session, CompactionSettings(window=WINDOW, rounds=1), Route("p", "m"))
    compactor.before_step(time=0, pressure=lambda: WINDOW, summarise=summarise)
    return regions, list(session.log.events[before:])


def brackets(host: list[Event]) -> Iterator[tuple[int, CompactionSummary | None, CompactionEnd]]:
    for event in host:
        if isinstance(event, CompactionStart):
            following = host[event.seq + 1]
            summary = following if isinstance(following, CompactionSummary) else None
            end = next(e for e in host[event.seq :] if isinstance(e, CompactionEnd))
            yield event.seq, summary, end


def test_the_estimate_is_the_hosts(host: list[Event]) -> None:
    prunes = [event for event in host if isinstance(event, CompactionPrune)]
    assert len(prunes) == 6
    for prune in prunes:
        assert estimate_event(host[prune.data.shadowed_seqs[0]]) == prune.data.shadowed_token_count


def test_a_pruned_text_is_the_hosts(host: list[Event]) -> None:
    for event in host:
        if not isinstance(event, ToolResult) or not isinstance(event.surface_op, Replace):
            continue
        prune = event.seq - 1
        _, appended = asked(session_before(host, prune), "")
        ours = [e for e in appended if isinstance(e, ToolResult) and e.sources == event.sources]
        assert [_text(one) for one in ours] == [_text(event)]


def test_what_is_summarised_and_how_it_is_logged_is_the_hosts(host: list[Event]) -> None:
    found = list(brackets(host))
    assert [summary is not None for _, summary, _ in found] == [True, False, True, False, True]
    for seq, summary, end in found:
        text = json.loads(bytes(summary.data.summary))[0]["text"] if summary else "Done with it."
        regions, appended = asked(session_before(host, seq), text)
        kinds = [type(event).__name__ for event in appended]
        assert kinds == [type(event).__name__ for event in host[seq : end.seq + 1]]
        if summary is None:
            assert bool(end.data.error)
            assert bool(appended[-1].data.error)  # type: ignore[union-attr]
            continue
        ours = appended[1]
        assert isinstance(ours, CompactionSummary)
        for field in ("shadowed_range", "shadowed_seqs", "shadowed_token_count", "max_tokens"):
            assert getattr(ours.data, field) == getattr(summary.data, field), field
        assert regions == [tuple(host[seq + 2].sources[2:])]
        assert appended[2].surface_op == host[seq + 2].surface_op


def _text(event: ToolResult) -> list[str]:
    return [
        part.text
        for block in event.data.message.content
        if isinstance(block, ToolResultBlock)
        for part in block.content
    ]
