"""Tools of other hosts under other names: routed alike, and recalled text is never folded."""

import pytest

from live_agent import LiveAgent, ScriptTool, calls, run, says
from slicetape.log.locator import is_recall_tool, plain_name
from slicetape.policy.settings import DigestSettings
from slicetape.policy.views import REFERENCE, condense

LOG = "\n".join(f"2026-11-30T10:00:{n % 60:02}Z INFO request {n} done" for n in range(900))

NAMES = {
    "read": ("read", "Read", "mcp__files__read", "functions.read", "fs/read", "tools:read"),
    "read_file": ("read_file", "ReadFile", "readFile", "mcp__x__ReadFile"),
    "expand_result": ("expand_result", "mcp__slicetape__expand_result", "slicetape.expand_result"),
    "grep": ("grep", "Grep"),
}


@pytest.mark.parametrize(("plain", "name"), [(p, n) for p, names in NAMES.items() for n in names])
def test_a_name_is_known_without_what_stands_around_it(plain: str, name: str) -> None:
    assert plain_name(name) == plain


@pytest.mark.parametrize("name", ["Bash", "recall", "my_recall_turns", "", "x" * 100_000])
def test_other_names_are_no_recall_tools(name: str) -> None:
    assert not is_recall_tool(name)


@pytest.mark.parametrize("name", ["Read", "mcp__files__read"])
def test_what_is_read_is_data_under_any_name(name: str) -> None:
    settings = DigestSettings()
    ours = condense(LOG, name, None, settings=settings)
    assert ours == condense(LOG, "read", None, settings=settings)
    reference = condense(LOG, name, None, settings=settings, rules=REFERENCE)
    assert (ours.kind, reference.kind) == ("data", "log")


def folds(tool: str, *, recalls: bool = True) -> LiveAgent:
    async def scenario() -> LiveAgent:
        replies = [calls(("c1", tool, "{}")), says("Seen. " * 200), says("Next.")]
        returns = ScriptTool(tool, lambda _: LOG)
        live = LiveAgent(replies, [returns], sealing=True, recalls=recalls)
        await live.turn("One.")
        await live.turn("Two.")
        return live.checked()

    found: LiveAgent = run(scenario)
    return found


@pytest.mark.parametrize("name", ["mcp__slicetape__expand_result", "ExpandResult"])
def test_recalled_text_stays_whole_under_any_name(name: str) -> None:
    assert folds(name).watch.folded == []
    assert folds("mcp__shell__bash").watch.folded


def test_without_recall_tools_nothing_new_is_hidden() -> None:
    live = folds("bash", recalls=False)
    assert (live.watch.folded, live.watch.sealed) == ([], [])
    offered = folds("bash")
    assert offered.watch.folded
    assert offered.watch.sealed
