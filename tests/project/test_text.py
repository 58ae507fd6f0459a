"""What may not stand in a tracked file: places of one machine, secrets, registry hosts."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECRETS = re.compile(
    r"\b(?:ghp|gho|ghs)_[A-Za-z0-9]{30,}|\bgithub_pat_\w{30,}|\bsk-[A-Za-z0-9]{40,}"
    r"|\bAKIA[0-9A-Z]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
HOSTS = ("pypi" + ".org", "pythonhosted" + ".org", "registry.npm" + "js.org")
HOMES = re.compile(r"(?<![\w.~-])/(?:home|Users|root)/[\w.-]+/")
MAX_BYTES = 1_000_000


@pytest.fixture(scope="module")
def tracked() -> dict[str, str]:
    """Every tracked text file by name; data copied from elsewhere is left out."""
    ran = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if ran.returncode:
        pytest.skip("not a git checkout")
    texts = {}
    for name in ran.stdout.decode().split("\0"):
        path = ROOT / name
        if not name or name.startswith("tests/golden/") or not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" not in data[:8192]:
            texts[name] = data.decode("utf-8", "replace")
    return texts


def test_no_registry_host_is_named(tracked: dict[str, str]) -> None:
    assert [(name, host) for name, text in tracked.items() for host in HOSTS if host in text] == []


def test_no_secret_stands_in_a_file(tracked: dict[str, str]) -> None:
    assert [name for name, text in tracked.items() if SECRETS.search(text)] == []


def test_no_home_of_anybody_stands_outside_the_tests(tracked: dict[str, str]) -> None:
    found = {
        name: match[0]
        for name, text in tracked.items()
        if not name.startswith("tests/") and (match := HOMES.search(text))
    }
    assert found == {}


def test_no_path_of_this_checkout_stands_in_a_file(tracked: dict[str, str]) -> None:
    assert [name for name, text in tracked.items() if f"{ROOT}/" in text] == []


def test_no_tracked_file_is_large(tracked: dict[str, str]) -> None:
    assert [name for name, text in tracked.items() if len(text) > MAX_BYTES] == []
