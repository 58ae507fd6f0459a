"""The options that `run` and `chat` share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
ARMS = ("slicetape", "tape", "fold", "transcript", "compact")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """How an agent is to be put together; None leaves a choice to the settings."""

    model: str | None = None
    arm: str = "slicetape"
    config: Path | None = None
    resume: bool = False
    session: str | None = None
    after: str | None = None
    permission: str | None = None
    allow: tuple[Path, ...] = ()
    sandbox: bool | None = None
    effort: str | None = None
    max_steps: int | None = None
    images: tuple[Path, ...] = ()


_OPTIONS = (
    click.option("-m", "--model", metavar="PROVIDER:MODEL", help="The model, as deepseek:NAME."),
    click.option(
        "--arm",
        type=click.Choice(ARMS),
        default="slicetape",
        show_default=True,
        help="How the context is kept small.",
    ),
    click.option(
        "--config",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A settings file instead of the one found here.",
    ),
    click.option("--resume", is_flag=True, help="Go on with the last session of this directory."),
    click.option("--session", metavar="SESSION", help="Go on with this session."),
    click.option(
        "--after",
        metavar="SESSION",
        help="Begin a new session that may recall from this earlier one.",
    ),
    click.option(
        "--permission",
        type=click.Choice(("ask", "workspace", "all")),
        help="What may be done without asking.",
    ),
    click.option(
        "--allow",
        multiple=True,
        type=click.Path(path_type=Path),
        help="A path outside the directory that may be used too.",
    ),
    click.option(
        "--sandbox/--no-sandbox", default=None, help="Run commands confined by bubblewrap."
    ),
    click.option("--effort", metavar="EFFORT", help="Reasoning effort: off, low, high, max."),
    click.option(
        "--max-steps", type=click.IntRange(1), help="End a turn after so many model calls."
    ),
    click.option(
        "--image",
        "images",
        multiple=True,
        type=click.Path(dir_okay=False, path_type=Path),
        help="A picture for the first message.",
    ),
)


def agent_options(command: Command) -> Command:
    """Give a command the options of an agent; it takes them as keywords of `AgentOptions`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
