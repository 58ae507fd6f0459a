"""A writer that dies at any moment loses nothing that it had promised."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("killed_writer.py")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    ("name", "seed"), [("session.v3.jsonl", 1), ("session.v3.jsonl.zstd", 2)], ids=["plain", "zstd"]
)
def test_a_hundred_killed_writers_keep_every_event_they_had_promised(
    tmp_path: Path, name: str, seed: int
) -> None:
    command = [sys.executable, str(PROGRAM), str(tmp_path / "s" / name), "100", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rounds) == 100
    assert [r for r in rounds if not r["ok"] or r["there"] < r["promised"]] == []
    assert max(r["promised"] for r in rounds) > 20
