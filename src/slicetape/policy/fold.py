"""Which results are shown as views, decided before they are first sent.

`plan_fold` decides and changes nothing but its own memory; a writer appends. Work is proportional
to the events that came since the last plan and to the texts of the results among them.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import msgspec

from slicetape.log.events import (
    AssistantMessage,
    Dispatch,
    Replace,
    ToolResult,
    UserMessage,
    is_snapshot,
)
from slicetape.log.locator import plain_name
from slicetape.log.messages import Message, Text, ToolCall
from slicetape.log.spill import stored_head
from slicetape.policy.backoff import parsed
from slicetape.policy.fold_state import FoldState, arguments_text, replacements
from slicetape.policy.fold_view import (
    Above,
    Asked,
    Folding,
    Part,
    Rendered,
    render,
)
from slicetape.policy.repeats import Shown, Stands, strings
from slicetape.policy.result_texts import blocks_in, chars_of, result_blocks, texts
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
        state.repeats.settle(replaced)
        for seq in range(start, view.scanned):
            event = view.events[seq]
            if isinstance(event, ToolResult) and event.is_original:
                self._take_result(event, replaced.get(seq))
            elif isinstance(event, AssistantMessage) and event.is_original:
                self._take_calls(event)
            elif isinstance(event, UserMessage) and event.is_original and not is_snapshot(event):
                self._take_message(event)
            elif isinstance(event, Dispatch) and plain_name(event.data.name) == EXPAND:
                root = view.calls.roots.get(seq)
                if root and not event.data.is_error:
                    execution = root.seq, event.data.sub_call_id
                    state.expands(view, seq, execution, arguments_text(bytes(event.data.arguments)))
        return tuple(self._folds)

    def _take_result(self, event: ToolResult, replaced: ToolResult | None) -> None:
        state, asked = self._state, self._view.calls.asked[event.seq]
        self._note_expansions(event, asked)
        state.repeats.enter(event.data.turn)
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
        self._note_shown(event, replaced, rendered)

    def _take_message(self, event: UserMessage) -> None:
        """Keep the lines of a message that stays where it is."""
        if self._folding.rules.say_once:
            said = (block.text for block in event.data.content if isinstance(block, Text))
            self._state.repeats.add_message(event.seq, said)

    def _take_calls(self, event: AssistantMessage) -> None:
        """Keep the lines that the model wrote into its calls, for the results after them."""
        if self._folding.rules.say_once:
            self._state.repeats.enter(event.data.turn)
            written = (
                text
                for block in event.data.message.content
                if isinstance(block, ToolCall) and "\\n" in block.arguments
                for text in strings(parsed(block.arguments))
            )
            self._state.repeats.add(Shown(event.seq), written)

    def _note_shown(
        self, event: ToolResult, replaced: ToolResult | None, rendered: Rendered | None
    ) -> None:
        """Keep the lines that the surface shows of a result, for the results after it."""
        if not self._folding.rules.say_once:
            return
        message = rendered.message if rendered else None
        shown = Shown(event.seq, message)
        if replaced is not None and rendered:
            shown.node = replaced.seq
        elif replaced is not None:
            shown.gone = replaced.seq
        blocks = blocks_in(message or event.data.message)
        self._state.repeats.add(shown, (text for block in blocks for text in texts(block)))

    def _stands(self, replaced: ToolResult | None) -> Stands:
        """Whether a result shows its lines to the request that first has this one.

        That request is about to be sent; or it was, when the log has the view of this one.
        """
        surface = self._view.surface
        if replaced is None:
            return lambda shown: shown.seq in surface or (shown.node or -1) in surface
        decided = replaced.seq
        return lambda shown: shown.gone is None or shown.gone > decided

    def _decided(
        self, event: ToolResult, replaced: ToolResult | None, spilled: AbstractSet[Part]
    ) -> Rendered | None:
        """The views of a result: those that the log shows already, if they are ours, or new ones.

        A replacement is ours when it shows what this policy shows now.
        """
        if replaced is None and not self._may_change(event):
            return None
        above = Above(spilled, self._stands(replaced))
        rendered = render(self._view, self._state, self._folding, event, above)
        if rendered is None:
            return None
        if replaced is None:
            self._folds.append(Fold(event.seq, rendered.message))
        elif rendered.message != replaced.data.message:
            return None
        return rendered

    def _note_expansions(self, event: ToolResult, asked: tuple[Call | None, ...]) -> None:
        for block, call in zip(result_blocks(event), asked, strict=True):
            if call is not None and plain_name(call.name) == EXPAND and not block.is_error:
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
