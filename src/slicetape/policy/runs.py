"""Runs of nodes that may be sealed, cut where calls and results do not pair."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slicetape.log.events import AssistantMessage, ToolResult
from slicetape.log.messages import ToolCall, ToolResultBlock
from slicetape.policy.policy import Leave
from slicetape.policy.state import SealState
from slicetape.surface.protect import is_protected
from slicetape.surface.view import View


@dataclass(frozen=True, slots=True)
class Walk:
    """What one walk over the undecided end of a surface found.

    `runs` are maximal runs of eligible nodes, each with the position ahead of it up to which
    everything is decided for good; `settled` is that position for the whole surface, should no
    run stay open.
    """

    runs: tuple[tuple[int, tuple[int, ...]], ...]
    settled: int


def walk(view: View, state: SealState, live: int | None, seal_before: int) -> Walk:
    """Find the runs that may be sealed: nodes free to move, of turns below `seal_before`."""
    nodes, turns = view.surface.nodes, view.turns
    found: list[tuple[int, tuple[int, ...]]] = []
    run: list[int] = []
    settled, undecided = state.start(view, live), False
    for position in range(settled, len(nodes)):
        seq = nodes[position]
        state.walked += 1
        stays = seq in state.left or is_protected(view, seq, live)
        if not stays and turns.owner(view.events[seq]) < seal_before:
            run.append(seq)
            continue
        if run:
            found.append((settled, tuple(run)))
            run = []
        undecided = undecided or not stays or seq > turns.completed_through
        if not undecided:
            settled = position + 1
    if run:
        found.append((settled, tuple(run)))
    return Walk(tuple(found), settled)


def segments(view: View, run: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Leave | None]]:
    """Split a run at groups whose calls and results do not pair; each ends a segment."""
    segment: list[int] = []
    for group in _groups(view, run):
        unpaired = _unpaired(view, group)
        if unpaired:
            yield tuple(segment), _leave(view, group, unpaired)
            segment = []
        else:
            segment += group
    yield tuple(segment), None


def _groups(view: View, run: Sequence[int]) -> Iterator[list[int]]:
    group: list[int] = []
    for seq in run:
        if group and view.turns.owner(view.events[seq]) != view.turns.owner(view.events[group[0]]):
            yield group
            group = []
        group.append(seq)
    if group:
        yield group


def _unpaired(view: View, group: Sequence[int]) -> list[str]:
    """Ids on one side only: calls first, then results, each in order of appearance."""
    calls: dict[str, None] = {}
    answers: dict[str, None] = {}
    for seq in group:
        event = view.events[seq]
        if isinstance(event, AssistantMessage):
            blocks = event.data.message.content
            calls.update({block.id: None for block in blocks if isinstance(block, ToolCall)})
        elif isinstance(event, ToolResult):
            results = event.data.message.content
            answers.update(
                {
                    block.tool_call_id: None
                    for block in results
                    if isinstance(block, ToolResultBlock)
                }
            )
    return [id for id in calls if id not in answers] + [id for id in answers if id not in calls]


def _leave(view: View, group: Sequence[int], ids: list[str]) -> Leave:
    turn = view.turns.owner(view.events[group[0]])
    return Leave(
        tuple(group),
        "unpaired call",
        tuple(sorted(ids)),
        f"slice tape: turn {turn} (seq {group[0]}..{group[-1]}) kept raw and cut the sealed span, "
        f"unpaired tool call/result {', '.join(ids)}",
    )
