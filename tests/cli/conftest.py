"""Every command test has a home of its own."""

from pathlib import Path

import pytest

from cli_run import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path / "home", monkeypatch)
