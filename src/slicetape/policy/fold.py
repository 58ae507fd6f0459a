"""Which results are shown as views, decided before they are first sent.

`plan_fold` decides and changes nothing but its own memory; a writer appends. Work is proportional
to the events that came since the last plan and to the texts of the results among them.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import msgspec

from slicetape.log.events import Dispatch, Replace, ToolResult
from slicetape.log.messages import Message
from slicetape.log.spill import stored_head
from slicetape.policy.fold_state import FoldState, arguments_text, replacements
from slicetape.policy.fold_view import (
    Asked,
    Folding,
    Part,
    Rendered,
    chars_of,
    render,
    result_blocks,
    texts,
)
from slicetape.surface.calls import Call
from slicetape.surface.view import View

EXPAND = "expand_result"


@dataclass(frozen=True, slots=True)
class Fold:
    """Show the original at `seq` as `message`; all but its texts is the original's."""

    seq: int
    message: Message

    def event(self, original: ToolResult, time: int) -> ToolResult:
        """The event that carries the views."""
        return ToolResult(
            time=time,
            data=msgspec.structs.replace(original.data, message=self.message),
            surface_op=Replace(self.seq, self.seq),
            source_event_seqs=(self.seq,),
        )


def plan_fold(
    view: View,
    state: FoldState,
    folding: Folding,
    *,
    recalls: bool = True,
    sent_through: int = -1,
) -> tuple[Fold, ...]:
    """Decide which results that came since the last plan are shown as views.

    `recalls` says whether the request that is about to be sent offers the recall tools: what a
    model could not bring back is never folded. Nor are results up to `sent_through`.
    """
    state.forwarded.advance(view)
    state.backoff.after = folding.fold.backoff_after_expansions
    shown_through = max(state.shown_through, sent_through)
    may_fold = recalls and folding.fold.enabled
    return _Planner(view, state, folding, shown_through, may_fold).plan()


class _Planner:
    """One plan; it lives no longer than the call."""

    def __init__(
        self, view: View, state: FoldState, folding: Folding, shown_through: int, may_fold: bool
    ) -> None:
        self._view = view
        self._state = state
        self._folding = folding
        self._shown_through = shown_through
        self._may_fold = may_fold
        self._folds: list[Fold] = []

    def plan(self) -> tuple[Fold, ...]:
        view, state = self._view, self._state
        start, state.scanned = state.scanned, view.scanned
        replaced = replacements(view, start)
        for seq in range(start, view.scanned):
            event = view.events[seq]
            if isinstance(event, ToolResult) and event.is_original:
                self._take_result(event, replaced.get(seq))
            elif isinstance(event, Dispatch) and event.data.name == EXPAND:
                root = view.calls.roots.get(seq)
                if root and not event.data.is_error:
                    execution = root.seq, event.data.sub_call_id
                    state.expands(view, seq, execution, arguments_text(bytes(event.data.arguments)))
        return tuple(self._folds)

    def _take_result(self, event: ToolResult, replaced: ToolResult | None) -> None:
        state, asked = self._state, self._view.calls.asked[event.seq]
        self._note_expansions(event, asked)
        claimed = _claimed_parts(event)
        stored = {part for part in claimed if state.find(event, *part) is not None}
        rendered = self._decided(
            event, replaced, stored if self._folding.rules.marked_spills else claimed
        )
        if rendered:
            state.shows(event.seq, rendered.blocks)
            if rendered.condensed:
                state.counts(rendered.before, rendered.after)
        if stored:
            state.spilled += 1
            if rendered is None:
                blocks = sorted({block for block, _ in stored})
                state.shows(event.seq, {n: Asked.of(asked[n - 1]).key for n in blocks})
        for call in asked:
            if call is not None:
                state.forwarded.forget(call.seq)

    def _decided(
        self, event: ToolResult, replaced: ToolResult | None, spilled: AbstractSet[Part]
    ) -> Rendered | None:
        """The views of a result: those that the log shows already, if they are ours, or new ones.

        A replacement is ours when it shows what this policy shows now.
        """
        if replaced is None and not self._may_change(event):
            return None
        rendered = render(self._view, self._state, self._folding, event, spilled=spilled)
        if rendered is None:
            return None
        if replaced is None:
            self._folds.append(Fold(event.seq, rendered.message))
        elif rendered.message != replaced.data.message:
            return None
        return rendered

    def _note_expansions(self, event: ToolResult, asked: tuple[Call | None, ...]) -> None:
        for block, call in zip(result_blocks(event), asked, strict=True):
            if call is not None and call.name == EXPAND and not block.is_error:
                execution = call.seq, block.tool_call_id
                self._state.expands(self._view, event.seq, execution, call.arguments)

    def _may_change(self, event: ToolResult) -> bool:
        if not self._may_fold or event.seq <= self._shown_through:
            return False
        return event.seq in self._view.surface and not self._is_pinned(event)

    def _is_pinned(self, event: ToolResult) -> bool:
        settings, rules = self._folding.fold, self._folding.rules
        return event.data.step <= settings.pin_steps and (
            sum(chars_of(block, rules) for block in result_blocks(event)) < settings.pin_max_chars
        )


def _claimed_parts(event: ToolResult) -> set[Part]:
    """The text parts whose first line says that they are views of spilled texts."""
    return {
        (number, part)
        for number, block in enumerate(result_blocks(event), start=1)
        for part, text in enumerate(texts(block), start=1)
        if stored_head(text) is not None
    }
