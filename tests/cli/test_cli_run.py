"""`slicetape run`: one prompt over HTTP, its exit status, and going on with a session."""

import base64
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from provider_thread import Asked, ProviderThread, Reply, command
from slicetape.log.store import Store
from slicetape.wire.lint_wire import lint_chat, lint_messages

CHAT, MESSAGES = "deepseek:scripted", "anthropic:scripted"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SPECS = pytest.mark.parametrize("spec", [CHAT, MESSAGES], ids=["chat", "messages"])


def run(
    serving: ProviderThread, tmp_path: Path, *words: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        command("run", *words),
        input=stdin,
        env=serving.environ(tmp_path / "home"),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def bash(text: str) -> tuple[Asked, ...]:
    return (Asked("bash", {"command": text, "description": "test"}),)


@SPECS
def test_a_prompt_is_worked_on_with_tools_and_answered(spec: str, tmp_path: Path) -> None:
    replies = [
        Reply(text="I look.", reasoning="Let me see.", tools=bash("echo found it")),
        Reply(text="It is found."),
    ]
    with ProviderThread(replies) as serving:
        done = run(serving, tmp_path, "Find it.", "-m", spec)
        assert (done.returncode, done.stdout) == (0, "I look.\nIt is found.\n"), done.stderr
        assert "found it" in json.dumps(serving.bodies[1])
        for received in serving.provider.received:
            lint = lint_chat if spec == CHAT else lint_messages
            assert lint(received.body) == []


@SPECS
def test_resume_goes_on_with_the_last_session_of_the_directory(spec: str, tmp_path: Path) -> None:
    replies = [Reply(tools=bash("seq 1 4000")), Reply(text="Seen."), Reply(text="As I said.")]
    with ProviderThread(replies) as serving:
        run(serving, tmp_path, "Count.", "-m", spec)
        done = run(serving, tmp_path, "Again?", "--resume", "-m", spec)
        assert done.returncode == 0, done.stderr
        assert "Count." in json.dumps(serving.bodies[2])
        assert len(list(Store(tmp_path / "home").sessions())) == 1


def test_json_prints_each_event_and_a_summary(tmp_path: Path) -> None:
    with ProviderThread([Reply(text="Hello.")]) as serving:
        done = run(serving, tmp_path, "Hello?", "--json", "-m", CHAT)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["seq"] for row in rows[:-1]] == list(range(len(rows) - 1))
    assert rows[-1]["type"] == "run/end"
    assert rows[-1]["reason"] == "completed"
    assert rows[-1]["input_tokens"] > 0


def test_what_comes_through_a_pipe_stands_behind_the_prompt(tmp_path: Path) -> None:
    with ProviderThread([Reply(text="Read.")]) as serving:
        run(serving, tmp_path, "Review this.", "-m", CHAT, stdin="a diff\n")
        said = [m["content"] for m in serving.bodies[0]["messages"]]
    assert "Review this.\n\na diff" in said


