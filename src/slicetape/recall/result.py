"""expand_result: one logged tool result, whole, or the lines that were asked for."""

from dataclasses import dataclass

from slicetape.errors import RecallError
from slicetape.log.arguments import Arguments, integer, positive, span, whole
from slicetape.log.events import FORMAT_VERSION, ToolResult, type_of
from slicetape.recall.grep import matching
from slicetape.recall.records import result_blocks
from slicetape.recall.spilled import Spills, full_text
from slicetape.surface.view import View

ADDRESSES = (
    f'expand_result needs {{"seq": N, "formatVersion": {FORMAT_VERSION}}} or '
    '{"turn": N, "step": M} (and optional "call": K), all positive integers'
)
STALE_SEQ = (
    f"expand_result: numeric seq requires formatVersion {FORMAT_VERSION} from a fresh locator; "
    "sequence numbers can change during format migration. Do not relabel an old locator. "
    'Obtain a fresh locator from recall_turn({"turn":"N","view":"dialogue"}) or recall_search, '
    'or use the stable {"turn":N,"step":M,"call":K} address.'
)
SHOWN = 200
"""Matching lines that a grep makes room for; the others are counted."""

CONTEXT = 2
"""Lines printed on each side of a match."""


@dataclass(frozen=True, slots=True)
class Found:
    """An original result and the block chosen in it; `block` is 0 for all siblings."""

    event: ToolResult
    block: int
    head: str

    def text(self, spills: Spills) -> str:
        """The logged text, every preview replaced by what it stands for."""
        numbers = [self.block] if self.block else range(1, len(result_blocks(self.event)) + 1)
        return "\n".join(full_text(self.event, number, spills, self.head) for number in numbers)


def find_result(view: View, arguments: Arguments) -> Found:
    """The result that `arguments` address. RecallError says what to ask instead."""
    block = 0
    if arguments.get("block") is not None:
        block = positive(arguments["block"]) or 0
        if not block:
            raise RecallError('expand_result: "block" must be a positive integer')
    by_seq = arguments.get("seq") is not None
    event = _by_seq(view, arguments) if by_seq else _by_ordinal(view, arguments)
    count = len(result_blocks(event))
    if block > count:
        raise RecallError(f"expand_result: no result block {block} (result has {count} blocks)")
    data, call = event.data, view.calls.ordinal[event.seq]
    names = view.calls.names[event.seq]
    name = ", ".join(dict.fromkeys(names[block - 1 : block] if block else names)) or "tool"
    place = f"turn {data.turn} step {data.step} call {call}"
    head = f"{name} · seq {event.seq} ({place})" if by_seq else f"{name} · {place}"
    return Found(event, block, f"{head} block {block}" if block else head)


def expand(view: View, arguments: Arguments, *, spills: Spills) -> str:
    """The text of one tool result, verbatim; `grep` and `lines` choose lines of it."""
    found = find_result(view, arguments)
    text = found.text(spills)
    pattern, lines = arguments.get("grep"), span(arguments.get("lines"))
    if isinstance(pattern, str) and pattern.strip():
        return grep_page(text, pattern, found.head)
    if lines:
        return lines_page(text, lines, found.head)
    return f"[full result of {found.head}]\n{text}"


def grep_page(text: str, pattern: str, head: str) -> str:
    """The lines of `text` that match, each with two lines around it."""
    lines = text.split("\n")
    hits = matching(pattern, lines)
    if not hits:
        return f"[{head} · 0 of {len(lines)} lines match /{pattern}/i]"
    more = f", first {SHOWN} shown" if len(hits) > SHOWN else ""
    page = [f"[{head} · {len(hits)} of {len(lines)} lines match /{pattern}/i{more}]"]
    most = min(len(hits), SHOWN) * 5 + SHOWN + 1
    printed = -1
    for hit in hits:
        first = max(printed + 1, hit - CONTEXT)
        if printed >= 0 and first > printed + 1:
            page.append(f"…[{first - printed - 1} lines]…")
        printed = min(hit + CONTEXT, len(lines) - 1)
        page += [f"{at + 1}: {lines[at]}" for at in range(first, printed + 1)]
        if len(page) >= most:
            break
    return "\n".join(page[:most])


def lines_page(text: str, wanted: tuple[int, int], head: str) -> str:
    """The lines `wanted`, both ends included, counted from 1. RecallError when there are none."""
    lines = text.split("\n")
    first, last = max(wanted[0], 1), min(wanted[1], len(lines))
    if first > last:
        raise RecallError(
            f"expand_result: empty range {wanted[0]}-{wanted[1]} (result has {len(lines)} lines)"
        )
    body = [f"{at}: {lines[at - 1]}" for at in range(first, last + 1)]
    return "\n".join([f"[{head} · lines {first}-{last} of {len(lines)}]", *body])


def _by_seq(view: View, arguments: Arguments) -> ToolResult:
    if whole(arguments.get("formatVersion")) != FORMAT_VERSION:
        raise RecallError(STALE_SEQ)
    seq = integer(arguments["seq"])
    if seq is None or seq < 0:
        raise RecallError('expand_result: "seq" must be a non-negative integer')
    if seq >= view.scanned:
        raise RecallError(f"expand_result: no session event at seq {seq}")
    event = view.events[seq]
    if not isinstance(event, ToolResult):
        raise RecallError(
            f"expand_result: seq {seq} is a {type_of(event)} event, not a tool result"
        )
    try:
        original = view.events[view.original(seq)]
    except (ValueError, IndexError):
        raise RecallError(
            f"expand_result: the replacement at seq {seq} names no original tool result"
        ) from None
    assert isinstance(original, ToolResult)
    return original


def _by_ordinal(view: View, arguments: Arguments) -> ToolResult:
    turn, step = positive(arguments.get("turn")), positive(arguments.get("step"))
    call = positive(1 if arguments.get("call") is None else arguments["call"])
    if not (turn and step and call):
        raise RecallError(ADDRESSES)
    siblings = view.calls.results.get((turn, step), [])
    if call > len(siblings):
        raise RecallError(f"no tool result recorded at turn {turn} step {step} call {call}")
    event = view.events[siblings[call - 1]]
    assert isinstance(event, ToolResult)
    return event
