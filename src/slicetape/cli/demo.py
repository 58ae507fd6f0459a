"""`slicetape demo`: a live session over HTTP, then a recorded one, priced and recalled; no key."""

import re
from collections.abc import Iterator
from importlib.resources import as_file, files

import click

from slicetape.cli.output import width
from slicetape.cli.replay_table import report_lines
from slicetape.cli.text import cut, visible, wrapped
from slicetape.surface import View

_EXAMPLES = """\b
Example:
  slicetape demo"""

_DATA = "cc-10.jsonl.zst"
_ARMS = "mask:30,tape"
_LONGEST = 20
_TOOL_LINES = 8
_TOOL_LINE = re.compile(r"· (\d+) chars · (expand_result\(\{\"seq\":(\d+),.*?\}\))\]")


@click.command(epilog=_EXAMPLES)
@click.option("--full", is_flag=True, help="Print the entry and the page whole.")
def demo(*, full: bool) -> None:
    """Run a session live against a scripted provider, and replay a recorded one.

    Prints the live session turn by turn and how a second process goes on with it; then what a
    real recorded session cost under three arms, one sealed entry of it, and one tool result
    brought back from behind that entry, verbatim.
    """
    for line in (*_lived(), *_demo(None if full else _LONGEST, width())):
        click.echo(line)


def _lived() -> Iterator[str]:
    from slicetape.cli.live_demo import live_lines

    yield from _heading("1. A live session, over HTTP to a scripted provider on this machine.")
    yield from live_lines()


def _demo(longest: int | None, width: int) -> Iterator[str]:
    from slicetape.log.messages import text_of
    from slicetape.replay.arms import TAPE, arms
    from slicetape.replay.counting import Counts
    from slicetape.replay.replay import Options, nodes_of, recordings, replay, setting_of
    from slicetape.replay.run import run

    options = Options(arms=arms(_ARMS))
    with as_file(files("slicetape.replay") / "demo" / _DATA) as path:
        recording = next(iter(recordings(path)))
    yield from _heading("2. A recorded session, priced under three policies. No model is called.")
    yield from report_lines(replay([recording], options), width)
    yield from _told(_READING, width)

    nodes = nodes_of(recording, options, Counts(len))
    done = run(recording, TAPE, nodes, setting_of(recording, options, nodes.counts))
    entry = max(done.entries, key=lambda made: len(made.sources))
    yield from _heading(
        f"3. One of its {len(done.entries)} entries: what the model sees instead of "
        f"{len(entry.sources)} messages."
    )
    text = text_of(entry.data.content)
    yield from _shown(text, longest, width, end=_TOOL_LINES)
    yield from _heading("4. A tool result behind this entry, brought back by the call it prints.")
    yield from _recalled(done.session.view, text, longest, width)


_READING = (
    "transcript sends everything again with every request; its prefix never changes, so nearly "
    "all of it is read from the cache. mask:30 sends less, but each step blanks another old "
    "result, and all that stands behind it is paid as new. tape sends least and keeps its prefix: "
    "only at the first step of a turn is the turn before it sealed."
)


def _heading(text: str) -> tuple[str, str, str]:
    return "", text, ""


def _told(text: str, width: int) -> Iterator[str]:
    yield ""
    yield from wrapped(text, width)


def _recalled(view: View, entry: str, longest: int | None, width: int) -> Iterator[str]:
    from slicetape.log.events import FORMAT_VERSION
    from slicetape.recall.tools import Recall, dispatch

    _, call, seq = max(_TOOL_LINE.findall(entry), key=lambda line: int(line[0]))
    yield f"> {call}"
    arguments = {"seq": int(seq), "formatVersion": FORMAT_VERSION}
    yield from _shown(dispatch("expand_result", arguments, Recall.of(view)), longest, width)


def _shown(text: str, longest: int | None, width: int, *, end: int = 0) -> Iterator[str]:
    """The first `longest` lines, the last `end` of them from the end of the text; None for all."""
    lines = visible(text).expandtabs(4).split("\n")
    if longest is None or len(lines) <= longest:
        yield from (f"  {line}" for line in lines)
        return
    yield from (f"  {cut(line, width - 2)}" for line in lines[: longest - end])
    yield f"  … {len(lines) - longest} more lines; `slicetape demo --full` prints all"
    yield from (f"  {cut(line, width - 2)}" for line in lines[len(lines) - end :])
