"""`slicetape config check|show`: what is set, where, and what is wrong with it."""

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from slicetape.config.load import Loaded, finish, read
from slicetape.config.profile import load_profile, read_profile
from slicetape.config.resolve import effective
from slicetape.errors import ConfigError

_CHECK_EXAMPLES = """\b
Examples:
  slicetape config check
  slicetape config check --config slicetape.toml
  slicetape config check --profile profiles/web.yaml"""

_SHOW_EXAMPLES = """\b
Examples:
  slicetape config show
  slicetape config show --profile profiles/web.yaml --json"""


@click.group(name="config")
def config() -> None:
    """Check settings, or show them with where each comes from."""


def _sources(command: Any) -> Any:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option(
            "--profile",
            type=click.Path(path_type=Path),
            help="Read the row slice-agent-loop of this host profile or patch file.",
        ),
        click.option(
            "--config",
            "file",
            type=click.Path(path_type=Path),
            help="Read this TOML or YAML file instead of looking for one.",
        ),
    ):
        command = option(command)
    return command


@config.command(epilog=_CHECK_EXAMPLES)
@_sources
def check(file: Path | None, profile: Path | None, *, as_json: bool) -> None:
    """Say everything that is wrong, and advise on values that only repeat old defaults.

    Exit status 0: usable (advice does not fail), 1: not usable, 2: wrong usage.
    """
    _one_source(file, profile)
    try:
        problems, loaded = _examine(file, profile)
    except ConfigError as wrong:
        problems, loaded = [str(wrong)], None
    advice = loaded.advice if loaded else ()
    if as_json:
        click.echo(_json({"ok": not problems, "problems": problems, "advice": list(advice)}))
    else:
        for text in problems:
            click.echo(f"error: {text}", err=True)
        for text in advice:
            click.echo(f"advice: {text}")
        if loaded:
            click.echo(f"{_origin(loaded)}: ok")
    sys.exit(1 if problems else 0)


@config.command(epilog=_SHOW_EXAMPLES)
@_sources
def show(file: Path | None, profile: Path | None, *, as_json: bool) -> None:
    """Print every key, the value in force and where it comes from.

    Exit status 0: shown, 1: the settings are not usable, 2: wrong usage.
    """
    _one_source(file, profile)
    try:
        loaded = load_profile(profile) if profile else finish(*read(file))
    except ConfigError as wrong:
        click.echo(f"error: {wrong}", err=True)
        sys.exit(1)
    rows = dict(effective(loaded.settings))
    if as_json:
        settings = {
            name: {"value": _jsonable(value), "from": loaded.origins[name]}
            for name, value in rows.items()
        }
        path = None if loaded.path is None else str(loaded.path)
        click.echo(_json({"file": path, "settings": settings, "advice": list(loaded.advice)}))
        return
    width = max(map(len, rows))
    for name, value in rows.items():
        click.echo(f"{name:<{width}}  {_word(value):<10}  {loaded.origins[name]}")


def _one_source(file: Path | None, profile: Path | None) -> None:
    if file is not None and profile is not None:
        raise click.UsageError("--config and --profile name two sources; give one of them")


def _examine(file: Path | None, profile: Path | None) -> tuple[list[str], Loaded | None]:
    """Every problem of the named source, or no problem and the settings."""
    if profile is not None:
        done, about_row = read_profile(profile)
        path: Path | None = profile
    else:
        done, path = read(file)
        about_row = ()
    if done.problems:
        return done.problems, None
    return [], finish(done, path, extra_advice=about_row)


def _origin(loaded: Loaded) -> str:
    return "no configuration file, defaults" if loaded.path is None else str(loaded.path)


def _word(value: object) -> str:
    if value is None:
        return "no limit"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _jsonable(value: object) -> object:
    return "Infinity" if value == math.inf else value


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
