"""`slicetape run`: one prompt, worked on until it is done; for people and for scripts."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from typing import Any

import click

from slicetape.cli.activity import ending, lines_of, prepared_lines
from slicetape.cli.agent_options import AgentOptions, agent_options
from slicetape.cli.output import echo_json, warn
from slicetape.cli.text import safe_json, visible
from slicetape.errors import UsageError

STATUS = {"completed": 0, "error": 1, "blocked": 3, "max-tokens": 4, "aborted": 130}

_EXAMPLES = """\b
Examples:
  slicetape run "Why does make test fail?" --model deepseek:deepseek-chat
  git diff | slicetape run "Review this." -m anthropic:claude-sonnet-4-5
  slicetape run --resume "Now mend it." --json"""


@click.command(epilog=_EXAMPLES)
@click.argument("prompt", required=False, default="")
@agent_options
@click.option("--json", "as_json", is_flag=True, help="Print each event of the log as JSON.")
def run(prompt: str, *, as_json: bool, **options: Any) -> int:
    """Have an agent work on PROMPT in this directory, and print what it says.

    What comes through a pipe stands behind the prompt. Ends with status 0 when the agent is done,
    1 after an error, 3 at the step limit, 4 when an answer was cut, 130 when it was stopped.
    """
    text = _said(prompt)
    if not text and not options["images"]:
        raise UsageError('say what is to be done: slicetape run "…"')
    return asyncio.run(_run(text, AgentOptions(**options), as_json=as_json))


def _said(prompt: str) -> str:
    piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
    return "\n\n".join(part for part in (prompt, piped.rstrip("\n")) if part)


async def _run(text: str, options: AgentOptions, *, as_json: bool) -> int:
    from slicetape.cli.composing import compose

    watcher = _Printer(as_json=as_json)
    made = compose(options, watcher, default_permission="workspace")
    agent = made.agent
    watcher.follow(agent.session)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, agent.cancel)
    try:
        agent.followup(text, made.images)
        reason = await agent.when_idle()
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        await agent.close()
    assert reason is not None
    watcher.end()
    told = ending(reason)
    if as_json:
        echo_json(made.summary(reason))
    else:
        if told:
            warn(told, word="note")
        click.secho(f"{agent.session.log.header.id} · {made.status}", dim=True, err=True)
    return STATUS.get(reason.kind, 1)


class _Printer:
    """Prints what the agent says to stdout, and what it does to stderr where a person reads it."""

    def __init__(self, *, as_json: bool) -> None:
        self._json = as_json
        self._person = sys.stderr.isatty() and not as_json
        self._open = False
        self._session: Any = None

    def follow(self, session: Any) -> None:
        """Print the events of this session from now on."""
        self._session = session
        session.listen(self._event)

    def delta(self, delta: Any) -> None:
        """Print text as it comes."""
        from slicetape.loop.deltas import BlockEnd, TextDelta

        if self._json:
            return
        if isinstance(delta, TextDelta):
            sys.stdout.write(visible(delta.text))
            sys.stdout.flush()
            self._open = not delta.text.endswith("\n")
        elif isinstance(delta, BlockEnd):
            self.end()

    def prepared(self, prepared: Any) -> None:
        """Say what was sealed and folded."""
        self._tell(list(prepared_lines(prepared, self._session.view)))

    def failed(self, failure: Any, retry_in_ms: float | None) -> None:
        """Nothing: a retry is an event, and the last failure ends the turn."""

    def warning(self, text: str) -> None:
        """Say one line."""
        self.end()
        warn(text)

    def end(self) -> None:
        """Close an open line."""
        if self._open:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._open = False

    def _event(self, event: Any, _: object) -> None:
        if self._json:
            line = self._session.log.raw(event.seq).decode("utf-8", "backslashreplace")
            click.echo(safe_json(line))
            return
        self._tell(list(lines_of(event)))

    def _tell(self, lines: Sequence[str]) -> None:
        if self._person and lines:
            self.end()
            for line in lines:
                click.secho(visible(line), dim=True, err=True)
