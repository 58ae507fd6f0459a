"""`slicetape demo`: a small real session, replayed, sealed and recalled; no key, no network."""

from collections.abc import Iterator
from importlib.resources import as_file, files

import click

from slicetape.cli.replay_table import report_lines
from slicetape.cli.text import visible

_EXAMPLES = """\b
Example:
  slicetape demo"""

_DATA = "cc-10.jsonl.zst"
_LONGEST = 24


@click.command(epilog=_EXAMPLES)
@click.option("--full", is_flag=True, help="Print the entry and the page whole.")
def demo(*, full: bool) -> None:
    """Replay a small real session that comes with slicetape.

    Prints what it cost under four arms, one sealed entry, and one tool result brought back from
    behind that entry, verbatim.
    """
    for line in _demo(None if full else _LONGEST):
        click.echo(line)


def _demo(longest: int | None) -> Iterator[str]:
    from slicetape.log.messages import text_of
    from slicetape.replay.arms import TAPE
    from slicetape.replay.counting import Counts
    from slicetape.replay.replay import Options, recordings, replay, setting_of
    from slicetape.replay.run import run

    with as_file(files("slicetape.replay") / "demo" / _DATA) as path:
        recording = next(iter(recordings(path)))
    yield "1. A recorded session, priced under four policies (no model is called)"
    yield ""
    yield from report_lines(replay([recording], Options(tokenizer="bytes")))
    counts = Counts(len)
    done = run(recording, TAPE, counts, setting_of(recording, Options(), counts))
    entry = max(done.entries, key=lambda made: len(made.sources))
    yield ""
    yield (
        f"2. One of its {len(done.entries)} entries: what the model sees instead of "
        f"{len(entry.sources)} messages"
    )
    yield ""
    text = text_of(entry.data.content)
    yield from _shown(text, longest)
    yield ""
    yield "3. A tool result that this entry hides, brought back by the call that it prints"
    yield ""
    yield from _recalled(done.session.view, text, longest)


def _recalled(view: object, entry: str, longest: int | None) -> Iterator[str]:
    import re

    from slicetape.log.events import FORMAT_VERSION
    from slicetape.recall.tools import Recall, dispatch
    from slicetape.surface import View

    assert isinstance(view, View)
    lines = re.findall(r"· (\d+) chars · (expand_result\(\{\"seq\":(\d+),.*?\}\))\]", entry)
    _, call, seq = max(lines, key=lambda line: int(line[0]))
    yield f"> {call}"
    arguments = {"seq": int(seq), "formatVersion": FORMAT_VERSION}
    yield from _shown(dispatch("expand_result", arguments, Recall.of(view)), longest)


def _shown(text: str, longest: int | None) -> Iterator[str]:
    lines = visible(text).split("\n")
    for line in lines[:longest]:
        yield f"  {line}" if longest is None or len(line) <= 160 else f"  {line[:160]}…"
    if longest is not None and len(lines) > longest:
        yield f"  … {len(lines) - longest} more lines; `slicetape demo --full` prints all"
