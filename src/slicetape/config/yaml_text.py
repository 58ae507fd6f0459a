"""YAML text to trees, by the scalar rules of YAML 1.2: `off` is a word, `012` is twelve.

Built from parser events with an explicit stack, so that depth is bounded and an alias is the
same entry again, never a copy. PyYAML belongs to the extra `cli` and is imported here only.
"""

import math
import re
from typing import Any

from slicetape.config.tree import MAX_DEPTH, Entry, Items, Scalar, Source, Table, Unreadable, shown
from slicetape.errors import ConfigError

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_MAX_DIGITS = 300
_PLAIN_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float")}


def scalar(text: str) -> Scalar:
    """The value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= _MAX_DIGITS:
        if _INT.fullmatch(text):
            return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
    elif text.strip("+-.0123456789eE") == "":
        return Unreadable(text)
    return text


def parse_yaml(text: str, source: Source) -> list[Entry]:
    """The documents of `text`. Raises ConfigError with file and line."""
    yaml = _pyyaml()
    build = _Build(source)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        while loader.check_event():
            build.take(loader.get_event())
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        problem = shown(getattr(wrong, "problem", None) or "characters that YAML does not allow")
        raise source.error(f"not valid YAML: {problem}", line=line) from None
    finally:
        loader.dispose()
    return build.documents


def _pyyaml() -> Any:
    try:
        import yaml
    except ImportError:
        raise ConfigError(
            "reading YAML needs PyYAML, which is not installed: pip install 'slicetape[cli]', "
            "or write the settings as slicetape.toml"
        ) from None
    return yaml


class _Build:
    """The documents built so far and the collections still open."""

    def __init__(self, source: Source) -> None:
        self.documents: list[Entry] = []
        self._source = source
        self._open: list[Entry] = []
        self._keys: list[tuple[str, int] | None] = []
        self._anchors: dict[str, Entry] = {}
        self._closed: set[int] = set()

    def take(self, event: Any) -> None:
        """Extend the tree by one parser event."""
        line = event.start_mark.line + 1
        match type(event).__name__:
            case "DocumentStartEvent":
                self._anchors.clear()
            case "AliasEvent":
                self._place(self._aliased(event.anchor, line), line)
            case "ScalarEvent":
                self._scalar(event, line)
            case "MappingStartEvent":
                self._enter(Entry(Table(), line), event, line)
            case "SequenceStartEvent":
                self._enter(Entry(Items(), line), event, line)
            case "MappingEndEvent" | "SequenceEndEvent":
                self._keys.pop()
                self._closed.add(id(self._open.pop().value))
            case _:
                pass

    def _scalar(self, event: Any, line: int) -> None:
        if (event.tag in {None, "!"} and event.implicit[0]) or event.tag in _PLAIN_TAGS:
            value = scalar(event.value)
        elif event.tag in {None, "!", "tag:yaml.org,2002:str"}:
            value = event.value
        else:
            value = Unreadable(f"{event.tag} {event.value}")
        entry = Entry(value, line)
        if self._awaits_key():
            self._key(event.value, line)
        else:
            self._place(entry, line)
        self._name(event, entry)

    def _enter(self, entry: Entry, event: Any, line: int) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise self._source.error(f"nested more than {MAX_DEPTH} deep", line=line)
        self._place(entry, line)
        self._name(event, entry)
        self._open.append(entry)
        self._keys.append(None)

    def _name(self, event: Any, entry: Entry) -> None:
        if event.anchor:
            self._anchors[event.anchor] = entry

    def _aliased(self, anchor: str, line: int) -> Entry:
        entry = self._anchors.get(anchor)
        if entry is None:
            raise self._source.error(f"alias *{shown(anchor)} names no anchor", line=line)
        if isinstance(entry.value, Table | Items) and id(entry.value) not in self._closed:
            raise self._source.error(f"alias *{shown(anchor)} contains itself", line=line)
        return Entry(entry.value, line)

    def _awaits_key(self) -> bool:
        inside = bool(self._open) and isinstance(self._open[-1].value, Table)
        return inside and self._keys[-1] is None

    def _key(self, name: str, line: int) -> None:
        parent = self._open[-1].value
        assert isinstance(parent, Table)
        if name in parent.entries:
            first = parent.entries[name].line
            text = f"{shown(name)} is set twice, first on line {first}; keep one"
            raise self._source.error(text, line=line)
        self._keys[-1] = (name, line)

    def _place(self, entry: Entry, line: int) -> None:
        if not self._open:
            self.documents.append(entry)
            return
        parent = self._open[-1].value
        if isinstance(parent, Items):
            parent.entries.append(entry)
            return
        key = self._keys[-1]
        if key is None or not isinstance(parent, Table):
            raise self._source.error("a key must be a plain word", line=line)
        parent.entries[key[0]] = Entry(entry.value, key[1])
        self._keys[-1] = None
