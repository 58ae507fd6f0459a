"""The four recall tools as a model sees them: schemas, checks of arguments, dispatch by name."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from slicetape.errors import RecallError
from slicetape.log.arguments import Arguments, counted, turn_id
from slicetape.log.codec import encode_event
from slicetape.log.events import Event
from slicetape.log.oddities import conceal_in_line, halves_written
from slicetape.log.spill import SessionSpills
from slicetape.recall.index import Index
from slicetape.recall.locators import Locators
from slicetape.recall.ranking import RANKING, Ranking
from slicetape.recall.result import expand
from slicetape.recall.schemas import as_json, violations
from slicetape.recall.search import (
    DEFAULT_LIMIT,
    Scope,
    render_hits,
    search,
    searched_kinds,
)
from slicetape.recall.spilled import NoSpills, Spills
from slicetape.recall.step import render_step
from slicetape.recall.turn import PageView, render_turn
from slicetape.surface.session import Session
from slicetape.surface.view import View

LONE_AGENT = " runs only inside an agent loop"
NO_OWNER = f"{LONE_AGENT} (no owning agent on this execution)"
SHORT_LONE = frozenset({"recall_step", "expand_result"})


@dataclass(frozen=True, slots=True)
class Recall:
    """Everything the tools read of one session, and the other sessions a run was given.

    `line` gives the logged line of an event, for pages that show `data` unmodified; without it
    the event is encoded anew. `others` maps the ids of given sessions to what they are read
    from; nothing else can be named.
    """

    view: View
    index: Index
    spills: Spills = field(default_factory=NoSpills)
    line: Callable[[int], bytes] | None = None
    others: Mapping[str, "Recall"] = field(default_factory=dict)
    ranking: Ranking = RANKING

    @classmethod
    def of_session(
        cls, session: Session, *, known: Mapping[str, str | None] | None = None, **rest: Any
    ) -> "Recall":
        """What the tools need of a live or opened session.

        `known` maps paths printed by previews of another host to imported blobs, see
        `SessionSpills`.
        """
        log = session.log
        spills = SessionSpills(log.events, log.blobs, known)
        return cls(session.view, Index(session.view), spills, log.raw, **rest)

    @classmethod
    def of(cls, view: View, **rest: Any) -> "Recall":
        """What the tools need of a view, with a fresh index."""
        return cls(view, Index(view), **rest)

    def payload(self, event: Event) -> str:
        """The JSON text of an event's `data`, as logged."""
        line = self.line(event.seq) if self.line else encode_event(event)
        try:
            return bytes(msgspec.json.decode(line, type=_Line).data).decode()
        except msgspec.DecodeError:  # a lone surrogate stands escaped in it
            concealed, mark = conceal_in_line(line)
            data = bytes(msgspec.json.decode(concealed, type=_Line).data)
            return halves_written(data, mark).decode()


class _Line(msgspec.Struct):
    """An event's line, its data unread."""

    data: Raw


def dispatch(
    name: str, arguments: Arguments, recall: Recall | None, *, lenient: bool = False
) -> str:
    """The text that the tool `name` returns. RecallError carries the text of a failed call.

    Arguments are held to the schema, every violation named. `lenient` takes numbers in quotes,
    and numbers for strings, as behind a host that checks nothing.
    """
    if name not in RUN:
        raise RecallError(f"no recall tool {as_json(name)[:80]}; there are {', '.join(RUN)}")
    if recall is None:
        raise RecallError(name + (LONE_AGENT if name in SHORT_LONE else NO_OWNER))
    if not isinstance(arguments, Mapping):
        raise RecallError("invalid arguments: they must be one JSON object")
    wrong = violations(name, arguments, lenient=lenient)
    if wrong:
        raise RecallError(f"invalid arguments: {'; '.join(wrong)}")
    chosen, locators = _session(arguments, recall)
    chosen.index.catch_up()
    return RUN[name](arguments, chosen, locators)


def _session(arguments: Arguments, recall: Recall) -> tuple[Recall, Locators]:
    session = arguments.get("session")
    if session is None:
        return recall, Locators()
    if session not in recall.others:
        given = ", ".join(as_json(name) for name in recall.others) or "none"
        raise RecallError(
            f"session {as_json(session)[:80]} was not given to this run (given: {given}); "
            'leave "session" out to read this session'
        )
    return recall.others[str(session)], Locators(str(session))


def _recall_turn(arguments: Arguments, recall: Recall, locators: Locators) -> str:
    turn = turn_id(arguments.get("turn"))
    if turn is None:
        raise RecallError('recall_turn needs {"turn": "slice-turn-N"} (or just "N")')
    page: PageView = "full" if arguments.get("view") == "full" else "dialogue"
    return render_turn(recall.view, turn, page=page, locators=locators, payload=recall.payload)


def _recall_step(arguments: Arguments, recall: Recall, locators: Locators) -> str:
    turn, step = counted(arguments.get("turn")), counted(arguments.get("step"))
    if turn is None or step is None:
        raise RecallError('recall_step needs {"turn": "N", "step": "M"}')
    return render_step(recall.view, turn, step, spills=recall.spills, locators=locators)


def _recall_search(arguments: Arguments, recall: Recall, locators: Locators) -> str:
    query = arguments.get("query")
    if not isinstance(query, str) or not query.strip():
        raise RecallError('recall_search needs {"query": "..."}')
    scope: Scope = "dialogue" if arguments.get("scope") == "dialogue" else "auto"
    asked = arguments.get("kinds") or ()
    assert isinstance(asked, list | tuple)
    kinds = searched_kinds(scope, asked)
    limit = _limit(arguments.get("limit"))
    hits = search(
        *(recall.index, query), scope=scope, kinds=asked, limit=limit, ranking=recall.ranking
    )
    return render_hits(hits, query, kinds, locators=locators)


def _limit(value: object) -> float:
    """The number of hits that is asked for; the default for 0 and for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return DEFAULT_LIMIT
    return value or DEFAULT_LIMIT


def _expand_result(arguments: Arguments, recall: Recall, _: Locators) -> str:
    return expand(recall.view, arguments, spills=recall.spills)


RUN: Mapping[str, Callable[[Arguments, Recall, Locators], str]] = {
    "recall_turn": _recall_turn,
    "recall_step": _recall_step,
    "recall_search": _recall_search,
    "expand_result": _expand_result,
}
