"""bash, its sandbox, and who may do what without asking."""

import asyncio
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from slicetape.loop.protocols import Call
from slicetape.tools.bash import BashTool
from slicetape.tools.permission import NOBODY, Permissions
from slicetape.tools.sandbox import Sandbox
from slicetape.tools.workspace import Workspace
from tool_calls import CALL, Folder


def is_gone(group: int) -> bool:
    """Whether a process group ends; who was killed stands in the table until init has seen it."""
    for _ in range(1_000):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def bash(tmp_path: Path, command: str, **more: Any) -> str:
    folder = Folder(tmp_path)
    return folder.call(BashTool(folder.workspace), command=command, description="test", **more)


SAID = {
    "echo out": "out\n",
    "printf out": "out",
    "true": "(no output)",
    "exit 3": "[exit code: 3]",
    "echo out; echo err >&2; exit 3": "out\n[stderr]\nerr\n[exit code: 3]",
    "printf a; printf b >&2": "a\n[stderr]\nb",
    "kill -9 $$": "[killed by signal: SIGKILL]",
    "cat": "(no output)",
    "printf 'caf\\351'": "caf\ufffd",
    "printf 'a\\000b'": "[3 bytes that are no text]\n",
    "pwd | tail -c 5": "work\n",
}


@pytest.mark.parametrize("command", SAID)
def test_what_a_command_prints_and_how_it_ends(command: str, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    assert bash(tmp_path / "work", command) == SAID[command]


def test_a_limit_ends_the_whole_group(tmp_path: Path) -> None:
    text = bash(tmp_path, "echo begun; (sleep 30; touch late) & sleep 30", timeoutMs=200)
    assert text == "begun\n[timed out after 200ms]"
    assert not (tmp_path / "late").exists()


def test_what_runs_on_in_the_background_does_not_hold_the_call(tmp_path: Path) -> None:
    start = time.monotonic()
    assert bash(tmp_path, "(sleep 20; echo late) & echo now") == "now\n"
    assert time.monotonic() - start < 5


def test_large_outputs_come_through_whole(tmp_path: Path) -> None:
    text = bash(tmp_path, "head -c 50000000 /dev/zero | tr '\\0' 'x'")
    assert len(text) == 50_000_000


def test_keys_of_providers_are_not_passed_on(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "secret")
    assert "secret" not in bash(tmp_path, "env")
    assert "TERM=dumb" in bash(tmp_path, "env")


def test_another_folder_is_confined_as_paths_are(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    assert bash(tmp_path, "pwd", workdir="in") == f"{tmp_path}/in\n"
    assert "outside the workspace" in bash(tmp_path, "pwd", workdir="..")
    assert "no folder" in bash(tmp_path, "pwd", workdir="absent")


def test_a_cancelled_command_is_gone_with_its_children(tmp_path: Path) -> None:
    tool = BashTool(Workspace(tmp_path))
    arguments = {"command": "echo $$ > pid; sleep 30 & wait", "description": "test"}

    async def scenario() -> None:
        task = asyncio.ensure_future(tool.run(arguments, CALL))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_command_with_a_nul_is_told(tmp_path: Path) -> None:
    assert bash(tmp_path, "echo a\0b").startswith("Error: the command could not be started")


class TestSandbox:
    def confined(self, tmp_path: Path, command: str, sandbox: Sandbox) -> Folder:
        folder = Folder(tmp_path)
        folder.call(BashTool(folder.workspace, sandbox), command=command, description="test")
        return folder

    def test_without_bubblewrap_nothing_is_run(self, tmp_path: Path) -> None:
        folder = self.confined(tmp_path, "touch ran", Sandbox(program="no-such-program"))
        assert folder.code == "SANDBOX_UNAVAILABLE"
        assert not (tmp_path / "ran").exists()

    def test_with_one_that_does_not_work_nothing_is_run(self, tmp_path: Path) -> None:
        folder = self.confined(tmp_path, "touch ran", Sandbox(program="false"))
        assert folder.code == "SANDBOX_UNAVAILABLE"
        assert not (tmp_path / "ran").exists()

    @pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
    def test_only_the_workspace_can_be_changed(self, tmp_path: Path) -> None:
        inside = tmp_path / "in"
        inside.mkdir()
        folder = self.confined(inside, "touch here; touch ../there; ls", Sandbox())
        if folder.code == "SANDBOX_UNAVAILABLE":
            pytest.skip("bubblewrap does not work on this machine")
        assert (inside / "here").exists()
        assert not (tmp_path / "there").exists()


class TestPermission:
    def asked(self, permissions: Permissions, name: str, **arguments: Any) -> str | None:
        call = Call(turn=1, step=1, call_id="c", name=name, raw="{}")
        return asyncio.run(permissions.ask(call, arguments))

    def answering(self, *answers: tuple[str, str]) -> tuple[Permissions, list[str]]:
        left, questions = list(answers), list[str]()

        async def ask(tool: str, about: str) -> Any:
            questions.append(f"{tool} {about}")
            return left.pop(0)

        return Permissions("ask", ask), questions

    @pytest.mark.parametrize("policy", ["workspace", "all"])
    @pytest.mark.parametrize("name", ["read", "write", "edit", "bash", "recall_turn"])
    def test_without_asking_everything_goes(self, policy: Any, name: str) -> None:
        assert self.asked(Permissions(policy), name, command="x", file_path="y") is None

    @pytest.mark.parametrize("name", ["read", "grep", "glob", "recall_search"])
    def test_looking_is_never_asked_for(self, name: str) -> None:
        permissions, questions = self.answering()
        assert self.asked(permissions, name) is None
        assert questions == []

    def test_a_yes_counts_once_and_an_always_for_the_tool(self) -> None:
        permissions, questions = self.answering(("once", ""), ("always", ""))
        for _ in range(4):
            assert self.asked(permissions, "write", file_path="a") is None
        assert len(questions) == 2

    def test_an_always_for_a_command_counts_for_its_first_word(self) -> None:
        permissions, questions = self.answering(("always", ""), ("no", "not that"))
        assert self.asked(permissions, "bash", command="git status") is None
        assert self.asked(permissions, "bash", command="git log") is None
        said = self.asked(permissions, "bash", command="rm x")
        assert said == "the user does not allow this: not that"
        assert len(questions) == 2

    @pytest.mark.parametrize("sign", [";", "&&", "|", "`x`", "$(x)", ">", "<", "\n", "("])
    def test_an_always_never_covers_more_than_one_command(self, sign: str) -> None:
        permissions, questions = self.answering(("always", ""), ("no", ""))
        self.asked(permissions, "bash", command="git status")
        assert self.asked(permissions, "bash", command=f"git status {sign} rm -rf x") is not None
        assert len(questions) == 2

    def test_with_nobody_to_ask_the_answer_is_no(self) -> None:
        assert self.asked(Permissions("ask"), "bash", command="ls") == NOBODY
