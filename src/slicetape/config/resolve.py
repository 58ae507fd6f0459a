"""A tree of values to settings: every problem is found, none is guessed around."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, get_type_hints

from slicetape.config.checks import BadValue
from slicetape.config.keys import ROOT_KEYS, SECTIONS, TOP_LEVEL, Key
from slicetape.config.names import section_problem, top_level_problem
from slicetape.config.tree import Entry, Source, Table, kind_of
from slicetape.errors import ConfigError
from slicetape.policy.settings import Settings

DEFAULT = "default"
MAX_PROBLEMS = 50  # the unknown names of one table that are reported


@dataclass(slots=True)
class Resolved:
    """Settings under construction: values so far, where each came from, what is wrong."""

    settings: Settings = field(default_factory=Settings)
    origins: dict[str, str] = field(
        default_factory=lambda: {name: DEFAULT for name, _ in effective(Settings())}
    )
    problems: list[str] = field(default_factory=list)

    def raise_first(self) -> None:
        """Raise ConfigError when anything is wrong: the first problem, and how many more."""
        if self.problems:
            more = len(self.problems) - 1
            note = f"\n{more} more; slicetape config check lists all" if more else ""
            raise ConfigError(self.problems[0] + note)


def effective(settings: Settings) -> Iterator[tuple[str, Any]]:
    """Every key in its file spelling, with the value in force."""
    for key in ROOT_KEYS:
        yield key.name, getattr(settings, key.attribute)
    for section, keys in SECTIONS.items():
        for key in keys:
            yield f"{section}.{key.name}", getattr(getattr(settings, section), key.attribute)


def resolve(root: Entry, source: Source, *, base: Settings | None = None) -> Resolved:
    """Settings of one file over `base` (the defaults). Names are judged before values."""
    done = Resolved(base or Settings())
    if not isinstance(root.value, Table):
        text = f"a configuration must be a table of keys, found {kind_of(root.value)}"
        done.problems.append(str(source.error(text, line=root.line)))
        return done
    entries = root.value.entries
    _judge_names(done, entries, source, top_level_problem)
    _set_keys(done, "", ROOT_KEYS, entries, source)
    for section in TOP_LEVEL:
        if section in SECTIONS and section in entries:
            _set_section(done, section, entries[section], source)
    return done


def _judge_names(
    done: Resolved,
    entries: Mapping[str, Entry],
    source: Source,
    problem_of: Callable[[str], str | None],
) -> None:
    found = ((problem_of(name), entry.line) for name, entry in entries.items())
    wrong = (source.error(text, line=line) for text, line in found if text)
    done.problems.extend(map(str, islice(wrong, MAX_PROBLEMS)))


def _set_section(done: Resolved, section: str, entry: Entry, source: Source) -> None:
    if not isinstance(entry.value, Table):
        text = f"{section} must be a table of keys, found {kind_of(entry.value)}"
        done.problems.append(str(source.error(text, line=entry.line)))
        return
    _judge_names(done, entry.value.entries, source, partial(section_problem, section))
    _set_keys(done, section, SECTIONS[section], entry.value.entries, source)


def _set_keys(
    done: Resolved,
    section: str,
    keys: tuple[Key, ...],
    entries: Mapping[str, Entry],
    source: Source,
) -> None:
    values: dict[str, Any] = {}
    for key in keys:
        if key.name not in entries:
            continue
        entry = entries[key.name]
        name = f"{section}.{key.name}" if section else key.name
        try:
            values[key.attribute] = key.check(entry.value)
        except BadValue as wrong:
            text = f"{wrong}, found {kind_of(entry.value)}"
            done.problems.append(str(source.error(text, line=entry.line)))
        else:
            done.origins[name] = source.at(entry, name)
    _replace(done, section, values)


def _replace(done: Resolved, section: str, values: Mapping[str, Any]) -> None:
    if section:
        part = replace(getattr(done.settings, section), **values)
        done.settings = replace(done.settings, **{section: part})
    else:
        done.settings = replace(done.settings, **values)


def with_keywords(done: Resolved, keywords: Mapping[str, Any]) -> None:
    """Set what a caller passed as keywords, over what files say.

    Names are the snake_case attributes of `Settings`; a section is a mapping of its attributes
    or a settings value. None means "no limit" where that is the default.
    """
    roots = {key.attribute: key for key in ROOT_KEYS}
    hints = get_type_hints(Settings)
    for name, value in keywords.items():
        if name in roots:
            _keyword(done, "", roots[name], value)
        elif name in SECTIONS:
            _keyword_section(done, name, value, hints[name])
        else:
            valid = ", ".join([*roots, *SECTIONS])
            done.problems.append(f"keyword {name}: no such setting. Valid keywords: {valid}.")


def _keyword_section(done: Resolved, section: str, value: object, whole: type) -> None:
    keys = {key.attribute: key for key in SECTIONS[section]}
    if isinstance(value, whole):
        value = {attribute: getattr(value, attribute) for attribute in keys}
    if not isinstance(value, Mapping):
        text = f"must be a mapping or {whole.__name__}, found {kind_of(value)}"
        done.problems.append(f"keyword {section}: {text}")
        return
    for attribute, item in value.items():
        if attribute in keys:
            _keyword(done, section, keys[attribute], item)
        else:
            text = f"no such setting. Valid keywords: {', '.join(keys)}."
            done.problems.append(f"keyword {section}.{attribute}: {text}")


def _keyword(done: Resolved, section: str, key: Key, value: object) -> None:
    name = f"{section}.{key.name}" if section else key.name
    part = getattr(Settings(), section) if section else Settings()
    try:
        unbounded = value is None and getattr(part, key.attribute) is None
        kept = None if unbounded else key.check(value)
    except BadValue as wrong:
        done.problems.append(f"keyword {key.attribute}: {wrong}, found {kind_of(value)}")
        return
    _replace(done, section, {key.attribute: kept})
    done.origins[name] = "keyword"
