"""Kill writers of one log at random moments; prints, for each kill, what had been promised.

A program of its own, so that it forks without threads: `killed_writer.py LOG KILLS SEED`. Each
writer opens the log the last one left, appends, and reports every event whose append returned.
"""

import json
import os
import random
import select
import signal
import sys
from pathlib import Path

from slicetape.log.codec import foreign
from slicetape.log.events import Header
from slicetape.log.log import SessionLog


def write(path: Path, report: int, seed: int) -> None:
    """Append until killed; a line of the pipe is the number of events that were promised."""
    chance = random.Random(seed)
    log = (
        SessionLog.open(path)
        if path.exists()
        else SessionLog.create(path, Header("session", 3, "killed", 1, False, 0))
    )
    while True:
        size = chance.choice((10, 300, 5000, 70_000))
        at = len(log.events)
        if chance.random() < 0.2:
            log.extend([foreign("x/n", {"n": at + n, "fill": "y" * size}) for n in range(5)])
        else:
            log.append(foreign("x/n", {"n": at, "fill": "y" * size}))
        if chance.random() < 0.2:
            log.sync()
        os.write(report, b"%d\n" % len(log.events))


def kill_one(path: Path, chance: random.Random) -> int:
    """Start a writer, kill it at a random moment; how many events it had promised."""
    out, report = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(out)
        try:
            write(path, report, chance.randrange(1 << 30))
        finally:
            os._exit(1)
    os.close(report)
    select.select([], [], [], chance.random() * 0.03)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL, "the writer failed on its own"
    said = b""
    while part := os.read(out, 65536):
        said += part
    os.close(out)
    return int(said.split(b"\n")[-2]) if b"\n" in said else 0


def main() -> None:
    path, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    most = 0
    for _ in range(kills):
        most = max(most, kill_one(path, chance))
        if not path.exists():
            sys.stdout.write(
                json.dumps({"promised": most, "there": 0, "ok": most == 0, "torn": 0}) + "\n"
            )
            continue
        log = SessionLog.read(path)
        numbers = [json.loads(bytes(event.data))["n"] for event in log.events]
        ok = numbers == list(range(len(numbers))) and log.damage is None
        there = len(log.events)
        sys.stdout.write(
            json.dumps({"promised": most, "there": there, "ok": ok, "torn": log.torn}) + "\n"
        )
        if path.stat().st_size > 2_000_000:
            path.unlink()
            most = 0


main()
