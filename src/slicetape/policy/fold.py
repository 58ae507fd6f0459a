"""Which results are shown as views, decided before they are first sent.

`plan_fold` decides and changes nothing but its own memory; a writer appends. Work is proportional
to the events that came since the last plan and to the texts of the results among them.
"""

from dataclasses import dataclass, field

import msgspec

from slicetape.log.events import Dispatch, Replace, ToolResult
from slicetape.log.locator import RECALL_TOOLS
from slicetape.log.messages import Block, Message, Text, ToolResultBlock
from slicetape.log.spill import stored_head
from slicetape.policy.backoff import parsed, path_in, resource_key
from slicetape.policy.commands import source_read
from slicetape.policy.fold_head import Place, most_head_chars, view_head, with_locators
from slicetape.policy.fold_state import FoldState, arguments_text, replacements
from slicetape.policy.settings import DigestSettings, FoldSettings
from slicetape.policy.views import RULES, Condensed, Rules, condense
from slicetape.surface.calls import Call
from slicetape.surface.view import View

EXPAND = "expand_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Folding:
    """How results are folded: when, how much a view keeps, and which rules hold."""

    fold: FoldSettings = field(default_factory=FoldSettings)
    digest: DigestSettings = field(default_factory=DigestSettings)
    rules: Rules = RULES


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The call that a result block answers, as far as folding cares."""

    tool: str
    arguments: object = None
    seq: int = -1

    @classmethod
    def of(cls, call: Call | None) -> "Asked":
        """What is known of the call; nothing when no call has the id."""
        if call is None:
            return cls(tool="tool")
        return cls(tool=call.name, arguments=parsed(call.arguments), seq=call.seq)

    @property
    def path(self) -> str | None:
        """The path that its arguments name."""
        return path_in(self.arguments)

    @property
    def key(self) -> str:
        """Its resource."""
        return resource_key(self.tool, self.arguments)


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
    planner = _Planner(view, state, folding, recalls, max(state.shown_through, sent_through))
    return planner.plan()


class _Planner:
    """One plan; it lives no longer than the call."""

    def __init__(
        self, view: View, state: FoldState, folding: Folding, recalls: bool, shown_through: int
    ) -> None:
        self._view = view
        self._state = state
        self._folding = folding
        self._may_fold = recalls and folding.fold.enabled
        self._shown_through = shown_through
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
        asked = self._view.calls.asked[event.seq]
        self._note_expansions(event, asked)
        if replaced is not None:
            rendered = self._rendered(event)
            if rendered and rendered.message == replaced.data.message:
                rendered.count(self._state, event.seq)
        elif self._may_change(event):
            rendered = self._rendered(event)
            if rendered:
                rendered.count(self._state, event.seq)
                self._folds.append(Fold(event.seq, rendered.message))
        for call in asked:
            if call is not None:
                self._state.forwarded.forget(call.seq)

    def _note_expansions(self, event: ToolResult, asked: tuple[Call | None, ...]) -> None:
        for block, call in zip(_blocks(event), asked, strict=True):
            if call is not None and call.name == EXPAND and not block.is_error:
                execution = call.seq, block.tool_call_id
                self._state.expands(self._view, event.seq, execution, call.arguments)

    def _may_change(self, event: ToolResult) -> bool:
        if not self._may_fold or event.seq <= self._shown_through:
            return False
        return event.seq in self._view.surface and not self._is_pinned(event)

    def _is_pinned(self, event: ToolResult) -> bool:
        settings = self._folding.fold
        return event.data.step <= settings.pin_steps and (
            sum(self._chars(text) for block in _blocks(event) for text in _texts(block))
            < settings.pin_max_chars
        )

    def _chars(self, text: str) -> int:
        return chars(text, self._folding.rules)

    def _rendered(self, event: ToolResult) -> "_Rendered | None":
        """The result with every block that may be folded as a view; None when none is."""
        made = _Rendering(self._view, self._state, self._folding, event)
        return made.rendered()


@dataclass(slots=True)
class _Rendered:
    """A result as it will stand, and what it adds to the counts."""

    message: Message
    condensed: bool
    before: int
    after: int
    blocks: dict[int, str]

    def count(self, state: FoldState, seq: int) -> None:
        state.shows(seq, self.blocks)
        if self.condensed:
            state.folded += 1
            state.chars_before += self.before
            state.chars_after += self.after


class _Rendering:
    """One result on its way to its views."""

    def __init__(self, view: View, state: FoldState, folding: Folding, event: ToolResult) -> None:
        self._state = state
        self._folding = folding
        self._event = event
        self._asked = view.calls.asked[event.seq]
        data = event.data
        self._place = Place(data.turn, data.step, view.calls.ordinal[event.seq], event.seq)
        self._blocks: dict[int, str] = {}
        self._condensed = False
        self._changed = False
        self._before = 0
        self._after = 0

    def rendered(self) -> _Rendered | None:
        message = self._event.data.message
        content: list[Block] = []
        number = 0
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                number += 1
                content.append(self._block(block, number, self._asked[number - 1]))
            else:
                content.append(block)
        if not self._changed:
            return None
        message = msgspec.structs.replace(message, content=tuple(content))
        return _Rendered(message, self._condensed, self._before, self._after, self._blocks)

    def _block(self, block: ToolResultBlock, number: int, call: Call | None) -> ToolResultBlock:
        if call is not None and any(
            self._state.forwarded.holds(call.seq, text) for text in _texts(block)
        ):
            return block
        chars_before = sum(chars(text, self._folding.rules) for text in _texts(block))
        self._before += chars_before
        self._after += chars_before
        if block.is_error or (call is not None and call.name in RECALL_TOOLS):
            return block
        asked: Asked | None = None
        parts = list(block.content)
        part_number = 0
        for at, part in enumerate(parts):
            if not isinstance(part, Text):
                continue
            part_number += 1
            if self._is_too_short(part.text):
                continue
            if asked is None:
                asked = Asked.of(call)
                if asked.key in self._state.backoff.off:
                    return block
            shown = self._part(part.text, asked, self._is_spilled(number, part_number, part.text))
            if shown is not None:
                parts[at] = Text(shown)
                self._changed = True
                self._blocks[number] = asked.key
                self._after += chars(shown, self._folding.rules)
                self._after -= chars(part.text, self._folding.rules)
        return msgspec.structs.replace(block, content=tuple(parts))

    def _part(self, text: str, asked: Asked, spilled: bool) -> str | None:
        """What is shown of a text part; None for all of it."""
        if spilled:
            return with_locators(text, self._place)
        made = digested(
            text, asked, self._folding, most_head_chars(asked.tool, asked.path, text, self._place)
        )
        if made.view is None:
            return None
        self._condensed = True
        return f"{view_head(asked.tool, asked.path, made, self._place)}\n{made.view}"

    def _is_spilled(self, block: int, part: int, text: str) -> bool:
        """Whether the part is a view of a spill, by what is recorded and not by what it says."""
        claim = stored_head(text)
        if claim is None or not self._folding.rules.marked_spills:
            return claim is not None
        return self._state.find(self._event, block, part) is not None

    def _is_too_short(self, text: str) -> bool:
        """Whether no view could save anything: its head alone takes `_LEAST_HEAD` and more."""
        rules = self._folding.rules
        return (
            rules.head_counts
            and len(text) * self._folding.digest.max_keep_ratio <= _LEAST_HEAD
            and not text.startswith("[")
        )


_LEAST_HEAD = 120


def digested(text: str, asked: Asked, folding: Folding, head_chars: int) -> Condensed:
    """The view of a text that a call returned."""
    path = asked.path
    if path is None and folding.rules.command_paths:
        path = source_read(asked.arguments)
    return condense(
        text,
        asked.tool,
        path,
        settings=folding.digest,
        rules=folding.rules,
        head_chars=head_chars,
    )


def chars(text: str, rules: Rules) -> int:
    """The length of a text: code points, or UTF-16 units where the reference is followed."""
    if rules.code_points or text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _blocks(event: ToolResult) -> tuple[ToolResultBlock, ...]:
    content = event.data.message.content
    return tuple(block for block in content if isinstance(block, ToolResultBlock))


def _texts(block: ToolResultBlock) -> tuple[str, ...]:
    return tuple(part.text for part in block.content if isinstance(part, Text))
