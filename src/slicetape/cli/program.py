"""`slicetape`: which commands there are, and how every one of them ends.

Commands are loaded when they are run, so that help is fast. What goes wrong is told in one or two
lines on stderr: exit status 0 done, 1 failed check or refused work, 2 wrong usage, 130 stopped
by the user, 141 when nobody reads the output any more.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

from slicetape.cli.output import told
from slicetape.cli.text import visible
from slicetape.errors import SlicetapeError, UsageError

STOPPED = 130
NO_READER = 141
_MOST = 2000

_EXAMPLES = """\b
Examples:
  slicetape import ~/.claude/projects/-proj/*.jsonl
  slicetape sessions
  slicetape show 7f3a
  slicetape search "connection refused"
  slicetape replay session.jsonl"""


@dataclass(frozen=True, slots=True)
class Row:
    """A command of the program: the module and name it is loaded from, and what it does."""

    module: str
    name: str
    does: str


COMMANDS = {
    "demo": Row("demo", "demo", "Replay a small session that comes with slicetape."),
    "chat": Row("chat", "chat", "Talk with an agent that works in this directory."),
    "run": Row("run", "run", "Have an agent work on one prompt."),
    "replay": Row("replay", "replay_", "What recorded sessions cost, under several arms."),
    "import": Row("importing", "import_", "Bring transcripts and logs in as sessions."),
    "export": Row("exporting", "export", "Write the log of a session to a file or to stdout."),
    "sessions": Row("sessions", "sessions", "List sessions, newest first."),
    "show": Row("show", "show", "Read a session: transcript, surface, tape or events."),
    "search": Row("searching", "search", "Find words in all sessions."),
    "recall": Row("recall", "recall", "Bring turns, steps and results back verbatim, by hand."),
    "verify": Row("verify", "verify", "Check logs and every request they would send."),
    "fold": Row("fold", "fold", "What a model would see of one text."),
    "serve-scripted": Row(
        "serve_scripted", "serve_scripted", "A provider without a model, for tests and demos."
    ),
    "config": Row("config", "config", "Check settings, or show where each comes from."),
}


class _NoReader(Exception):
    """Nobody reads the output any more."""


class _Stopped(Exception):
    """The user stopped the program."""


class Program(click.Group):
    """The group of all commands, loaded one by one."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. What click would end the process for is ours to tell."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _NoReader from None
        except (KeyboardInterrupt, click.Abort) as stopped:
            raise _Stopped from stopped

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands that are there, in the order in which people meet them."""
        return [name for name, row in COMMANDS.items() if _exists(row)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, loaded; None when there is none of this name."""
        row = COMMANDS.get(cmd_name)
        if row is None or not _exists(row):
            return None
        loaded: click.Command = getattr(import_module(f"slicetape.cli.{row.module}"), row.name)
        _add_debug(loaded)
        return loaded

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; a near miss gets a suggestion."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command {name[:80]!r}; {hint}", ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without loading them."""
        rows = [(name, COMMANDS[name].does) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(
    cls=Program,
    epilog=_EXAMPLES,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="slicetape", message="slicetape %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def program(ctx: click.Context, *, debug: bool) -> None:
    """Keep agent sessions whole, and the context that is sent small.

    SESSION is the id of a session or the beginning of one, FILE a log or a transcript of
    Claude Code, Codex, OpenCode, pi, Gemini CLI, Copilot, Aider and others, compressed or not;
    FILE#2 is the second session of a file that holds several.
    """
    ctx.obj = {"debug": debug}
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command; the exit status, after telling what went wrong."""
    state = {"debug": "--debug" in arguments}
    try:
        _prepare_streams()
        status = program.main(list(arguments), "slicetape", standalone_mode=False, color=_colored())
        sys.stdout.flush()
    except click.UsageError as wrong:
        return _ended(wrong, _usage_text(wrong), 2, state)
    except click.ClickException as wrong:
        return _ended(wrong, wrong.format_message(), 1, state)
    except UsageError as wrong:
        return _ended(wrong, str(wrong), 2, state)
    except SlicetapeError as wrong:
        return _ended(wrong, str(wrong), 1, state)
    except (_Stopped, KeyboardInterrupt, click.Abort) as stopped:
        return _ended(stopped, "stopped", STOPPED, state, word="")
    except (_NoReader, BrokenPipeError):
        _drop_stdout()
        return NO_READER
    except OSError as wrong:
        return _ended(wrong, told(wrong), 1, state)
    except MemoryError as wrong:
        return _ended(wrong, "out of memory; nothing already written was changed", 1, state)
    except Exception as wrong:  # noqa: BLE001 - a bug must not look like a crash of the terminal
        text = f"{type(wrong).__name__}: {wrong}\nThis is a bug; --debug shows where it happened."
        return _ended(wrong, text, 1, state)
    return status if isinstance(status, int) else 0


def _exists(row: Row) -> bool:
    return find_spec(f"slicetape.cli.{row.module}") is not None


def _add_debug(command: click.Command) -> None:
    """Let `--debug` stand behind the command's name as well."""
    if any("--debug" in parameter.opts for parameter in command.params):
        return
    command.params.append(
        click.Option(
            ["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error."
        )
    )
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _add_debug(inner)


def _colored() -> bool | None:
    """None lets click look whether a terminal reads the output."""
    no_color = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if no_color else None


def _prepare_streams() -> None:
    """Never fail to print: a pipe gets UTF-8, a terminal what it can show."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        if stream.isatty():
            reconfigure(errors="backslashreplace")
        else:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _drop_stdout() -> None:
    """Keep the interpreter from flushing into the closed pipe when it ends."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        return


def _usage_text(wrong: click.UsageError) -> str:
    if type(wrong).__name__ == "NoArgsIsHelpError" and wrong.ctx is not None:
        return f"arguments are missing\nTry: {wrong.ctx.command_path} --help"
    text = wrong.format_message().rstrip(".")
    if wrong.ctx is None:
        return text
    return f"{text}\nTry: {wrong.ctx.command_path} --help"


def _ended(
    wrong: BaseException, text: str, status: int, state: dict[str, bool], *, word: str = "error: "
) -> int:
    """Say what happened on stderr, with the traceback when it was asked for."""
    try:
        if state["debug"]:
            import traceback

            click.echo("".join(traceback.format_exception(wrong)), err=True)
        shown = visible(text if len(text) <= _MOST else f"{text[:_MOST]}…")
        click.echo(click.style(word, fg="red") + shown, err=True, color=_colored())
    except OSError:
        return status
    return status
