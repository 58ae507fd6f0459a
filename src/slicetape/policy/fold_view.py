"""A result to what is shown of it: every block that may be folded as a view, all else as it was."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

import msgspec

from slicetape.log.events import ToolResult
from slicetape.log.locator import is_recall_tool
from slicetape.log.messages import Block, Message, Text, ToolResultBlock
from slicetape.policy.backoff import parsed, path_in, resource_key
from slicetape.policy.commands import source_read
from slicetape.policy.fold_head import Place, most_head_chars, view_head, with_locators
from slicetape.policy.fold_state import FoldState
from slicetape.policy.repeats import Stands
from slicetape.policy.result_texts import chars_of, texts
from slicetape.policy.settings import DigestSettings, FoldSettings, Settings
from slicetape.policy.views import RULES, Condensed, Rules, condense
from slicetape.surface.calls import Call
from slicetape.surface.view import View

Part = tuple[int, int]
"""Block and text part within it, both from 1."""

_LEAST_HEAD = 120
"""No head is shorter, so a text whose share of it must stay below saves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folding:
    """How results are folded: when, how much a view keeps, and which rules hold."""

    fold: FoldSettings = field(default_factory=FoldSettings)
    digest: DigestSettings = field(default_factory=DigestSettings)
    rules: Rules = RULES

    @classmethod
    def of(cls, settings: Settings) -> "Folding":
        """Folding as configured, with the rules as shipped."""
        return cls(fold=settings.fold, digest=settings.digest)


class Asked:
    """What a result block answers, as far as folding cares; arguments are read when needed."""

    __slots__ = ("_arguments", "_call", "_key", "tool")

    def __init__(self, tool: str, arguments: str | None) -> None:
        self.tool = tool
        self._call = arguments
        self._arguments: object = None
        self._key = ""

    @classmethod
    def of(cls, call: Call | None) -> "Asked":
        """What is known of a call; None when no call has the id."""
        return cls(call.name, call.arguments) if call is not None else cls("tool", None)

    @property
    def arguments(self) -> object:
        """The arguments as a JSON value; their text when they are not JSON."""
        if self._call is not None:
            self._arguments, self._call = parsed(self._call), None
        return self._arguments

    @property
    def path(self) -> str | None:
        """The path that the arguments name."""
        return path_in(self.arguments)

    @property
    def key(self) -> str:
        """The resource."""
        if not self._key:
            self._key = resource_key(self.tool, self.arguments)
        return self._key


@dataclass(frozen=True, slots=True)
class Rendered:
    """A result as it will stand.

    `blocks` are the resources of the blocks that became views. `condensed` is false when only the
    heads of spilled texts were completed. `before` and `after` are the lengths of all its texts
    but forwarded ones.
    """

    message: Message
    blocks: dict[int, str]
    condensed: bool
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Above:
    """What of a result need not be condensed again.

    `spilled` are the parts that are views already, of a text kept outside the log; `stands` says
    of an event whether its lines stand above.
    """

    spilled: AbstractSet[Part]
    stands: Stands


def render(
    view: View, state: FoldState, folding: Folding, event: ToolResult, above: Above
) -> Rendered | None:
    """The original `event` with its views; None when it stays whole."""
    return _Rendering(view, state, folding, event, above).rendered()


class _Rendering:
    def __init__(
        self,
        view: View,
        state: FoldState,
        folding: Folding,
        event: ToolResult,
        above: Above,
    ) -> None:
        self._state = state
        self._folding = folding
        self._message = event.data.message
        self._asked = view.calls.asked[event.seq]
        self._above = above
        ordinal = view.calls.ordinal[event.seq]
        self._place = Place(event.data.turn, event.data.step, ordinal, event.seq)
        self._blocks: dict[int, str] = {}
        self._condensed = False
        self._before = 0
        self._after = 0

    def rendered(self) -> Rendered | None:
        content: list[Block] = []
        number = 0
        for block in self._message.content:
            if isinstance(block, ToolResultBlock):
                number += 1
                content.append(self._block(block, number))
            else:
                content.append(block)
        if not self._blocks:
            return None
        message = msgspec.structs.replace(self._message, content=tuple(content))
        return Rendered(message, self._blocks, self._condensed, self._before, self._after)

    def _block(self, block: ToolResultBlock, number: int) -> ToolResultBlock:
        call, rules = self._asked[number - 1], self._folding.rules
        if call is not None and forwards(state=self._state, call=call.seq, block=block):
            return block
        before = chars_of(block, rules)
        shown = self._shown(block, number, call)
        self._before += before
        self._after += before if shown is block else chars_of(shown, rules)
        return shown

    def _shown(self, block: ToolResultBlock, number: int, call: Call | None) -> ToolResultBlock:
        if block.is_error or (call is not None and is_recall_tool(call.name)):
            return block
        asked = Asked.of(call)
        parts, changed, part = list(block.content), False, 0
        for at, piece in enumerate(parts):
            if isinstance(piece, Text):
                part += 1
                text = self._part(piece.text, asked, (number, part))
                if text is not None:
                    parts[at], changed = Text(text), True
        if not changed:
            return block
        self._blocks[number] = asked.key
        return msgspec.structs.replace(block, content=tuple(parts))

    def _part(self, text: str, asked: Asked, part: Part) -> str | None:
        """What is shown of a text part; None for all of it."""
        if part in self._above.spilled:
            return with_locators(text, self._place)
        if self._is_too_short(text) or self._is_backed_off(asked):
            return None
        head_chars = most_head_chars(asked.tool, asked.path, text, self._place)
        made = digested(text, asked, self._folding, head_chars=head_chars)
        if self._folding.rules.say_once and self._folding.digest.enabled:
            made = self._said_once(text, made, head_chars)
        if made.view is None:
            return None
        self._condensed = True
        return f"{view_head(asked.tool, asked.path, made, self._place)}\n{made.view}"

    def _said_once(self, text: str, made: Condensed, head_chars: int) -> Condensed:
        """The view, or the text, without lines that stand above, when that saves enough."""
        whole = text if made.view is None else made.view
        found = self._state.repeats.said_once(whole, self._above.stands)
        if found is None:
            return made
        shown, left_out = found
        most = self._folding.digest.max_keep_ratio * len(text)
        if made.view is None and len(shown) + head_chars >= most:
            return made
        return replace(made, view=shown, kept_lines=made.kept_lines - left_out)

    def _is_too_short(self, text: str) -> bool:
        ratio = self._folding.digest.max_keep_ratio
        return self._folding.rules.head_counts and len(text) * ratio <= _LEAST_HEAD

    def _is_backed_off(self, asked: Asked) -> bool:
        off = self._state.backoff.off
        return bool(off) and asked.key in off


def digested(text: str, asked: Asked, folding: Folding, *, head_chars: int) -> Condensed:
    """The view of a text that a call returned, without its head."""
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


def forwards(*, state: FoldState, call: int, block: ToolResultBlock) -> bool:
    """Whether a block hands on what was recalled within the call it answers."""
    return any(state.forwarded.holds(call, text) for text in texts(block))
