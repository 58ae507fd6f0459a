"""A sealed run to entry text: every visible reply whole, and a locator for every tool result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slicetape.log.events import (
    FORMAT_VERSION,
    AssistantMessage,
    Replace,
    ToolResult,
    UserMessage,
    is_entry,
    is_snapshot,
)
from slicetape.log.messages import Text, ToolCall, ToolResultBlock, text_of
from slicetape.policy import header
from slicetape.policy.fingerprint import fingerprint
from slicetape.policy.observe import Evidence
from slicetape.policy.reads import BUDGET, read_line
from slicetape.surface.view import View

_MOST_TOOL_LINES = 6
_MOST_SEQS = 24


@dataclass(frozen=True, slots=True)
class Reply:
    """The visible text of one assistant message."""

    step: int
    seq: int
    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """What one turn gives to an entry. `results` are seqs of original tool results.

    `earlier` is the range of an entry that stands among the nodes; such a part gives one line.
    """

    turn: int
    snapshots: int = 0
    replies: tuple[Reply, ...] = ()
    empties: int = 0
    results: tuple[int, ...] = ()
    earlier: tuple[int, int] | None = None


def wrap(part: Part, reply: Reply, body: str | None = None) -> str:
    """A reply between two lines that name its content, so that no content can forge the end."""
    body = reply.text if body is None else body
    mark = fingerprint(body, 12)
    return (
        f"[reply slice-turn-{part.turn}-step-{reply.step}-seq-{reply.seq} @sha256:{mark}]\n"
        f"{body}\n[end reply @sha256:{mark}]"
    )


def note(part: Part) -> str:
    """The line for superseded runtime snapshots: never their text."""
    noun = "runtime-context snapshot"
    if part.snapshots > 1:
        noun = f"{part.snapshots} {noun}s"
    return (
        f"[slice note · {noun} superseded by a later one; not repeated here · "
        f"verbatim: {snapshot_locator(part)}]"
    )


def snapshot_locator(part: Part) -> str:
    """The call that returns the snapshots of a part."""
    if part.turn < 1:
        return 'recall_search({"query":"...","kinds":["context"]})'
    return f'recall_turn({{"turn":"{part.turn}"}})'


@dataclass(frozen=True, slots=True)
class Shape:
    """How much a rendering keeps: the complete entry keeps everything."""

    tool_lines: bool = True
    read_budget: int | None = BUDGET
    heading: Callable[[list[int]], str] = header.complete
    note: Callable[[Part], str] = note
    reply: Callable[[Part, Reply], str] = wrap


COMPLETE = Shape()


@dataclass(frozen=True, slots=True)
class Run:
    """Everything an entry is made of: the view, the reads, and the parts in node order."""

    view: View
    evidence: Evidence
    parts: tuple[Part, ...]

    @property
    def turns(self) -> list[int]:
        """The turns covered, in order, one per part."""
        return [turn for part in self.parts for turn in (part.earlier or (part.turn,))]


def render(run: Run, shape: Shape = COMPLETE) -> str:
    """The text of the entry that stands for `run`."""
    lines = [shape.heading(run.turns)]
    for part in run.parts:
        lines += _part_lines(run, part, shape)
    return "\n".join(lines)


def parts_of(view: View, nodes: Sequence[int]) -> tuple[Part, ...]:
    """The parts of a run of nodes; a part starts whenever the turn changes."""
    parts: list[Part] = []
    gathered: list[int] = []
    for seq in nodes:
        event = view.events[seq]
        if is_entry(event) or (gathered and _turn(view, gathered[0]) != _turn(view, seq)):
            parts += [_gather(view, gathered)] if gathered else []
            gathered = []
        if is_entry(event):
            parts.append(Part(turn=0, earlier=entry_range(view, seq)))
        else:
            gathered.append(seq)
    return (*parts, _gather(view, gathered)) if gathered else tuple(parts)


def entry_range(view: View, seq: int) -> tuple[int, int]:
    """The turns an entry of any version covers: its header, else the originals it cites."""
    event = view.events[seq]
    found = (
        header.turn_range(text_of(event.data.content)) if isinstance(event, UserMessage) else None
    )
    if found:
        return found
    turns: set[int] = set()
    queue: list[int] = [seq]
    seen = {seq}
    while queue:
        for cited in view.events[queue.pop()].sources:
            source = view.events[cited]
            if is_entry(source) and cited not in seen:
                seen.add(cited)
                queue.append(cited)
            elif source.is_original and view.turns.owner(source) >= 1:
                turns.add(view.turns.owner(source))
    return (min(turns), max(turns)) if turns else (0, 0)


def original_of(view: View, seq: int) -> int:
    """The original behind a tool result node; a view that cites no result stands for itself."""
    event = view.events[seq]
    while type(event.surface_op) is Replace and event.sources:
        cited = view.events[event.sources[0]]
        if not isinstance(cited, ToolResult):
            break
        event = cited
    return event.seq


def _turn(view: View, seq: int) -> int:
    return view.turns.owner(view.events[seq])


def _gather(view: View, nodes: Sequence[int]) -> Part:
    replies: list[Reply] = []
    results: list[int] = []
    empties = snapshots = 0
    for seq in nodes:
        event = view.events[seq]
        if isinstance(event, AssistantMessage):
            content = event.data.message.content
            text = text_of(content)
            if text:
                replies.append(Reply(event.data.step, seq, text))
            elif not any(isinstance(block, ToolCall) for block in content):
                empties += 1
        elif isinstance(event, ToolResult):
            results.append(original_of(view, seq))
        elif is_snapshot(event):
            snapshots += 1
    return Part(_turn(view, nodes[0]), snapshots, tuple(replies), empties, tuple(results))


def _part_lines(run: Run, part: Part, shape: Shape) -> list[str]:
    if part.earlier:
        first, last = part.earlier
        return [f"[earlier checkpoint covered turns {first}-{last}; recall_turn for details]"]
    lines = [f"[turn {part.turn}]"]
    if part.snapshots:
        lines.append(shape.note(part))
    lines += [shape.reply(part, reply) for reply in part.replies]
    if part.empties:
        lines.append(
            f"[{part.empties} assistant message(s) contained no visible text or tool calls]"
        )
    if shape.read_budget is not None:
        line = read_line(run.evidence, part.turn, part.results, shape.read_budget)
        lines += [line] if line else []
    return lines + _tool_lines(run.view, part) if shape.tool_lines else lines


def _tool_lines(view: View, part: Part) -> list[str]:
    lines = [_tool_line(view, part.turn, seq) for seq in part.results[:_MOST_TOOL_LINES]]
    rest = part.results[_MOST_TOOL_LINES:]
    if rest:
        seqs = ", ".join(str(seq) for seq in rest[:_MOST_SEQS])
        seqs += ", …" if len(rest) > _MOST_SEQS else ""
        lines.append(f"[+{len(rest)} more tool results · seqs {seqs}]")
    return lines


def _tool_line(view: View, turn: int, seq: int) -> str:
    event = view.events[seq]
    assert isinstance(event, ToolResult)
    data = event.data
    blocks = [block for block in data.message.content if isinstance(block, ToolResultBlock)]
    names = dict.fromkeys(
        view.calls.tool_name(data.turn, data.step, block.tool_call_id) for block in blocks
    )
    size = sum(
        len(item.text) for block in blocks for item in block.content if isinstance(item, Text)
    )
    return (
        f"[tool turn {turn} step {data.step} seq {seq} · {', '.join(names)} · {size} chars · "
        f'expand_result({{"seq":{seq},"formatVersion":{FORMAT_VERSION}}})]'
    )
