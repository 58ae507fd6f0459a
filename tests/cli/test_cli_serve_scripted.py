"""`slicetape serve-scripted` as it is typed: addresses, replies, faults, records, and its end."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cli_run import Cli
from provider_thread import command
from slicetape.log.log import SessionLog
from story import Story, header

LIMIT_S = 20
GLOB = [{"type": "function", "function": {"name": "glob", "parameters": {}}}]


class Served:
    """The command at work."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        assert process.stdout is not None
        self.first = json.loads(process.stdout.readline())
        self.url: str = self.first["url"]

    def ask(self, text: str, path: str = "/v1/chat/completions", **more: Any) -> Any:
        """The answer to one message; the status and text of a refusal."""
        body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
        request = urllib.request.Request(
            self.url + path,
            json.dumps(body).encode(),
            {"content-type": "application/json", "authorization": "Bearer sk-secret"},
        )
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)["error"]["message"]

    def stop(self, number: int = signal.SIGINT) -> tuple[int, list[Any], str]:
        """Exit status, what was printed since, and what went to stderr."""
        self._process.send_signal(number)
        out, err = self._process.communicate(timeout=LIMIT_S)
        return self._process.returncode, [json.loads(line) for line in out.splitlines()], err


@contextmanager
def serving(home: Path, *words: str) -> Iterator[Served]:
    process = subprocess.Popen(
        command("serve-scripted", "--json", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "SLICETAPE_HOME": str(home)},
        text=True,
    )
    try:
        yield Served(process)
    finally:
        process.kill()
        process.communicate()


def said(answer: Any) -> str:
    text: str = answer["choices"][0]["message"]["content"]
    return text


def test_it_says_where_it_is_answers_and_stops(tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text('{"text": "One."}\n{"when": "who", "text": "Nobody."}\n', encoding="utf-8")
    record = tmp_path / "record.jsonl"
    with serving(tmp_path, "--script", str(script), "--record", str(record)) as served:
        assert served.first["environ"]["OPENAI_BASE_URL"] == f"{served.url}/v1"
        assert served.first["environ"]["DEEPSEEK_API_KEY"] == "scripted"
        assert [said(served.ask(text)) for text in ("Hi.", "who are you?")] == ["One.", "Nobody."]
        assert said(served.ask("Echo.")).startswith("You said: “Echo.”")
        status, rows, err = served.stop()
    assert (status, err) == (0, "")
    assert [row["type"] for row in rows] == ["request"] * 3 + ["stats"]
    assert [row["growth"] for row in rows[:3]] == ["begun"] * 3
    assert rows[-1]["requests"] == 3
    kept = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert json.loads(kept[0]["body"])["messages"] == [{"role": "user", "content": "Hi."}]
    assert "sk-secret" not in record.read_text(encoding="utf-8")


def test_requests_fail_as_told_and_are_then_answered(tmp_path: Path) -> None:
    with serving(tmp_path, "--fault", "1=429", "--fault", "2=overflow") as served:
        assert served.ask("x") == (429, "Rate limit reached: too many requests (injected)")
        status, text = served.ask("x")
        assert (status, "maximum context length" in text) == (400, True)
        assert said(served.ask("x")).startswith("You said")


def test_a_window_is_kept(tmp_path: Path) -> None:
    with serving(tmp_path, "--window", "50") as served:
        assert said(served.ask("short"))
        assert served.ask("long " * 100)[0] == 400


def test_a_session_is_said_again(tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"
    log = SessionLog.create(path, header())
    story = Story(log)
    story.start()
    story.human("hello")
    story.says("I look.", calls={"c1": ("glob", {"pattern": "*"})})
    story.result("c1", "a.py")
    story.says("There is a.py.")
    story.end()
    log.close()
    with serving(tmp_path, "--session", str(path)) as served:
        first = served.ask("hello", tools=GLOB)["choices"][0]["message"]
        assert first["tool_calls"][0]["id"] == "c1"
        assert said(served.ask("go on")) == "There is a.py."
        status, _, _ = served.stop(signal.SIGTERM)
    assert status == 0


def test_people_get_lines_to_copy_and_one_line_a_request(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("serve-scripted"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "SLICETAPE_HOME": str(tmp_path)},
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[1]
        exports = [process.stdout.readline().strip() for _ in range(6)]
        assert f"export DEEPSEEK_BASE_URL={url}" in exports
        assert f"export ANTHROPIC_BASE_URL={url}" in exports
        ran = subprocess.run(
            [*command("run", "-m", "anthropic:any", "Say something.")],
            env={**os.environ, "SLICETAPE_HOME": str(tmp_path), **_environ(exports)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
        process.communicate()
    lines = err.splitlines()
    assert lines[0].startswith("1 /v1/messages 200 sent ")
    assert lines[-1].startswith("requests ")
    assert lines[-1].endswith("prefix breaks 0")


def _environ(exports: list[str]) -> dict[str, str]:
    pairs = (line.removeprefix("export ").partition("=") for line in exports)
    return {name: value for name, _, value in pairs}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--script", "none.jsonl"], "none.jsonl"),
        (["--fault", "1=odd"], "'1=odd' is no fault; write N=KIND, KIND of overflow, empty"),
        (["--session", "none"], "none"),
        (["--script", "a", "--session", "b"], "--script and --session both say what is replied"),
        (["--tokens", "odd"], "no token counter 'odd'"),
        (["--cache", "odd"], "no cache rules 'odd'"),
        (["--port", "99999"], "99999"),
    ],
)
def test_bad_options_are_told_at_once(cli: Cli, words: list[str], says: str) -> None:
    ran = cli("serve-scripted", *words)
    assert ran.code in (1, 2)
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_a_session_without_answers_is_told(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "session.v3.jsonl"
    log = SessionLog.create(path, header())
    story = Story(log)
    story.start()
    story.human("hello")
    log.close()
    ran = cli("serve-scripted", "--session", str(path))
    assert ran.code == 2
    assert "nothing was answered in this session" in ran.err


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        port = served.url.rpartition(":")[2]
        ran = subprocess.run(
            command("serve-scripted", "--port", port),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    assert ran.returncode == 2
    assert ran.stderr == (
        f"error: port {port} of 127.0.0.1: Address already in use; choose another, or 0 for any\n"
    )


def test_help_shows_an_example() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "slicetape.cli", "serve-scripted", "--help"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert "slicetape serve-scripted --port 8799" in ran.stdout
