"""`bash`: run a command in a process group of its own, within a time limit.

Output is kept whole up to 64 MiB for each stream; large results leave the log later and come back
through recall. Keys of providers are taken out of the environment.
"""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from slicetape.loop.protocols import Call, Output
from slicetape.tools.sandbox import Sandbox
from slicetape.tools.workspace import Place, Refused, Workspace, quoted

DEFAULT_MS = 60_000
MOST_MS = 600_000
MOST_BYTES = 64 * 1_024 * 1_024
GRACE_S = 2.0
_QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "NO_COLOR": "1"}


@dataclass(frozen=True, slots=True)
class BashTool:
    """Runs shell commands in a workspace; with `sandbox`, only confined ones."""

    workspace: Workspace
    sandbox: Sandbox | None = None
    default_ms: int = DEFAULT_MS
    name: str = "bash"
    description: str = (
        "Run a command with bash. timeoutMs: 60000 unless given, at most 600000. Standard input "
        "is empty; nothing keeps running after the call."
    )
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "description": {"type": "string"},
                "timeoutMs": {"type": "number"},
                "workdir": {"type": "string"},
            },
            "required": ["command", "description"],
        }
    )

    def parallel(self, arguments: Mapping[str, Any]) -> bool:
        """Commands go one by one."""
        return False

    async def run(self, arguments: Mapping[str, Any], call: Call) -> Output:
        """What the command printed, and how it ended."""
        try:
            folder = _folder(self.workspace, str(arguments.get("workdir") or "."))
            argv: Sequence[str] = ["bash", "-c", arguments["command"]]
            if self.sandbox is not None:
                argv = await self.sandbox.around(argv, self.workspace, folder.real)
        except Refused as refused:
            return refused.output
        limit = min(float(arguments.get("timeoutMs") or self.default_ms), MOST_MS)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                ended = await _run(argv, str(folder.real), limit, (out, err))
            except (OSError, ValueError) as error:
                return Output.failure(f"the command could not be started: {error}")
            return Output.of(_told(out, err, ended))


def _folder(workspace: Workspace, asked: str) -> Place:
    folder = workspace.place(asked, verb="work in")
    if not folder.real.is_dir():
        raise Refused(f"cannot work in {quoted(folder.shown)}: no folder", "FS_NOT_FOUND")
    return folder


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a command ended: its exit code (negative: a signal), or the limit it ran into."""

    code: int
    timed_out_ms: float | None = None


async def _run(
    argv: Sequence[str], folder: str, limit_ms: float, streams: tuple[IO[bytes], IO[bytes]]
) -> _Ended:
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=streams[0],
        stderr=streams[1],
        env=_environment(),
        start_new_session=True,
    )
    try:
        code = await asyncio.wait_for(process.wait(), limit_ms / 1_000)
    except TimeoutError:
        await _stop(process)
        return _Ended(process.returncode or 0, limit_ms)
    except BaseException:
        await asyncio.shield(asyncio.ensure_future(_stop(process)))
        raise
    _signal(process.pid, signal.SIGKILL)  # what it left behind in its group
    return _Ended(code)


async def _stop(process: asyncio.subprocess.Process) -> None:
    _signal(process.pid, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), GRACE_S)
    _signal(process.pid, signal.SIGKILL)
    await process.wait()


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {**kept, **_QUIET}


def _told(out: IO[bytes], err: IO[bytes], ended: _Ended) -> str:
    printed, complained = _text(out), _text(err)
    text = printed
    if complained:
        text = _line(text) + "[stderr]\n" + complained
    marks = []
    if ended.timed_out_ms is not None:
        marks.append(f"[timed out after {ended.timed_out_ms:.0f}ms]")
    elif ended.code < 0:
        marks.append(f"[killed by signal: {_name(-ended.code)}]")
    elif ended.code:
        marks.append(f"[exit code: {ended.code}]")
    if marks:
        text = _line(text) + "\n".join(marks)
    return text or "(no output)"


def _line(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _text(stream: IO[bytes]) -> str:
    """What a stream holds; of one that is too long its end, and what is missing."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - MOST_BYTES))
    data = stream.read()
    if b"\0" in data[:8_000]:
        return f"[{size} bytes that are no text]\n"
    text = data.decode("utf-8", "replace")
    missing = size - len(data)
    return f"[the first {missing} bytes are not kept]\n{text}" if missing else text
