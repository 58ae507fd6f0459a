"""The worst of what an arm hid of a session, for people, with the calls that bring it back."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from slicetape.log.events import ToolResult
from slicetape.log.locator import result_locator, turn_locator
from slicetape.replay.evidence.hits import Hits
from slicetape.replay.evidence.recovery import all_hidden
from slicetape.replay.evidence.visible import Hidden, Seen, Visibility

WORST = 10
"""References of a session that are listed."""

_LONGEST = 120


class Missing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A token that the model used while it was hidden.

    `steps` counts the steps that did, `copies` those whose tool arguments had it from results
    alone; `turn` and `step` are the first of them. `rank` is its place among the first hits of a
    search at that step, None when it is not there. `locators` bring back its sources.
    """

    token: str
    kind: str
    how: str
    turn: int
    step: int
    steps: int
    copies: int
    rank: int | None
    locators: tuple[str, ...]


@dataclass(slots=True)
class _Row:
    seen: Seen
    hidden: Hidden
    steps: int = 0
    copies: int = 0
    order: int = field(default=0)


def worst(visibility: Visibility, hits: Hits, *, most: int = WORST) -> tuple[Missing, ...]:
    """The hidden tokens that cost the most recalls, then those used most often."""
    rows: dict[str, _Row] = {}
    for seen, hidden in all_hidden(visibility.seen):
        reference = hidden.reference
        row = rows.setdefault(reference.token, _Row(seen, hidden, order=len(rows)))
        row.steps += 1
        row.copies += reference.copied and reference.kind == "tool"
    first = sorted(rows.values(), key=lambda row: (-row.copies, -row.steps, row.order))[:most]
    return tuple(_missing(row, visibility, hits) for row in first)


def _missing(row: _Row, visibility: Visibility, hits: Hits) -> Missing:
    step, reference = row.seen.step, row.hidden.reference
    token, folded = reference.token, frozenset(one.seq for one in visibility.first)
    return Missing(
        token=token if len(token) <= _LONGEST else f"{token[: _LONGEST - 1]}…",
        kind=reference.kind,
        how=row.hidden.how,
        turn=step.turn,
        step=step.step,
        steps=row.steps,
        copies=row.copies,
        rank=hits.found(step, reference, folded) if visibility.recalls else None,
        locators=tuple(dict.fromkeys(_locators(visibility, reference.sources))),
    )


def _locators(visibility: Visibility, sources: tuple[int, ...]) -> Iterator[str]:
    """The calls that bring the sources back; none in an arm without recall tools."""
    view = visibility.session.view
    for source in sources if visibility.recalls else ():
        event = view.events[visibility.place(source)]
        if isinstance(event, ToolResult):
            yield result_locator(event.seq)
        else:
            yield turn_locator(view.turns.owner(event))
