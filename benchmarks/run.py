"""How soon `slicetape run` speaks and asks, and the memory of a long session, as JSON.

First output: from the start of the process to its first line (`--json`, the message itself).
First byte: until the request reaches a provider on this machine, beside the time that importing
the SDK takes, which is part of it. Memory: the peak of a process that takes up a session of
50 MB and runs one turn. Medians of five runs.
"""

import json
import os
import platform
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter

RUNS = 5
FIRST_OUTPUT_S, FIRST_BYTE_S, MEMORY_MB = 0.4, 0.4, 150
MODELS = {"openai": "deepseek:scripted", "anthropic": "anthropic:scripted"}
ANSWER = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


class Door:
    """Takes one connection at a time, notes when its first byte came, and refuses it."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.came = 0.0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.recv(1)
                self.came = perf_counter()
                connection.recv(1 << 20)
                connection.sendall(ANSWER)

    def close(self) -> None:
        """Take no more."""
        self._socket.close()


def main() -> int:
    """Measure; the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        rows = {sdk: _started(sdk, spec, Path(folder)) for sdk, spec in MODELS.items()}
        memory = _memory(Path(folder))
    missed = [
        f"{sdk} {name}"
        for sdk, row in rows.items()
        for name, limit in (
            ("first_output_s", FIRST_OUTPUT_S),
            ("first_byte_s", FIRST_BYTE_S + row["sdk_import_s"]),
        )
        if row[name] > limit
    ]
    missed += ["memory"] if memory["peak_mb"] > MEMORY_MB else []
    facts = {"python": platform.python_version(), "cores": os.cpu_count()}
    print(json.dumps({**facts, **rows, "memory": memory, "missed": missed}, indent=1))
    return 1 if missed else 0


def _started(sdk: str, spec: str, folder: Path) -> dict[str, float]:
    door = Door()
    url = f"http://127.0.0.1:{door.port}"
    environ = {
        **os.environ,
        "SLICETAPE_HOME": str(folder / "home"),
        **{f"{name}_BASE_URL": url for name in ("DEEPSEEK", "ANTHROPIC")},
        **{f"{name}_API_KEY": "none" for name in ("DEEPSEEK", "ANTHROPIC")},
    }
    outputs, bytes_ = [], []
    for _ in range(RUNS):
        start = perf_counter()
        words = [sys.executable, "-m", "slicetape.cli", "run", "Hello.", "--json", "-m", spec]
        with subprocess.Popen(
            words,
            env=environ,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            outputs.append(perf_counter() - start)
            process.stdout.read()
        bytes_.append(door.came - start)
    door.close()
    return {
        "first_output_s": round(statistics.median(outputs), 3),
        "first_byte_s": round(statistics.median(bytes_), 3),
        "sdk_import_s": round(_import_time(sdk), 3),
    }


def _import_time(sdk: str) -> float:
    code = f"import time; t = time.perf_counter(); import {sdk}; print(time.perf_counter() - t)"
    words = [sys.executable, "-c", code]
    times = [float(subprocess.check_output(words)) for _ in range(RUNS)]
    return statistics.median(times)


GROW = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from loop import Instant, Look
from slicetape.log.events import Header
from slicetape.log.log import SessionLog
from slicetape.loop.agent import Agent
from slicetape.loop.prestep import Prestep
from slicetape.loop.protocols import Tools
from slicetape.loop.resume import taken_up
from slicetape.policy.fold_view import Folding
from slicetape.policy.settings import HistorySettings, Settings
from slicetape.recall.tools import Recall
from slicetape.surface import Session

path = Path(sys.argv[1])


class Long(Look):
    async def run(self, arguments, call):
        from slicetape.loop.protocols import Output
        return Output.of(f"result of {call.call_id}\\n" + "some text of a result\\n" * 300)


async def main():
    if path.exists():
        session = taken_up(SessionLog.open(path), time=1)
    else:
        session = Session(SessionLog.create(path, Header("session", 3, "long", 1, False, 0)))
    prestep = Prestep(session, HistorySettings(), folding=Folding.of(Settings()))
    agent = Agent(session, Instant(), Tools([Long()]), prestep)
    size = int(sys.argv[3])
    while True:
        agent.followup("Go on.")
        await agent.when_idle()
        if not path.exists() or path.stat().st_size >= size:
            break
    await agent.close()


asyncio.run(main())
"""


def _memory(folder: Path) -> dict[str, float]:
    """Grow a session to 50 MB in one process, take it up and run a turn in another."""
    path = folder / "long" / "session.v3.jsonl"
    path.parent.mkdir()
    here = str(Path(__file__).parent)
    words = [sys.executable, "-c", GROW, str(path), here]
    subprocess.run([*words, str(50_000_000)], check=True)
    with subprocess.Popen([*words, "0"]) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    unit = 1024 if sys.platform != "darwin" else 1
    return {
        "log_mb": round(path.stat().st_size / 1e6, 1),
        "peak_mb": round(used.ru_maxrss * unit / 1e6, 1),
        "own_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
