"""`slicetape chat` behind a pseudo-terminal: talk, stop, steer, undo, resume."""

import json
import subprocess
from pathlib import Path

from provider_thread import Asked, ProviderThread, Reply, Terminal, command
from slicetape.log.store import Store

MODEL = "deepseek:scripted"
CTRL_C, CTRL_D = b"\x03", b"\x04"


def bash(text: str) -> tuple[Asked, ...]:
    return (Asked("bash", {"command": text, "description": "test"}),)


def opened(serving: ProviderThread, tmp_path: Path, *words: str) -> Terminal:
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    environ = serving.environ(tmp_path / "home")
    terminal = Terminal(command("chat", "-m", MODEL, *words), environ, folder)
    terminal.wait_for("/help")
    return terminal


def test_a_person_talks_allows_a_command_and_leaves(tmp_path: Path) -> None:
    replies = [
        Reply(text="I count.", tools=bash("seq 1 3000")),
        Reply(text="Counted to three thousand."),
    ]
    with ProviderThread(replies) as serving:
        terminal = opened(serving, tmp_path)
        terminal.type("Count, please.")
        terminal.wait_for("[y]es")
        terminal.type("y")
        terminal.wait_for("folded")
        terminal.wait_for("Counted to three thousand.")
        terminal.type("/context")
        terminal.wait_for("results, folded")
        terminal.type("/cost")
        terminal.wait_for("in total")
        terminal.press(CTRL_D)
        assert terminal.end() == 0
        assert len(serving.bodies) == 2


def test_a_no_reaches_the_model_with_its_reason(tmp_path: Path) -> None:
    with ProviderThread([Reply(tools=bash("rm -rf x")), Reply(text="I leave it.")]) as serving:
        terminal = opened(serving, tmp_path)
        terminal.type("Tidy up.")
        terminal.wait_for("[y]es")
        terminal.type("n keep those files")
        terminal.wait_for("I leave it.")
        terminal.press(CTRL_D)
        terminal.end()
        assert "keep those files" in json.dumps(serving.bodies[1]["messages"][-1])


def test_ctrl_c_stops_the_turn_and_twice_leaves(tmp_path: Path) -> None:
    with ProviderThread([Reply(tools=bash("sleep 30")), Reply(text="Here I am.")]) as serving:
        terminal = opened(serving, tmp_path, "--permission", "workspace")
        terminal.type("Sleep.")
        terminal.wait_for("● bash")
        terminal.press(CTRL_C)
        terminal.wait_for("stopped by the user")
        terminal.type("Still there?")
        terminal.wait_for("Here I am.")
        terminal.press(CTRL_C)
        terminal.wait_for("again leaves")
        terminal.press(CTRL_C)
        assert terminal.end() == 0


def test_what_is_typed_while_it_works_joins_the_next_step(tmp_path: Path) -> None:
    with ProviderThread([Reply(tools=bash("sleep 1")), Reply(text="Both seen.")]) as serving:
        terminal = opened(serving, tmp_path, "--permission", "workspace")
        terminal.type("Begin.")
        terminal.wait_for("● bash")
        terminal.type("And mind the tests.")
        terminal.wait_for("joins the next step")
        terminal.wait_for("Both seen.")
        terminal.press(CTRL_D)
        terminal.end()
        assert "And mind the tests." in json.dumps(serving.bodies[1])


def test_the_last_turn_is_undone_in_a_new_session(tmp_path: Path) -> None:
    with ProviderThread([Reply(text="One."), Reply(text="Two."), Reply(text="Three.")]) as serving:
        terminal = opened(serving, tmp_path)
        terminal.type("First.")
        terminal.wait_for("One.")
        terminal.type("Second.")
        terminal.wait_for("Two.")
        terminal.type("/undo")
        terminal.wait_for("is undone")
        terminal.type("Third.")
        terminal.wait_for("Three.")
        terminal.press(CTRL_D)
        assert terminal.end() == 0
        said = [m["content"] for m in serving.bodies[2]["messages"] if m["role"] == "user"]
        assert "First." in said
        assert "Second." not in said
        assert len(list(Store(tmp_path / "home").sessions())) == 2


def test_resume_goes_on_where_the_other_process_stopped(tmp_path: Path) -> None:
    with ProviderThread([Reply(text="One."), Reply(text="Two.")]) as serving:
        first = opened(serving, tmp_path)
        first.type("First.")
        first.wait_for("One.")
        first.press(CTRL_D)
        first.end()
        second = opened(serving, tmp_path, "--resume")
        second.type("Second.")
        second.wait_for("Two.")
        second.press(CTRL_D)
        assert second.end() == 0
        assert "First." in json.dumps(serving.bodies[1])


def test_on_a_pipe_each_line_is_a_message_and_commands_work(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    with ProviderThread([Reply(text="Hello."), Reply(text="Bye.")]) as serving:
        done = subprocess.run(
            command("chat", "-m", MODEL),
            input="Hello?\n/tape\n/bogus\nBye?\n",
            env=serving.environ(tmp_path / "home"),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert shown[0] == "Hello."
    assert "no command /bogus; /help lists them" in shown
    assert shown[-1] == "Bye."
