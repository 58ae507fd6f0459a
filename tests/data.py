"""Where conformance inputs come from: the folder named by SLICETAPE_DATA, or tests/golden."""

import os
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"

# Which tests read shared data, and which modules did while they were imported: the suite
# reports how many conformance tests ran, so that "none" is never taken for "all passed".
READING_TESTS: set[str] = set()
READING_FILES: set[str] = set()


def shared(name: str) -> Path:
    """A file or folder of the shared data; without it the small copy, or a skip that says why."""
    root = os.environ.get("SLICETAPE_DATA")
    copy = GOLDEN / name.removeprefix("golden/")
    if not root and copy.is_file():
        return copy
    if not root:
        pytest.skip(
            "SLICETAPE_DATA is not set: the shared conformance data is absent",
            allow_module_level=True,
        )
    path = Path(root) / name
    if not path.exists():
        pytest.skip(
            f"{name} is not in the folder that SLICETAPE_DATA names", allow_module_level=True
        )
    running = os.environ.get("PYTEST_CURRENT_TEST")
    if running:
        READING_TESTS.add(running.rsplit(" ", 1)[0])
    else:
        READING_FILES.add(sys._getframe(1).f_globals.get("__file__", ""))
    return path
