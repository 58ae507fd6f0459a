"""The program run in this process, with streams like those of a shell."""

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slicetape.cli.program import run
from slicetape.log.log import SessionLog
from story import Story, header


class Stream(io.TextIOWrapper):
    """A stream in memory that may claim to be a terminal."""

    terminal = False

    def isatty(self) -> bool:
        return self.terminal


@dataclass(frozen=True)
class Ran:
    """What a command left: exit status and both streams."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self.raw.splitlines()]


class Cli:
    """Runs commands against a home of its own."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("SLICETAPE_HOME", str(home))
        monkeypatch.setenv("PAGER", "cat")
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("TZ", "UTC")

    def __call__(self, *arguments: str | Path, terminal: bool = False) -> Ran:
        out, err = Stream(io.BytesIO(), encoding="utf-8"), Stream(io.BytesIO(), encoding="utf-8")
        out.terminal = err.terminal = terminal
        with self._monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = run([str(argument) for argument in arguments])
            out.flush()
            err.flush()
        return Ran(code, out.buffer.getvalue(), err.buffer.getvalue().decode())  # type: ignore[attr-defined]

    def fails(self, *arguments: str | Path, code: int = 1) -> str:
        """What stderr says of a command that must fail in at most three lines, no traceback."""
        ran = self(*arguments)
        assert ran.code == code, ran
        assert "Traceback" not in ran.err
        told = [line for line in ran.err.splitlines() if not line.startswith("warning: ")]
        assert told[0].startswith("error: "), ran.err
        assert len(told) <= 3, ran.err
        return "\n".join([*told, ""])


def told(path: Path, tell: Callable[[Story], object], *, id: str = "story", **more: Any) -> Path:
    """A log at `path` of the session that `tell` tells."""
    head = msgspec.structs.replace(header(id), **more)
    with SessionLog.create(path, head) as log:
        tell(Story(log))
    return path


def two_turns(story: Story) -> None:
    """A turn that reads a file, and a short one."""
    story.start()
    story.human("Read the notes\nplease")
    story.step_start()
    story.says(
        "I read them.", calls={"c1": ("read", {"file_path": "notes.md"})}, thinks="hmm", step=1
    )
    story.result("c1", "\n".join(f"line {n} of the notes" for n in range(1, 31)))
    story.step_end()
    story.step_start()
    story.says("They are thirty lines.", step=2)
    story.step_end()
    story.end()
    story.start()
    story.human("And now 连接失败?")
    story.step_start()
    story.says("Nothing new.", step=1)
    story.step_end()
    story.end("aborted")


def sealed(story: Story) -> None:
    """Two turns, the first of them sealed into an entry when the second began."""
    story.start()
    story.human("one")
    story.step_start()
    first = story.says(calls={"c1": ("read", {"file_path": "a"})}, step=1)
    last = story.result("c1", "text of a\n" * 40)
    story.step_end()
    story.end()
    story.start()
    text = "[slice tape v1 · turns 1-1 · 1 turn(s) sealed]\n[assistant turn 1] (calls only)"
    story.old_entry(first, last, text)
    story.human("two")
    story.step_start()
    story.says("done", step=1)
    story.step_end()
    story.end()


CLAUDE = (
    {
        "type": "user",
        "uuid": "u1",
        "sessionId": "s",
        "timestamp": "2026-01-02T03:04:05.000Z",
        "cwd": "/proj",
        "message": {"role": "user", "content": "fix the retry policy"},
    },
    {
        "type": "assistant",
        "uuid": "u2",
        "sessionId": "s",
        "timestamp": "2026-01-02T03:04:06.000Z",
        "message": {
            "id": "m1",
            "role": "assistant",
            "model": "claude",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.py"}},
            ],
        },
    },
    {
        "type": "user",
        "uuid": "u3",
        "sessionId": "s",
        "timestamp": "2026-01-02T03:04:07.000Z",
        "message": {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "retry = 3"},
            ],
        },
    },
)


def transcript(path: Path, *more: dict[str, Any]) -> Path:
    """A small Claude Code transcript."""
    path.write_text("".join(json.dumps(row) + "\n" for row in (*CLAUDE, *more)), encoding="utf-8")
    return path
