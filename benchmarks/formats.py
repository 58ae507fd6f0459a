"""Import the shared transcripts, by format, and a long synthetic session; prints JSON.

Speed is in megabytes of unpacked transcript a second, from opening the file to the last event.
Memory is the peak of a process of its own above what it used before it opened a file; the
synthetic session (200 MB unless a size in MB is given) is mostly display copies, as long Claude
Code sessions are. Shared transcripts are read from the folder that SLICETAPE_DATA names.
"""

import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from slicetape.formats.detect import open_sessions
from slicetape.formats.source import Transcript

SIZE_MB = 200
TIME = "2026-02-01T10:00:00.000Z"
TEXT = "what the model saw of it, line by line\n" * 50
COPY = "what only the display needs, the whole file before and after\n" * 1500


def peak() -> int:
    """The most memory this process has used, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def record(kind: str, message: dict, **more: object) -> bytes:
    """A line of a Claude Code session."""
    line = {"type": kind, "sessionId": "s", "timestamp": TIME, "cwd": "/w", "message": message}
    return json.dumps(line | more).encode() + b"\n"


def write_session(path: Path, size: int) -> None:
    """A Claude Code session of about `size` bytes: turns of five steps with a call each."""
    step = 0
    with path.open("wb") as file:
        while file.tell() < size:
            if step % 5 == 0:
                file.write(record("user", {"content": f"Go on with part {step // 5}."}))
            step += 1
            call = {"type": "tool_use", "id": f"c{step}", "name": "Read", "input": {"n": step}}
            file.write(record("assistant", {"id": f"m{step}", "model": "m", "content": [call]}))
            answer = {"type": "tool_result", "tool_use_id": f"c{step}", "content": TEXT}
            copies = {"originalFile": COPY}
            file.write(record("user", {"content": [answer]}, toolUseResult=copies))


def read_all(paths: list[str]) -> dict:
    """Import the files; a first small one warms up what is loaded once."""
    for session in open_sessions(min(paths, key=os.path.getsize)):
        for _ in session.events:
            break
    size = sum(sum(map(len, Transcript(path).lines())) for path in paths)
    before, started, events = peak(), time.perf_counter(), 0
    for path in paths:
        for session in open_sessions(path):
            events += sum(1 for _ in session.events)
    seconds = time.perf_counter() - started
    return {
        "files": len(paths),
        "mb": round(size / 1e6, 2),
        "events": events,
        "mb_per_s": round(size / 1e6 / seconds, 1),
        "peak_mb": round((peak() - before) / 1e6, 1),
    }


def apart(paths: list[str]) -> dict:
    """`read_all` in a fresh process, so that peaks do not add up."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(read_all, (paths,))


def main() -> None:
    """Measure every format, then the synthetic session."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else SIZE_MB
    found: dict[str, dict] = {}
    root = os.environ.get("SLICETAPE_DATA")
    if root:
        folder = Path(root) / "transcripts"
        files = defaultdict(list)
        for row in json.loads((folder / "manifest.json").read_bytes())["sessions"]:
            files[row["format"]].append(str(folder / row["file"]))
        found = {format: apart(paths) for format, paths in sorted(files.items())}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "long.jsonl"
        write_session(path, size * 1_000_000)
        found["synthetic claude-code"] = apart([str(path)])
    version = ".".join(map(str, sys.version_info[:3]))
    print(json.dumps({"python": version, "cores": os.cpu_count(), "formats": found}, indent=2))


if __name__ == "__main__":
    main()