FAILURES = {
    "an error of the provider": ({1: "400"}, [], 1, "injected"),
    "a full window": ({1: "overflow"}, [], 1, "maximum context length"),
    "the step limit": ({}, ["--max-steps", "1"], 3, "step limit"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_the_status_and_one_sentence_tell_how_it_ended(case: str, tmp_path: Path) -> None:
    faults, words, status, said = FAILURES[case]
    with ProviderThread([Reply(tools=bash("true"))], faults) as serving:
        done = run(serving, tmp_path, "Go.", "-m", CHAT, *words)
    assert done.returncode == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_cut_answer_ends_with_status_4(tmp_path: Path) -> None:
    with ProviderThread([Reply(text="Half of", finish="length")]) as serving:
        assert run(serving, tmp_path, "Go.", "-m", CHAT).returncode == 4


def test_what_can_be_tried_again_is(tmp_path: Path) -> None:
    with ProviderThread([Reply(text="At last.")], {1: "cut"}) as serving:
        done = run(serving, tmp_path, "Go.", "-m", CHAT)
        assert len(serving.provider.received) == 2
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("At last.\n")


def test_interrupting_ends_the_turn_and_keeps_the_session_valid(tmp_path: Path) -> None:
    with ProviderThread([Reply(tools=bash("sleep 30")), Reply(text="Better now.")]) as serving:
        folder = tmp_path / "work"
        folder.mkdir()
        process = subprocess.Popen(
            command("run", "Sleep.", "-m", CHAT),
            env=serving.environ(tmp_path / "home"),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        wait_until(lambda: _called(tmp_path / "home"))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert process.returncode == 130
        done = run(serving, tmp_path, "And now?", "--resume", "-m", CHAT)
        assert (done.returncode, done.stdout) == (0, "Better now.\n"), done.stderr


def test_a_second_writer_is_told_who_is_first(tmp_path: Path) -> None:
    with ProviderThread([Reply(text="One."), Reply(text="Two.")]) as serving:
        run(serving, tmp_path, "First.", "-m", CHAT)
        store = Store(tmp_path / "home")
        [row] = store.sessions()
        with store.open(row.id):
            done = run(serving, tmp_path, "Second.", "--resume", "-m", CHAT)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_an_earlier_session_can_be_recalled_from(tmp_path: Path) -> None:
    replies = [
        Reply(text="The password is heliotrope."),
        Reply(tools=(Asked("recall_search", {"query": "password", "session": "yesterday"}),)),
        Reply(text="It was heliotrope."),
    ]
    with ProviderThread(replies) as serving:
        run(serving, tmp_path, "Remember it.", "-m", CHAT)
        [row] = Store(tmp_path / "home").sessions()
        asked = Asked("recall_search", {"query": "password", "session": row.id})
        serving.provider.script.replies[0] = Reply(tools=(asked,))
        done = run(serving, tmp_path, "What was it?", "--after", row.id, "-m", CHAT)
        assert done.returncode == 0, done.stderr
        assert "heliotrope" in json.dumps(serving.bodies[2]["messages"][-1])
        assert len(list(Store(tmp_path / "home").sessions())) == 2


@SPECS
def test_a_picture_goes_along_and_stays_in_its_place(spec: str, tmp_path: Path) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(PNG)
    replies = [Reply(text="A dot.", tools=bash("seq 1 900")), Reply(text="Yes."), Reply(text="No.")]
    with ProviderThread(replies) as serving:
        run(serving, tmp_path, "What is this?", "--image", str(picture), "-m", spec)
        picture.unlink()
        done = run(serving, tmp_path, "And now?", "--resume", "-m", spec)
        assert done.returncode == 0, done.stderr
        data = base64.b64encode(PNG).decode()
        assert [json.dumps(body).count(data) for body in serving.bodies] == [1, 1, 1]


def test_a_file_that_is_no_picture_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no picture", encoding="utf-8")
    with ProviderThread([]) as serving:
        done = run(serving, tmp_path, "What is this?", "--image", str(text), "-m", CHAT)
        assert done.returncode == 2
        assert serving.provider.received == []


def test_without_a_model_it_says_what_to_set(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    done = subprocess.run(
        command("run", "Hello."),
        env={"PATH": "/usr/bin:/bin", "SLICETAPE_HOME": str(tmp_path)},
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 1
    assert "--model" in done.stderr
    assert "DEEPSEEK_API_KEY" in done.stderr


def test_no_prompt_is_wrong_usage(tmp_path: Path) -> None:
    with ProviderThread([]) as serving:
        assert run(serving, tmp_path, "-m", CHAT).returncode == 2


def wait_until(true: Any, *, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _called(home: Path) -> bool:
    logs = [row.log for row in Store(home).sessions()]
    return any(b'"tool/call"' in log.read_bytes() for log in logs)


def test_verify_sees_a_picture_that_was_changed_beside_its_log(tmp_path: Path) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(PNG)

    def verified(serving: ProviderThread) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command("verify", "--all"),
            env=serving.environ(tmp_path / "home"),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    with ProviderThread([Reply(text="A dot.")]) as serving:
        run(serving, tmp_path, "What is this?", "--image", str(picture), "-m", CHAT)
        assert verified(serving).returncode == 0
        [kept] = (tmp_path / "home").rglob("attachments/*")
        kept.write_bytes(PNG[:-1] + b"?")
        done = verified(serving)
    assert done.returncode == 1
    assert "was changed; restore it from a copy" in done.stdout
