"""Programs that search: what they print, within limits; none outlives the call that started it."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from slicetape.loop.protocols import Output

MOST_RAW = 20 * 1_024 * 1_024


class Failed(Exception):
    """A search that gave nothing that counts."""

    def __init__(self, text: str, code: str) -> None:
        super().__init__(text)
        self.output = Output.failure(text, name="SearchError", code=code)


async def printed_lines(
    argv: Sequence[str], folder: Path, asked: bytes, *, ended: tuple[int, ...]
) -> AsyncGenerator[bytes, None]:
    """The lines a program prints. Failed for a bad pattern, for more than 20 MB, for a bad end."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=MOST_RAW,
        )
    except OSError as error:
        raise Failed(f"the search could not start: {error}", "SEARCH_FAILED") from None
    assert process.stdin
    assert process.stdout
    assert process.stderr
    try:
        process.stdin.write(asked)
        with contextlib.suppress(ConnectionError):
            await process.stdin.drain()
        process.stdin.close()
        size = 0
        async for line in process.stdout:
            size += len(line)
            if size > MOST_RAW:
                text = "more than 20 MB of matches: narrow path or pattern"
                raise Failed(text, "SEARCH_RAW_OUTPUT_OVERFLOW")
            yield line
        complaint = (await process.stderr.read()).decode("utf-8", "replace")
        status = await process.wait()
        if status not in ended:
            text = f"the search ended with status {status}: {' '.join(complaint.split())[-200:]}"
            raise Failed(text, "SEARCH_FAILED")
        if status == 2 and complaint.strip():
            text = f"invalid pattern: {' '.join(complaint.split())[:300]}"
            raise Failed(text, "SEARCH_INVALID_PATTERN")
    except ValueError:
        raise Failed("a matching line is longer than 20 MB", "SEARCH_RAW_OUTPUT_OVERFLOW") from None
    finally:
        await _ended(process)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Leave nothing of a program behind."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def printed_names(argv: Sequence[str], folder: Path) -> list[str] | None:
    """The names a program prints, each ended by NUL; None when it cannot."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        out, _ = await process.communicate()
    finally:
        await _ended(process)
    if process.returncode:
        return None
    return [name for name in out.decode("utf-8", "surrogateescape").split("\0") if name]
