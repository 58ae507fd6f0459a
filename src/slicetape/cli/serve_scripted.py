"""`slicetape serve-scripted`: a provider on this machine that says what a script tells it to."""

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from slicetape.cli.output import as_json, echo_json
from slicetape.cli.text import one_line
from slicetape.errors import UsageError

if TYPE_CHECKING:
    from slicetape.testing.replies import Reply
    from slicetape.testing.server import Received

_EXAMPLES = """\b
Examples:
  slicetape serve-scripted --port 8799
  slicetape serve-scripted --script replies.jsonl --fault 2=429 --fault 3=cut
  slicetape serve-scripted --session 7f3a --record requests.jsonl

A script is a JSON list or JSON Lines of replies:
  {"text": "Let me look.", "tools": [{"name": "read", "args": {"file_path": "a.py"}}]}
  {"when": "hello", "text": "Hello."}"""


@click.command(epilog=_EXAMPLES)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; 0 takes any.")
@click.option("--script", type=click.Path(dir_okay=False, path_type=Path), help="What it says.")
@click.option("--session", metavar="SESSION", help="Say what was said in this session.")
@click.option("--fault", "faults", multiple=True, metavar="N=KIND", help="Let request N fail.")
@click.option(
    "--record", type=click.Path(dir_okay=False, path_type=Path), help="Append requests to a file."
)
@click.option("--json", "as_rows", is_flag=True, help="Print addresses and requests as JSON.")
def serve_scripted(
    port: int,
    script: Path | None,
    session: str | None,
    faults: tuple[str, ...],
    record: Path | None,
    *,
    as_rows: bool,
) -> None:
    """Serve both wires, OpenAI chat and Anthropic messages, with streaming and usage.

    No model is behind it and no key is needed: replies come from a script or a recorded session,
    usage from the cache simulator. It listens on the loopback address alone. Ctrl-C stops it.
    """
    from slicetape.testing.replies import faults_of

    rows = _replies(script, session)
    asyncio.run(_serve(rows, dict(faults_of(faults)), (port, record), as_rows=as_rows))


def _replies(script: Path | None, session: str | None) -> "list[Reply]":
    from slicetape.testing.replies import read_script, recorded

    if script and session:
        raise UsageError("--script and --session both say what is replied; give one of them")
    if script:
        return read_script(script)
    if session:
        from slicetape.cli.target import target

        return recorded(target(session).log.events)
    return []


async def _serve(
    rows: "list[Reply]", faults: dict[int, str], where: tuple[int, Path | None], *, as_rows: bool
) -> None:
    from slicetape.testing.replies import Script
    from slicetape.testing.server import Provider

    port, record = where
    script = Script.of(rows)
    script.faults = faults
    file = record.open("a", encoding="utf-8") if record else None
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    watch = _Log(file, as_rows=as_rows)
    async with Provider(script, watch=watch.take, port=port) as provider:
        _greet(provider.url, provider.environ, as_rows=as_rows)
        await stopped.wait()
        if as_rows:
            echo_json({"type": "stats", **provider.stats})
        else:
            click.echo(_totals(provider.stats), err=True)
    if file:
        file.close()


class _Log:
    """One line a request; whole requests go to the file."""

    def __init__(self, file: TextIO | None, *, as_rows: bool) -> None:
        self._file = file
        self._rows = as_rows
        self._count = 0

    def take(self, received: "Received") -> None:
        self._count += 1
        row = {
            "type": "request",
            "number": self._count,
            "wire": received.wire,
            "status": received.status,
            "note": received.note,
            "usage": dict(received.usage),
        }
        if self._file:
            self._file.write(as_json({**row, "body": received.body}) + "\n")
            self._file.flush()
        if self._rows:
            echo_json(row)
            return
        usage = ", ".join(f"{k} {v}" for k, v in received.usage.items() if isinstance(v, int))
        note = f" {one_line(received.note, 120)}" if received.note else ""
        click.echo(f"{self._count} {received.wire} {received.status}{note} {usage}", err=True)


def _greet(url: str, environ: dict[str, str], *, as_rows: bool) -> None:
    if as_rows:
        echo_json({"type": "serving", "url": url, "environ": environ})
        return
    click.echo(f"serving {url} (chat completions and messages); Ctrl-C stops")
    for name, value in environ.items():
        click.echo(f"  export {name}={value}")


def _totals(stats: dict[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in stats.items())
