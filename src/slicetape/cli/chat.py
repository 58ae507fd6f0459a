"""`slicetape chat`: talk with an agent that works in this directory."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from slicetape.cli.agent_options import AgentOptions, agent_options
from slicetape.cli.text import one_line
from slicetape.errors import SlicetapeError

_EXAMPLES = """\b
Examples:
  slicetape chat --model deepseek:deepseek-chat
  slicetape chat --resume
  slicetape chat --after 20261201-0900 -m anthropic:claude-sonnet-4-5"""

HISTORY = "chat_history"


@click.command(epilog=_EXAMPLES)
@agent_options
def chat(**options: Any) -> int:
    """Talk with an agent that works in this directory.

    Everything is kept in a session; --resume goes on with the last one. /help lists what can be
    asked besides. Without a terminal each line of the input is one message.
    """
    return asyncio.run(_chat(AgentOptions(**options)))


async def _chat(options: AgentOptions) -> int:
    from slicetape.cli.chat_commands import Chat
    from slicetape.cli.chat_screen import Screen
    from slicetape.cli.composing import compose

    person = sys.stdin.isatty() and sys.stdout.isatty()
    screen = Screen()
    questions = Questions(screen.tell)
    made = compose(
        options,
        screen,
        default_permission="ask",
        asker=questions.permit if person else None,
    )
    screen.follow(made.agent.session)
    talk = Chat(made, list(made.images))
    made.moved = screen.follow
    try:
        await (_talk(talk, screen, questions) if person else _read(talk, screen))
    finally:
        await made.agent.close()
    click.secho(f"{made.agent.session.log.header.id} · {made.status}", dim=True, err=True)
    return 0


class Questions:
    """Asks the person whether a call may run; the next line that is typed is the answer."""

    def __init__(self, tell: Callable[..., None]) -> None:
        self._tell = tell
        self._open: asyncio.Future[str] | None = None
        self.text = ""

    async def ask(self, question: str) -> str:
        """Show a question; what is typed next."""
        self._open = asyncio.get_running_loop().create_future()
        self.text = question
        self._tell([question], fg="magenta")
        try:
            return await self._open
        finally:
            self._open, self.text = None, ""

    async def permit(self, tool: str, about: str) -> tuple[Any, str]:
        """Ask whether a call may run: y once, a always, n or n REASON."""
        shown = one_line(about, 200)
        said = await self.ask(f"? {tool} {shown}   [y]es, [a]lways, [n]o and why")
        word, _, rest = said.partition(" ")
        if word.lower() in ("y", "yes"):
            return "once", ""
        if word.lower() in ("a", "always"):
            return "always", ""
        return "no", rest if word.lower() in ("n", "no") else said

    def answer(self, line: str) -> bool:
        """Take a typed line as the answer; False when nothing was asked."""
        if self._open is None or self._open.done():
            return False
        self._open.set_result(line.strip())
        return True


async def _talk(talk: Any, screen: Any, questions: Questions) -> None:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.patch_stdout import patch_stdout

    made = talk.made
    prompt: PromptSession[str] = PromptSession(
        history=FileHistory(str(_history(made.setting.store.home))),
        multiline=True,
        key_bindings=_keys(),
        bottom_toolbar=lambda: _toolbar(talk),
        refresh_interval=0.5,
    )
    leaving = _Leaving(talk, screen, questions)
    # A key pressed while no prompt is shown comes as a signal.
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, leaving.interrupted)
    with patch_stdout(raw=True):
        screen.tell([f"{made.greeting}  /help lists commands"], dim=True)
        while not talk.over:
            try:
                line = await prompt.prompt_async(lambda: "allow? " if questions.text else "> ")
            except EOFError:
                return
            except KeyboardInterrupt:
                leaving.interrupted()
                continue
            leaving.asked = False
            if not questions.answer(line):
                _take(talk, screen, line)


class _Leaving:
    """What Ctrl-C does: it stops the turn, and when nothing runs a second one leaves."""

    def __init__(self, talk: Any, screen: Any, questions: Questions) -> None:
        self._talk = talk
        self._screen = screen
        self._questions = questions
        self.asked = False

    def interrupted(self) -> None:
        """Take one Ctrl-C."""
        agent = self._talk.made.agent
        running = agent.running
        if self.asked and not running:
            self._talk.over = True
            return
        agent.cancel()
        self._questions.answer("no")
        self.asked = not running
        if self.asked:
            self._screen.tell(["Ctrl-C again leaves"], dim=True)


async def _read(talk: Any, screen: Any) -> None:
    loop = asyncio.get_running_loop()
    while not talk.over:
        line = await loop.run_in_executor(None, sys.stdin.readline)
        if not line:
            return
        _take(talk, screen, line)
        await talk.made.agent.when_idle()


def _take(talk: Any, screen: Any, line: str) -> None:
    """Do what a line asks: a command, a new turn, or a word into the running one."""
    from slicetape.cli.chat_commands import run_command

    text = line.strip()
    if not text:
        return
    agent = talk.made.agent
    try:
        if text.startswith("/") and not text.startswith("//"):
            screen.tell(run_command(talk, text))
        elif agent.running:
            agent.steer(text, tuple(talk.images))
            screen.tell(["joins the next step"], dim=True)
        else:
            agent.followup(text, tuple(talk.images))
            talk.images.clear()
    except SlicetapeError as wrong:
        screen.tell([str(wrong)], fg="red")


def _keys() -> Any:
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: Any) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _toolbar(talk: Any) -> str:
    made = talk.made
    doing = "working, Ctrl-C stops · " if made.agent.running else ""
    waits = len(made.agent.waiting("next-step")) + len(made.agent.waiting("next-turn"))
    queue = f"{waits} waiting · " if waits else ""
    return f" {doing}{queue}{made.status}"


def _history(home: Path) -> Path:
    """The file of what was typed, for its owner alone."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = home / HISTORY
    os.close(os.open(path, os.O_CREAT | os.O_APPEND, 0o600))
    return path
