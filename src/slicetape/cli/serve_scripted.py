"""`slicetape serve-scripted`: a provider on this machine that says what a script tells it to."""

import asyncio
import signal
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from slicetape.cli.output import as_json, echo_json
from slicetape.cli.text import one_line
from slicetape.errors import UsageError

if TYPE_CHECKING:
    from slicetape.testing.replies import Reply, Script
    from slicetape.testing.server import Provider, Received

_EXAMPLES = """\b
Examples:
  slicetape serve-scripted --port 8799
  slicetape serve-scripted --script replies.jsonl --fault 2=429 --fault 3=cut
  slicetape serve-scripted --session 7f3a --record requests.jsonl

\b
In another terminal, behind the printed `export` lines:
  slicetape chat -m deepseek:scripted

\b
A script is a JSON list or JSON Lines of replies, taken in order; those with "when" answer
whenever that text was said since the last answer:
  {"text": "Let me look.", "tools": [{"name": "read", "args": {"file_path": "a.py"}}]}
  {"when": "hello", "text": "Hello.", "fault": "slow"}

\b
Kinds of --fault: a status from 400 to 599, overflow, empty, cut, cut-call, malformed, hang,
stall, slow-first, slow, duplicate-ids, empty-id, no-name."""


@dataclass(frozen=True, slots=True)
class _Served:
    """What is served: where, what is said, and how it is billed."""

    port: int
    script: Path | None
    session: str | None
    faults: tuple[str, ...]
    tokens: str
    cache: str | None
    window: int | None


_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(epilog=_EXAMPLES)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; 0 takes any.")
@click.option("--script", type=_FILE, help="Say what this file says.")
@click.option("--session", metavar="SESSION|FILE", help="Say what was said in this session.")
@click.option(
    "--fault", "faults", multiple=True, metavar="N=KIND", help="Let request N fail; see below."
)
@click.option(
    "--tokens",
    metavar="COUNTER",
    default="bytes",
    help="Count tokens so: bytes, deepseek, o200k, …",
)
@click.option(
    "--cache",
    metavar="RULES",
    help="Bill all requests so: deepseek, openai-5.6, none, …",
)
@click.option(
    "--window", type=click.IntRange(1), metavar="TOKENS", help="Refuse prompts longer than this."
)
@click.option("--record", type=_FILE, help="Append every request to this file, without keys.")
@click.option("--json", "as_rows", is_flag=True, help="Print addresses and requests as JSON.")
def serve_scripted(record: Path | None, *, as_rows: bool, **options: Any) -> None:
    """Serve both wires, OpenAI chat and Anthropic messages, with streaming and usage.

    No model is behind it and no key is needed. Replies come from a script or a recorded session;
    when none is left, or without either, it echoes what was said and calls a tool that only looks
    now and then. Usage comes from the cache simulator, GET /__stats gives totals. It listens on
    the loopback address alone. Ctrl-C stops it.
    """
    from slicetape.testing.replies import Script, faults_of

    served = _Served(**options)
    script = Script.of(_replies(served))
    script.faults = dict(faults_of(served.faults))
    provider = _provider(served, script)
    with ExitStack() as stack:
        file = stack.enter_context(record.open("a", encoding="utf-8")) if record else None
        provider.watch = _Log(file, as_rows=as_rows).take
        asyncio.run(_serve(provider, as_rows=as_rows))


def _replies(served: _Served) -> "list[Reply]":
    from slicetape.testing.replies import read_script, recorded

    if served.script and served.session:
        raise UsageError("--script and --session both say what is replied; give one of them")
    if served.script:
        return read_script(served.script)
    if not served.session:
        return []
    from slicetape.cli.target import target

    found = recorded(target(served.session).tell().log.events)
    if not found:
        raise UsageError(f"{served.session[:200]}: nothing was answered in this session")
    return found


def _provider(served: _Served, script: "Script") -> "Provider":
    from slicetape.testing.improvising import improvised
    from slicetape.testing.server import Provider
    from slicetape.testing.speaker import CACHES, Billing

    script.otherwise = improvised
    caches = dict.fromkeys(CACHES, served.cache) if served.cache else {}
    billing = Billing(tokens=served.tokens, caches=caches, window=served.window)
    return Provider(script, port=served.port, billing=billing)


async def _serve(provider: "Provider", *, as_rows: bool) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with provider:
        _greet(provider, as_rows=as_rows)
        await stopped.wait()
    if as_rows:
        echo_json({"type": "stats", **provider.stats})
    else:
        click.echo(_totals(provider.stats), err=True)


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
            "path": received.path,
            "wire": received.wire,
            "status": received.status,
            "note": received.note,
            "growth": received.growth,
            "usage": dict(received.usage),
        }
        if self._file:
            sent = {"headers": dict(received.headers), "body": received.body}
            self._file.write(as_json({**row, **sent}) + "\n")
            self._file.flush()
        if self._rows:
            echo_json(row)
        else:
            click.echo(f"{self._count} {_told(received)}", err=True)


def _told(received: "Received") -> str:
    """One line of a request: how it ended, what it weighed, and whether it extended the last."""
    note = f" {one_line(received.note, 120)}" if received.note else ""
    line = f"{received.path} {received.status}{note}"
    usage = received.usage
    if not usage:
        return line
    cached = usage.get("cache_read_input_tokens", usage.get("prompt_cache_hit_tokens", 0))
    written = usage.get("cache_creation_input_tokens", 0)
    prompt = usage.get("prompt_tokens") or cached + written + usage.get("input_tokens", 0)
    output = usage.get("completion_tokens", usage.get("output_tokens", 0))
    growth = {"broken": "PREFIX BROKEN inside a turn", "rewritten": "rewritten between turns"}
    told = growth.get(received.growth, received.growth)
    return f"{line} sent {prompt:,}, cached {cached:,}, said {output:,}; {told}"


def _greet(provider: "Provider", *, as_rows: bool) -> None:
    if as_rows:
        echo_json({"type": "serving", "url": provider.url, "environ": provider.environ})
        return
    click.echo(f"serving {provider.url} (chat completions and messages); Ctrl-C stops")
    for name, value in provider.environ.items():
        click.echo(f"  export {name}={value}")


def _totals(stats: dict[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in stats.items())
