"""The path of a read protects source code, however the host spells the argument."""

import pytest

from slicetape.policy.backoff import path_in


@pytest.mark.parametrize("key", ["file_path", "path", "filePath"])
def test_every_spelling_of_a_path_is_seen(key: str) -> None:
    assert path_in({key: "src/a.py", "limit": 3}) == "src/a.py"


def test_what_is_no_path_is_none() -> None:
    assert path_in({"path": 3}) is None
    assert path_in(["a"]) is None
