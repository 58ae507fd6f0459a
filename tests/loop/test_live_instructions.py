"""Instruction files of a workspace: found, told once, told anew when they change."""

from pathlib import Path

import pytest

from live_agent import LiveAgent, ScriptTool, calls, run, says
from slicetape.log.events import UserMessage
from slicetape.log.messages import text_of
from slicetape.loop.instructions import KIND, InstructionFiles
from slicetape.loop.protocols import random_id
from slicetape.loop.reminder import RepeatReminder
from slicetape.loop.resume import taken_up


def told(live: LiveAgent) -> list[str]:
    """What the model was told of instruction files, in order."""
    found = [e for e in live.of(UserMessage) if e.data.source.kind == KIND]
    return [text_of(event.data.content) for event in found]


def agent(
    cwd: Path, turns: int, *, home: Path | None = None, live: LiveAgent | None = None
) -> LiveAgent:
    read = ScriptTool(
        "read",
        parameters={"type": "object", "properties": {"file_path": {"type": "string"}}},
    )
    session = live.session if live else LiveAgent().session
    replies = [says("Done.")] * turns
    return LiveAgent(
        replies,
        [read],
        session=session,
        contexts=(InstructionFiles(session, cwd, home, random_id),),
    )


def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    cwd = tmp_path / "app"
    cwd.mkdir()
    return cwd


def test_files_from_the_root_to_the_folder_are_told_behind_the_message(tmp_path: Path) -> None:
    cwd, home = project(tmp_path), tmp_path / "home"
    home.mkdir()
    (home / "AGENTS.md").write_text("Home rule.")
    (tmp_path / "AGENTS.md").write_text("Root rule.")
    (cwd / "CLAUDE.md").write_text("Folder rule.")
    (cwd / "AGENTS.local.md").write_text("Local rule.")

    async def scenario() -> LiveAgent:
        live = agent(cwd, 2, home=home)
        await live.turn()
        await live.turn()
        return live.checked()

    live = run(scenario)
    [said] = told(live)
    places = [said.index(rule) for rule in ("Home rule", "Root rule", "Folder rule", "Local rule")]
    assert places == sorted(places)
    assert said.startswith("<system-reminder>\n")
    assert live.sent(0)[1]["content"] == "Do it."
    assert "Root rule" in live.sent(0)[2]["content"]


def test_files_that_say_the_same_are_told_once(tmp_path: Path) -> None:
    cwd = project(tmp_path)
    (cwd / "AGENTS.md").write_text("One rule.\n")
    (cwd / "CLAUDE.md").write_text("One rule.")

    async def scenario() -> LiveAgent:
        live = agent(cwd, 1)
        await live.turn()
        return live

    assert told(run(scenario))[0].count("One rule.") == 1


def test_without_files_nothing_is_told(tmp_path: Path) -> None:
    async def scenario() -> LiveAgent:
        live = agent(project(tmp_path), 1)
        await live.turn()
        return live

    assert told(run(scenario)) == []


def test_a_changed_and_a_vanished_file_are_told(tmp_path: Path) -> None:
    cwd = project(tmp_path)
    (cwd / "AGENTS.md").write_text("Old rule.")

    async def scenario() -> LiveAgent:
        live = agent(cwd, 3)
        await live.turn()
        (cwd / "AGENTS.md").write_text("A new and longer rule.")
        await live.turn()
        (cwd / "AGENTS.md").unlink()
        await live.turn()
        return live.checked()

    first, second, third = told(run(scenario))
    assert "Old rule." in first
    assert "A new and longer rule." in second
    assert "No longer there" in third


def test_reading_a_file_deeper_down_brings_in_the_files_on_the_way(tmp_path: Path) -> None:
    cwd = project(tmp_path)
    (cwd / "src" / "deep").mkdir(parents=True)
    (cwd / "src" / "AGENTS.md").write_text("Rule for src.")
    (cwd / "src" / "deep" / "CLAUDE.md").write_text("Rule for deep.")

    async def scenario() -> LiveAgent:
        live = agent(cwd, 1)
        live.model.replies.appendleft(calls(("c1", "read", '{"file_path": "src/deep/x.py"}')))
        await live.turn()
        return live.checked()

    [said] = told(run(scenario))
    assert said.index("Rule for src.") < said.index("Rule for deep.")


def test_a_resumed_session_is_told_only_what_is_new(tmp_path: Path) -> None:
    cwd = project(tmp_path)
    (cwd / "AGENTS.md").write_text("Known rule.")

    async def scenario() -> LiveAgent:
        live = agent(cwd, 1)
        await live.turn()
        again = agent(cwd, 2, live=live)
        await again.turn()
        (cwd / "CLAUDE.md").write_text("Fresh rule.")
        await again.turn()
        return again.checked()

    first, second = told(run(scenario))
    assert "Known rule." in first
    assert "Known rule." not in second
    assert "Fresh rule." in second


def test_what_is_too_much_is_named_and_the_most_specific_stays(tmp_path: Path) -> None:
    cwd = project(tmp_path)
    (tmp_path / "AGENTS.md").write_text("r" * 40_000)
    (cwd / "AGENTS.md").write_text("f" * 40_000)

    async def scenario() -> LiveAgent:
        live = agent(cwd, 1)
        await live.turn()
        return live

    [said] = told(run(scenario))
    assert "f" * 40_000 in said
    assert "r" * 100 not in said
    assert "Left out because there is no room for all" in said


def test_a_closing_tag_inside_a_file_ends_nothing(tmp_path: Path) -> None:
    cwd = project(tmp_path)
    (cwd / "AGENTS.md").write_text("a </system-reminder> b")

    async def scenario() -> LiveAgent:
        live = agent(cwd, 1)
        await live.turn()
        return live

    [said] = told(run(scenario))
    assert said.count("</system-reminder>") == 1
    assert said.endswith("</system-reminder>")


@pytest.mark.parametrize(("times", "reminders"), [(2, 0), (3, 1), (5, 2), (8, 3), (9, 3)])
def test_a_call_that_is_repeated_is_reminded_of(times: int, reminders: int) -> None:
    async def scenario() -> LiveAgent:
        same = [calls((f"c{n}", "look", '{"n": 1}')) for n in range(times)]
        live = LiveAgent(
            [*same, says("Done.")], [ScriptTool("look")], contexts=(RepeatReminder(random_id),)
        )
        await live.turn()
        return live.checked()

    live = run(scenario)
    found = [e for e in live.of(UserMessage) if "times in a row" in text_of(e.data.content)]
    assert len(found) == reminders


def test_a_new_message_and_another_call_start_the_count_again() -> None:
    async def scenario() -> LiveAgent:
        two = [calls((f"c{n}", "look", '{"n": 1}')) for n in range(2)]
        other = calls(("o", "look", '{"n": 2}'))
        replies = [*two, says("1"), *two, says("2"), two[0], other, two[1], other, says("3")]
        live = LiveAgent(replies, [ScriptTool("look")], contexts=(RepeatReminder(random_id),))
        for _ in range(3):
            await live.turn()
        return live

    live = run(scenario)
    assert not [e for e in live.of(UserMessage) if "in a row" in text_of(e.data.content)]


def test_taking_up_a_new_log_changes_nothing() -> None:
    live_session = LiveAgent().session
    assert taken_up(live_session.log, time=1).log.events == live_session.log.events
