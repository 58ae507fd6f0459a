"""Where conformance inputs come from: the folder named by SLICETAPE_DATA."""

import os
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def shared(name: str) -> Path:
    """A file or folder of the shared data, or a skip that says why."""
    root = os.environ.get("SLICETAPE_DATA")
    if not root:
        pytest.skip("SLICETAPE_DATA is not set: the shared conformance data is absent")
    path = Path(root) / name
    if not path.exists():
        pytest.skip(f"{name} is not in the folder that SLICETAPE_DATA names")
    return path
