"""Find and read configuration files: one regular file of bounded size, or a clear error."""

import stat
from pathlib import Path

from slicetape.config.toml_text import parse_toml
from slicetape.config.tree import Entry, Source, Table
from slicetape.config.yaml_text import parse_yaml
from slicetape.errors import ConfigError

NAMES = ("slicetape.toml", "slicetape.yaml", "slicetape.yml")
PYPROJECT = "pyproject.toml"
MAX_BYTES = 1 << 20
_YAML = {".yaml", ".yml", ".json"}


def read_text(path: Path) -> str:
    """The UTF-8 text of a configuration file of at most 1 MiB."""
    source = Source(str(path))
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise source.error("not a regular file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as wrong:
        raise source.error(f"cannot be read: {wrong.strerror or wrong}") from None
    except ValueError:
        raise ConfigError("a file name may not hold a NUL character") from None
    if len(data) > MAX_BYTES:
        raise source.error("larger than 1 MiB; this is not a configuration file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise source.error("not UTF-8 text", line=line) from None


def read_config(path: Path) -> tuple[Entry, Source]:
    """The tree of one configuration file, by its name: TOML, pyproject.toml or YAML."""
    source = Source(str(path))
    suffix = path.suffix.lower()
    if suffix == ".toml":
        root = parse_toml(read_text(path), source)
        if path.name != PYPROJECT:
            return root, source
        section = _tool_section(root)
        if section is None:
            raise source.error("has no table [tool.slicetape]")
        return section, source
    if suffix not in _YAML:
        raise source.error("cannot tell its format; name it .toml, .yaml or .yml")
    documents = parse_yaml(read_text(path), source)
    if len(documents) > 1:
        raise source.error("holds several documents; keep one", line=documents[1].line)
    return (documents[0] if documents else Entry(Table())), source


def read_documents(path: Path) -> tuple[list[Entry], Source]:
    """Every document of a profile: TOML by its name, YAML (or JSON) otherwise."""
    source = Source(str(path))
    if path.suffix.lower() == ".toml":
        return [parse_toml(read_text(path), source)], source
    return parse_yaml(read_text(path), source), source


def find(start: Path) -> Path | None:
    """The configuration for work in `start`: there, or in a parent up to the repository root.

    The nearest folder that has one decides. Two in one folder are a conflict, never a choice.
    """
    folder = start.absolute()
    inside = any((above / ".git").exists() for above in (folder, *folder.parents))
    for place in (folder, *folder.parents) if inside else (folder,):
        here = [place / name for name in NAMES if (place / name).exists()]
        if _has_section(place / PYPROJECT):
            here.append(place / PYPROJECT)
        if len(here) > 1:
            names = " and ".join(path.name for path in here)
            raise ConfigError(f"{place}: {names} both configure slicetape; keep one")
        if here:
            return here[0]
        if (place / ".git").exists():
            break
    return None


def _has_section(path: Path) -> bool:
    if not path.is_file():
        return False
    text = read_text(path)
    return "slicetape" in text and _tool_section(parse_toml(text, Source(str(path)))) is not None


def _tool_section(root: Entry) -> Entry | None:
    for name in ("tool", "slicetape"):
        if not isinstance(root.value, Table) or name not in root.value.entries:
            return None
        root = root.value.entries[name]
    return root
