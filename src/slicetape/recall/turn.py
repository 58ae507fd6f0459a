"""recall_turn: one turn as it was said, or with every original record."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from slicetape.errors import RecallError
from slicetape.log.events import (
    AssistantMessage,
    Event,
    ToolResult,
    UserMessage,
    type_of,
)
from slicetape.log.messages import ToolCall, text_of
from slicetape.recall.locators import Locators
from slicetape.recall.records import result_blocks, result_text, source_name
from slicetape.surface.view import View

PageView = Literal["dialogue", "full"]
Payload = Callable[[Event], str]
"""The JSON text of an event's `data`, as logged."""

RECORD = "historical record: establishes what was said, not current world state"
LISTED_TURNS = 20


@dataclass(slots=True)
class _Page:
    """What one pass over the members of a turn collects."""

    requests: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    context: list[str] = field(default_factory=list)
    contexts: int = 0
    spoken: int = 0

    def said(self, event: AssistantMessage) -> None:
        """Take in a message of the model; one that only calls tools says nothing."""
        content = event.data.message.content
        text = text_of(content)
        if text:
            self.spoken += 1
        elif any(isinstance(block, ToolCall) for block in content):
            return
        text = text or "(no assistant text recorded for this step)"
        self.items += [f"[step {event.data.step}]", text, ""]

    def heard(self, event: UserMessage) -> None:
        """Take in a message of the user's role: human text, or generated context."""
        text = text_of(event.data.content)
        if event.data.source.kind == "user":
            self.requests.append(text or "(no user text recorded in this message)")
        else:
            self.contexts += 1
            self.context += [f"[{source_name(event.data.source)}]", text]


def render_turn(
    view: View,
    turn: int,
    *,
    page: PageView = "dialogue",
    locators: Locators,
    payload: Payload,
) -> str:
    """The page of a turn. RecallError when no such turn is recorded."""
    if not view.turns.is_recorded(turn):
        raise RecallError(f"no recorded turn {turn} in this session{_known(view)}")
    found = _Page()
    members = [view.events[seq] for seq in view.turns.members.get(turn, ())]
    for event in members:
        if isinstance(event, UserMessage):
            found.heard(event)
        elif isinstance(event, AssistantMessage):
            found.said(event)
        elif isinstance(event, ToolResult) and page == "dialogue":
            found.items.extend(_tool_lines(view, event, locators))
    lines = [
        _head(view, turn, found, page, locators),
        "",
        "## User request (verbatim)",
        "\n\n".join(found.requests) or "(no user text recorded for this turn)",
        "",
        "## Assistant response (verbatim)",
        *(found.items or ["(no assistant text recorded for this turn)"]),
    ]
    if found.contexts:
        lines += ["", "## Generated context recorded during this turn (verbatim)", *found.context]
    if page == "full":
        records = ",".join(
            f'{{"type":"{type_of(event)}","data":{payload(event)}}}' for event in members
        )
        lines += [
            "",
            "## Original records (including reasoning, tool output and recorded file metadata)",
            f"[{records}]",
        ]
    return _one_final_newline("\n".join(lines))


def _head(view: View, turn: int, found: _Page, page: PageView, locators: Locators) -> str:
    facts = [
        f"sealed turn slice-turn-{turn}",
        f"status {view.turns.status.get(turn, 'open')}",
        f"{len(found.requests)} user message(s)",
    ]
    if found.contexts:
        facts.append(f"{found.contexts} generated context message(s)")
    facts.append(f"{found.spoken} assistant step(s) with text")
    if page == "dialogue":
        full = locators.turn(turn, "full")
        facts.append(
            "view dialogue (default: text once, tool results as locators; full record with "
            f"reasoning and tool output: {full})"
        )
    else:
        facts.append(
            "view full (text plus every original record; the default text-only page is "
            'view "dialogue")'
        )
    return f"[{' · '.join([*facts, RECORD])}]"


def _tool_lines(view: View, event: ToolResult, locators: Locators) -> Iterator[str]:
    blocks = result_blocks(event)
    for number, (block, name) in enumerate(
        zip(blocks, view.calls.names[event.seq], strict=True), start=1
    ):
        which = number if len(blocks) > 1 else None
        place = f"seq {event.seq} block {number}" if which else f"seq {event.seq}"
        yield (
            f"[tool step {event.data.step} {place} · {name} · {len(result_text(block))} chars · "
            f"{locators.result(event.seq, which)}]"
        )


def _known(view: View) -> str:
    ended = view.turns.ended_turns()[:LISTED_TURNS]
    if not ended:
        return " (no sealed turns yet)"
    return f" (sealed turns: {', '.join(map(str, ended))})"


def _one_final_newline(text: str) -> str:
    bare = text.rstrip("\n")
    return bare if len(bare) == len(text) else bare + "\n"
