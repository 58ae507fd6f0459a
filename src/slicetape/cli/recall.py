"""`slicetape recall`: the four tools of a model, by hand."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

import click

from slicetape.cli.output import echo_json, on_terminal, verbatim
from slicetape.cli.target import Target, target
from slicetape.cli.text import plain
from slicetape.errors import RecallError
from slicetape.log.events import FORMAT_VERSION, Foreign
from slicetape.log.spill import SessionSpills
from slicetape.log.upgrade import IMPORT_KIND, seq_now
from slicetape.recall.index import KINDS
from slicetape.recall.tools import Recall, dispatch

_EXAMPLES = """\b
Examples:
  slicetape recall 7f3a turn 12
  slicetape recall 7f3a step 12 3
  slicetape recall 7f3a search "connection refused"
  slicetape recall 7f3a expand 164 --grep error"""


@dataclass(frozen=True, slots=True)
class Asked:
    """The session that is asked, read when a tool needs it, and how its answers are printed."""

    session: str
    format: str | None
    as_json: bool

    def read(self) -> Target:
        """Open the session."""
        return target(self.session, format=self.format).tell()

    def answer(self, tool: str, arguments: Mapping[str, object]) -> None:
        """Print what a tool returns. RecallError when it cannot answer."""
        given = {key: value for key, value in arguments.items() if value is not None}
        found = self.read()
        text = dispatch(tool, given, _reader(found))
        if self.as_json:
            echo_json({"session": found.id, "tool": tool, "arguments": given, "text": text})
        else:
            verbatim(text)


def _reader(found: Target) -> Recall:
    log = found.log
    return Recall.of(found.view, spills=SessionSpills(log.events, log.blobs), line=log.raw)


def _take_json(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.obj = replace(ctx.obj, as_json=True)


_json = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    callback=_take_json,
    help="Print the answer as one JSON object.",
)


@click.group(epilog=_EXAMPLES)
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON object.")
@click.option("--format", metavar="NAME", help="The format of a FILE, where detection is wrong.")
@click.pass_context
def recall(ctx: click.Context, session: str, format: str | None, *, as_json: bool) -> None:
    """Bring turns, steps and results of a SESSION (or FILE) back verbatim.

    The text is the one that a model gets. --format stands before the name of the tool.
    """
    ctx.obj = Asked(session, format, as_json)


@recall.command(epilog="\b\nExample:\n  slicetape recall 7f3a turn 12 --full")
@click.argument("turn", metavar="N")
@click.option("--full", is_flag=True, help="With reasoning, calls and every original record.")
@_json
@click.pass_obj
def turn(asked: Asked, turn: str, *, full: bool) -> None:
    """One turn as it was said."""
    asked.answer("recall_turn", {"turn": turn, "view": "full" if full else "dialogue"})


@recall.command(epilog="\b\nExample:\n  slicetape recall 7f3a step 12 3")
@click.argument("turn", metavar="TURN")
@click.argument("step", metavar="STEP")
@_json
@click.pass_obj
def step(asked: Asked, turn: str, step: str) -> None:
    """The calls of one step, and every result in full."""
    asked.answer("recall_step", {"turn": turn, "step": step})


@recall.command(epilog='\b\nExample:\n  slicetape recall 7f3a search "retry policy" --limit 3')
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most this many hits.")
@click.option(
    "--scope", type=click.Choice(("dialogue", "auto")), help="auto looks into tool output as well."
)
@click.option("--kinds", metavar="LIST", help=f"Only these kinds of text: {','.join(KINDS)}.")
@_json
@click.pass_obj
def search(
    asked: Asked, query: tuple[str, ...], limit: int | None, scope: str | None, kinds: str | None
) -> None:
    """Find words in this session; each hit names the call for its original."""
    names = [name.strip() for name in kinds.split(",")] if kinds else None
    arguments = {"query": " ".join(query), "limit": limit, "scope": scope, "kinds": names}
    asked.answer("recall_search", arguments)


@recall.command(epilog="\b\nExample:\n  slicetape recall 7f3a expand 164 --lines 1-40")
@click.argument("seq", type=click.IntRange(min=0))
@click.option("--lines", metavar="A-B", help="Only these lines, both included.")
@click.option("--grep", metavar="P", help="Only lines that match, with two lines around each.")
@click.option("--block", type=click.IntRange(min=1), metavar="B", help="One of several results.")
@click.option("--raw", is_flag=True, help="The bare text, without a head line.")
@click.option(
    "--format-version",
    "version",
    type=int,
    default=FORMAT_VERSION,
    show_default=True,
    help="The formatVersion printed beside the seq.",
)
@_json
@click.pass_obj
def expand(
    asked: Asked,
    seq: int,
    lines: str | None,
    grep: str | None,
    block: int | None,
    version: int,
    *,
    raw: bool,
) -> None:
    """One tool result, whole or some of its lines."""
    arguments = {"seq": seq, "formatVersion": version, "block": block}
    if version != FORMAT_VERSION:
        raise RecallError(_explained(asked.read(), seq, version))
    if not raw:
        asked.answer("expand_result", {**arguments, "lines": lines, "grep": grep})
        return
    if lines or grep or asked.as_json:
        raise click.UsageError("--raw prints the whole text; leave out --lines, --grep and --json")
    from slicetape.recall.result import find_result

    reader = _reader(asked.read())
    text = find_result(reader.view, arguments).text(reader.spills)
    if on_terminal():
        verbatim(text)
    else:
        sys.stdout.buffer.write(plain(text)[0])


def _explained(found: Target, seq: int, version: int) -> str:
    """What became of a seq that was printed under another format version."""
    for event in found.log.events:
        if isinstance(event, Foreign) and event.kind == IMPORT_KIND:
            note = json.loads(bytes(event.data))
            if note.get("fromVersion") == version:
                now = seq_now(note["seqMap"], seq)
                if now is None:
                    where = "was folded into another event"
                    return f"seq {seq} of format {version} {where}; search for its text instead"
                where = f"is seq {now}"
                return (
                    f"seq {seq} of format {version} {where} in this session, which has format "
                    f"{FORMAT_VERSION}; ask for that one if it is what you mean"
                )
    return (
        f"seq {seq} was printed under format {version}, this session has format {FORMAT_VERSION}, "
        "and seqs change between formats; `recall SESSION search` gives fresh locators"
    )
