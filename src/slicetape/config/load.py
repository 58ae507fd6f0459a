"""Files and keywords to one frozen value that knows where each setting came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from slicetape.config.advice import advise
from slicetape.config.files import find, read_config
from slicetape.config.resolve import Resolved, resolve, with_keywords
from slicetape.config.tree import Entry, Items, Source, Table
from slicetape.config.yaml_text import scalar
from slicetape.errors import ConfigError
from slicetape.policy.settings import Settings


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, the file they were read from (None: no file), and where each key came from.

    `origins` maps every key in its file spelling to "default", "keyword", `file:line` or
    `file:key`. `advice` has one line for each legal value that only repeats an old default.
    """

    settings: Settings
    origins: Mapping[str, str]
    advice: tuple[str, ...] = ()
    path: Path | None = None


def load(
    path: Path | str | None = None,
    *,
    start_dir: Path | str | None = None,
    keywords: Mapping[str, Any] | None = None,
) -> Loaded:
    """The settings in force: keywords over the file over the defaults.

    Without `path` the file is looked for in `start_dir` (the working directory) and its parents
    up to the repository root: `slicetape.toml`, `slicetape.yaml` or `[tool.slicetape]` in
    `pyproject.toml`. Raises ConfigError that names file and key.
    """
    done, found = read(path, start_dir=start_dir, keywords=keywords)
    return finish(done, found)


def read(
    path: Path | str | None = None,
    *,
    start_dir: Path | str | None = None,
    keywords: Mapping[str, Any] | None = None,
) -> tuple[Resolved, Path | None]:
    """What `load` does, with every problem listed instead of the first one raised."""
    found = Path(path) if path is not None else find(Path(start_dir or "."))
    done = Resolved() if found is None else resolve(*read_config(found))
    with_keywords(done, keywords or {})
    return done, found


def finish(done: Resolved, path: Path | None, *, extra_advice: tuple[str, ...] = ()) -> Loaded:
    """Freeze what was resolved. Raises ConfigError when anything is wrong."""
    done.raise_first()
    advice = (*advise(done.settings, done.origins), *extra_advice)
    return Loaded(done.settings, MappingProxyType(done.origins), advice, path)


def from_values(values: Mapping[str, Any], *, name: str = "config") -> Settings:
    """Settings from a mapping in file spelling, checked as a file is; `name` stands in errors."""
    done = resolve(_entry(values), Source(name))
    done.raise_first()
    return done.settings


def override(settings: Settings, pairs: Mapping[str, str]) -> Settings:
    """`settings` with keys such as `history.keepRecentTurns` set from text, as on a command line.

    Keys are in file spelling; values are read as YAML scalars (`true`, `2`, `.inf`, `zstd`).
    """
    root = Table()
    for key, text in pairs.items():
        section, dot, name = key.partition(".")
        if not dot:
            root.entries[section] = Entry(scalar(text))
            continue
        part = root.entries.setdefault(section, Entry(Table())).value
        if not isinstance(part, Table):
            raise ConfigError(f"{section} is set both whole and as {key}; keep one")
        part.entries[name] = Entry(scalar(text))
    done = resolve(Entry(root), Source("override"), base=settings)
    done.raise_first()
    return done.settings


def _entry(value: Any) -> Entry:
    if isinstance(value, Mapping):
        return Entry(Table({str(name): _entry(item) for name, item in value.items()}))
    if isinstance(value, list | tuple):
        return Entry(Items())
    return Entry(value)
