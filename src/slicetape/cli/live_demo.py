"""The first part of the demo: a live session over HTTP, and a second process that goes on.

What the model says comes from a script; the loop, the tools, the requests, the sealing and
folding, the recalls and the usage are what they are in earnest.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slicetape.cli.agent_options import AgentOptions
from slicetape.cli.assembling import Setting, assembled
from slicetape.cli.choosing import begun
from slicetape.cli.ledger import Ledger
from slicetape.config import Loaded
from slicetape.log.store import Store
from slicetape.loop.prestep import Prepared
from slicetape.models.routes import model_from
from slicetape.policy.settings import Settings
from slicetape.testing.replies import Asked, Reply, Script
from slicetape.testing.server import Provider

MODEL = "deepseek:scripted"
APP = """\
TIMEOUT_SECONDS = 5


def fetch(url: str) -> str:
    return f"{url} within {TIMEOUT_SECONDS} s"


print(fetch("http://upstream/orders"))
"""


def _bash(command: str) -> tuple[Asked, ...]:
    return (Asked("bash", {"command": command, "description": "demo"}),)


TURNS = (
    "Which requests fail in server.log?",
    "Where is the time limit set?",
    "Make it 30 seconds, and run it.",
    "What did the first failure say, word for word?",
)
RESUMED = "Which turn changed the time limit?"

REPLIES = (
    Reply(text="I will look at the log.", tools=_bash("cat server.log")),
    Reply(text="Requests to /orders fail: upstream timed out after 5 s, 12 times in 3,000 lines."),
    Reply(text="", tools=(Asked("grep", {"pattern": "TIMEOUT"}),)),
    Reply(tools=(Asked("read", {"file_path": "app.py"}),)),
    Reply(text="In app.py, line 1: TIMEOUT_SECONDS = 5."),
    Reply(
        tools=(
            Asked(
                "edit",
                {
                    "file_path": "app.py",
                    "old_string": "TIMEOUT_SECONDS = 5",
                    "new_string": "TIMEOUT_SECONDS = 30",
                },
            ),
        )
    ),
    Reply(tools=_bash(f"{sys.executable} app.py")),
    Reply(text="Done: it now waits 30 s."),
    Reply(
        text="That result is sealed; I bring back the lines I need.",
        tools=(Asked("recall_search", {"query": "upstream timed out"}),),
    ),
    Reply(tools=(Asked("expand_result", {"turn": 1, "step": 1, "grep": "id=250 "}),)),
    Reply(text="“ERROR GET /orders upstream timed out after 5 s id=250”, at 00:04:10."),
    Reply(tools=(Asked("recall_turn", {"turn": "3"}),)),
    Reply(text="Turn 3: app.py was edited there, from 5 to 30 seconds."),
)


@dataclass(frozen=True, slots=True)
class Row:
    """What one turn took."""

    turn: int
    calls: int
    sent: int
    cached: int
    hidden: str
    asked: str


class _Watch:
    """Counts what the policy hid in a turn."""

    def __init__(self) -> None:
        self.sealed = self.folded = 0

    def prepared(self, prepared: Prepared) -> None:
        self.sealed += len(prepared.entries)
        self.folded += len(prepared.views)

    def taken(self) -> str:
        parts = [(self.sealed, "sealed"), (self.folded, "folded")]
        self.sealed = self.folded = 0
        return ", ".join(f"{count} {word}" for count, word in parts if count) or "-"

    def delta(self, delta: Any) -> None:
        """Nothing is printed while it works."""

    def failed(self, failure: Any, retry_in_ms: float | None) -> None:
        """Nothing fails here."""

    def warning(self, text: str) -> None:
        """Nothing is warned of here."""


def live_lines() -> Iterator[str]:
    """Run the session and tell of it, turn by turn."""
    with tempfile.TemporaryDirectory(prefix="slicetape-demo-") as folder:
        yield from asyncio.run(_live(Path(folder).resolve()))


async def _live(folder: Path) -> list[str]:
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "app.py").write_text(APP, encoding="utf-8")
    (workspace / "server.log").write_text("".join(_log()), encoding="utf-8")
    store = Store(folder / "home")
    async with Provider(Script.of(REPLIES)) as provider:
        rows, name = await _turns(store, workspace, provider)
        said = await _second_process(store, workspace, provider, name)
        served = provider.stats["requests"]
    lines = ["turn  calls   sent  from cache  hidden              asked"]
    lines += [
        f"{r.turn:>4}  {r.calls:>5}  {r.sent:>5,}  {r.cached / max(1, r.sent):>10.0%}  "
        f"{r.hidden:<18}  {r.asked}"
        for r in rows
    ]
    return [
        *lines,
        "",
        f"A second process goes on with session {name}: {RESUMED}",
        *(f"  {line}" for line in said),
        "",
        f"{served} requests over HTTP; each one inside a turn repeated the one before it, byte for",
        "byte. The model's words are scripted; all the rest is what it is in earnest.",
    ]


async def _turns(store: Store, workspace: Path, provider: Provider) -> tuple[list[Row], str]:
    watch = _Watch()
    setting = Setting(
        options=AgentOptions(model=MODEL),
        loaded=Loaded(Settings(), {}),
        store=store,
        cwd=workspace,
        watcher=watch,
        asker=None,
        permission="workspace",
        earlier={},
    )
    session = begun(store, workspace)
    agent, _ = assembled(setting, session, model_from(MODEL, environ=provider.environ))
    ledger, rows = Ledger(session, None), list[Row]()
    for number, text in enumerate(TURNS, 1):
        agent.followup(text)
        await agent.when_idle()
        spent = ledger.turn
        rows.append(
            Row(number, spent.calls, spent.tokens.input, spent.tokens.cached, watch.taken(), text)
        )
    await agent.close()
    return rows, session.log.header.id


async def _second_process(
    store: Store, workspace: Path, provider: Provider, name: str
) -> list[str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "slicetape.cli", "run", "--session", name, "-m", MODEL, RESUMED),
        cwd=workspace,
        env={**os.environ, **provider.environ, "SLICETAPE_HOME": str(store.home)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return [
        *out.decode("utf-8", "replace").splitlines(),
        *err.decode("utf-8", "replace").splitlines(),
    ]


def _log() -> Iterator[str]:
    for number in range(3_000):
        minutes, seconds = divmod(number, 60)
        stamp = f"2026-11-30T{minutes // 60:02}:{minutes % 60:02}:{seconds:02}Z"
        if number % 250 == 0 and number:
            yield f"{stamp} ERROR GET /orders upstream timed out after 5 s id={number} \n"
        else:
            yield f"{stamp} INFO GET /health 200 in {number % 17} ms id={number} \n"
