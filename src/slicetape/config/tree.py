"""A parsed file as a tree that remembers lines; nothing in it is copied or expanded."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from slicetape.errors import ConfigError

MAX_DEPTH = 64
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A scalar that has no value here: an unknown tag, a number of too many digits."""

    text: str


Scalar = str | int | float | bool | Unreadable | None


@dataclass(slots=True)
class Table:
    """A mapping from names to entries, in file order."""

    entries: dict[str, "Entry"] = field(default_factory=dict)


@dataclass(slots=True)
class Items:
    """A list of entries."""

    entries: list["Entry"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Entry:
    """A value and the line it stands on (from 1), where the parser knows it."""

    value: Scalar | Table | Items
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where values come from. `name` is the file as the user wrote it, or "keyword"."""

    name: str

    def at(self, entry: Entry, key: str) -> str:
        """Where `key` is set: `file:line`, else `file:key`."""
        return f"{self.name}:{key if entry.line is None else entry.line}"

    def error(self, text: str, *, line: int | None = None) -> ConfigError:
        """An error that names this source, and the line when it is known."""
        return ConfigError(f"{self.name}{'' if line is None else f':{line}'}: {text}")


def shown(text: str) -> str:
    """`text` as an error may print it: one line, escaped, at most 60 code points."""
    cut = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return cut if cut.isprintable() else ascii(cut)[1:-1]


def kind_of(value: object) -> str:
    """What an error calls the kind of `value`, or the value itself when it is short."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Table() | Mapping():
            return "a table"
        case Items() | list() | tuple():
            return "a list"
        case Unreadable(text=text):
            return shown(text)
        case str():
            return f'"{shown(value)}"'
        case int() | float():
            return shown(number_text(value))
    return f"a value of type {type(value).__name__}"


def number_text(value: float) -> str:
    """`value` in digits; a number of thousands of digits is named by its size."""
    if isinstance(value, int) and value.bit_length() > 256:
        return "a number of more than 256 bits"
    return str(value)


def tables(roots: list[Entry]) -> Iterator[Table]:
    """Every table below `roots`, each once however often it is aliased."""
    seen: set[int] = set()
    waiting = list(reversed(roots))
    while waiting:
        value = waiting.pop().value
        if not isinstance(value, Table | Items) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Table):
            yield value
            waiting.extend(reversed(value.entries.values()))
        else:
            waiting.extend(reversed(value.entries))
