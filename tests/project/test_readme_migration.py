"""The README section that errors about retired keys point to."""

import re
from pathlib import Path

import pytest

from slicetape.config.keys import OLD_DEFAULTS, RETIRED, RETIRED_HISTORY

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SECTION = re.split(r"^## Migration\n", README, flags=re.MULTILINE)[1].split("\n## ")[0]


@pytest.mark.parametrize("key", [*RETIRED, *(f"history.{key}" for key in RETIRED_HISTORY)])
def test_migration_names_every_retired_key(key: str) -> None:
    assert f"| `{key}` |" in SECTION


@pytest.mark.parametrize(("key", "value"), OLD_DEFAULTS.items())
def test_migration_names_every_old_default(key: str, value: object) -> None:
    assert f"`{key}: {value}`" in SECTION
