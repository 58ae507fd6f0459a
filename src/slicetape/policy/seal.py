"""Which runs of finished turns become entries.

`plan_seal` decides and changes nothing but its own memory of what was decided; a writer appends.
Work is proportional to the nodes that came after the last decision: everything up to the last
entry is frozen, and what was left raw is not looked at again.
"""

from collections.abc import Iterator, Sequence

from slicetape.log.messages import Message
from slicetape.policy.entry import Run, parts_of
from slicetape.policy.measure import measure_plan, nodes_chars
from slicetape.policy.policy import Leave, Seal, SealPlan
from slicetape.policy.runs import runs, segments
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
    seals: list[Seal] = []
    left: list[Leave] = []
    seal_before = view.turns.last_turn - settings.keep_recent_turns + 1
    for run in runs(view, state, live, seal_before):
        for segment, unpaired in segments(view, run):
            if segment:
                _decide(view, state, settings, segment, seals, left)
            if unpaired:
                left.append(unpaired)
    warnings = tuple(_new_warnings(state, left)) if warn else ()
    return SealPlan(
        tuple(seals), tuple(left), warnings, lambda made: measure_plan(view, live, pending, made)
    )


def _decide(
    view: View,
    state: SealState,
    settings: HistorySettings,
    segment: tuple[int, ...],
    seals: list[Seal],
    left: list[Leave],
) -> None:
    run = Run(view, state.evidence, parts_of(view, segment))
    text = fit(run, settings.entry_max_chars)
    if settings.seal_only_if_shorter and len(text) >= nodes_chars(view, segment):
        left.append(Leave(segment, "not shorter"))
    else:
        seals.append(Seal(segment, text))


def _new_warnings(state: SealState, left: Sequence[Leave]) -> Iterator[str]:
    for leave in left:
        if leave.warning is None:
            continue
        cut = leave.nodes[0], leave.ids
        if cut not in state.warned:
            state.warned.add(cut)
            yield leave.warning
