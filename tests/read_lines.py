"""Tell turns that read files, and ask for their read-index line."""

import hashlib
from typing import Any

from slicetape.log.events import Event
from slicetape.policy.observe import Evidence
from slicetape.policy.reads import read_line
from slicetape.surface import View
from story import Story


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def evidence_of(story: Story) -> Evidence:
    evidence = Evidence()
    evidence.advance(View.of(story.events))
    return evidence


def line(story: Story, turn: int, budget: int = 2_000) -> str:
    """The line of a turn, over all its results."""
    results = [
        seq
        for (owner, _), seqs in story.view.calls.results.items()
        if owner == turn
        for seq in seqs
    ]
    return read_line(evidence_of(story), turn, results, budget)


def turn(story: Story, *reads: tuple[str, str] | tuple[str, str, dict[str, Any]]) -> list[Event]:
    """A finished turn that reads (path, text, other arguments), one step each."""
    story.start()
    story.human()
    results = [story.reads(path, text, **(more[0] if more else {})) for path, text, *more in reads]
    story.says("done")
    story.end()
    return results
