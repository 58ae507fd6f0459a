"""Every command test has a home of its own, and reads its clock in UTC."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_run import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    made = Cli(tmp_path / "home", monkeypatch)
    time.tzset()
    yield made
    monkeypatch.undo()
    time.tzset()
