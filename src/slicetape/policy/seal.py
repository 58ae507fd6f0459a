"""Which runs of finished turns become entries.

`plan_seal` decides and changes nothing but its own memory of what was decided; a writer appends.
Work is proportional to the nodes that came after the last decision: everything up to the last
entry is frozen, and what was left raw is not looked at again.
"""

from collections.abc import Sequence

from slicetape.log.messages import Message
from slicetape.policy.entry import Run, parts_of
from slicetape.policy.measure import measure_plan, nodes_chars
from slicetape.policy.policy import Leave, Seal, SealPlan
from slicetape.policy.runs import segments, walk
from slicetape.policy.settings import HistorySettings
from slicetape.policy.shrink import check_cap, fit
from slicetape.policy.state import SealState
from slicetape.surface.protect import live_snapshot
from slicetape.surface.view import View


def plan_seal(
    view: View,
    state: SealState,
    settings: HistorySettings,
    *,
    pending: Sequence[Message] = (),
    warn: bool = True,
) -> SealPlan:
    """Decide which nodes of finished turns become entries, before the first step of a turn.

    `pending` are the messages that the step is about to append. Warnings are given once a
    session; `warn=False` gives none and does not consume them. ValueError for a bad cap.
    """
    if settings.entry_max_chars is not None:
        check_cap(settings.entry_max_chars)
    state.advance(view)
    live = live_snapshot(view, pending)
    decisions: list[Seal | Leave] = []
    found = walk(view, state, live, view.turns.last_turn - settings.keep_recent_turns + 1)
    settled = found.settled
    for mark, run in found.runs:
        for segment, unpaired in segments(view, run):
            if segment:
                decisions.append(_decide(view, state, settings, segment))
            if unpaired:
                decisions.append(unpaired)
            if segment or (unpaired and not (warn or state.has_warned(unpaired))):
                settled = min(settled, mark)
    state.settle(view, settled)
    seals = tuple(made for made in decisions if isinstance(made, Seal))
    left = tuple(made for made in decisions if isinstance(made, Leave))
    warnings = tuple(state.new_warnings(left)) if warn else ()
    return SealPlan(seals, left, warnings, lambda: measure_plan(view, live, pending, seals))


def _decide(
    view: View, state: SealState, settings: HistorySettings, segment: tuple[int, ...]
) -> Seal | Leave:
    run = Run(view, state.evidence, parts_of(view, segment))
    text = fit(run, settings.entry_max_chars)
    if settings.seal_only_if_shorter and len(text) >= nodes_chars(view, segment):
        return Leave(segment, "not shorter")
    return Seal(segment, text)
