"""recall_step: what one step executed and what came back."""

from slicetape.errors import RecallError
from slicetape.log.events import ToolCalled, ToolResult
from slicetape.recall.locators import Locators
from slicetape.recall.records import result_blocks
from slicetape.recall.spilled import Part, Spills, hydrate
from slicetape.surface.view import View

WHOLE = "verbatim tool record"
PREVIEWS = "logged tool record; spilled results below are previews"


def render_step(
    view: View, turn: int, step: int, *, spills: Spills | None, locators: Locators
) -> str:
    """The page of a step, or, without `spills`, what the log alone says of it.

    RecallError when the step has no recorded tool calls.
    """
    calls: list[str] = []
    results: list[str] = []
    marked = False
    for seq in view.turns.members.get(turn, ()):
        event = view.events[seq]
        if isinstance(event, ToolCalled) and event.data.step == step:
            calls.append(f"→ {event.data.name}({event.data.arguments})")
        elif isinstance(event, ToolResult) and event.data.step == step:
            for number, block in enumerate(result_blocks(event), start=1):
                results.append("[error result]" if block.is_error else "[result]")
                locator = _locator(event, number, locators)
                for part in hydrate(event, number, spills, locator):
                    marked = marked or part.preview is not None
                    results += _printed(part, locator)
    if not calls and not results:
        raise RecallError(f"no recorded tool calls for turn {turn} step {step}")
    record = PREVIEWS if marked else WHOLE
    heading = (
        "## Results (previews where marked; use the exact expansion locator for full text)"
        if marked
        else "## Results (verbatim)"
    )
    head = f"sealed step · turn {turn} · step {step} · {len(calls)} call(s) · {record}"
    lines = [
        f"[{head}: what was executed then, not current world state]",
        "",
        "## Calls",
        *(calls or ["(no calls recorded)"]),
        "",
        heading,
        *(results or ["(no results recorded)"]),
        "",
    ]
    return "\n".join(lines)


def _locator(event: ToolResult, number: int, locators: Locators) -> str:
    several = len(result_blocks(event)) > 1
    return locators.result(event.seq, number if several else None)


def _printed(part: Part, locator: str) -> list[str]:
    if part.preview is None:
        return [part.text]
    size = "full text" if part.preview.bytes is None else f"{part.preview.bytes} bytes"
    mark = f"text part {part.number} preview — NOT full output"
    lines = [f"[{mark}; {size} stored at {part.preview.where}; full text: {locator}]"]
    if part.problem:
        lines.append(f"[spill unavailable: {part.problem}]")
    return [*lines, part.text]
