"""`slicetape fold`: the view of one text, for trying settings and for bug reports."""

import sys
from pathlib import Path

import click

from slicetape.cli.output import echo_json, verbatim, warn
from slicetape.config import load
from slicetape.policy.fold_head import Place, most_head_chars, view_head
from slicetape.policy.views import condense

_EXAMPLES = """\b
Examples:
  slicetape fold build.log
  slicetape fold rows.json --tool read --path rows.json
  grep -rn TODO . | slicetape fold - --tool grep"""

_MOST = 256 << 20
_NOWHERE = Place(turn=1, step=1, call=1, seq=1)


@click.command(epilog=_EXAMPLES)
@click.argument("file")
@click.option(
    "--tool", default="bash", show_default=True, metavar="NAME", help="The tool it came from."
)
@click.option("--path", metavar="P", help="The path that the call named; none unless given.")
@click.option("--config", metavar="FILE", help="Settings; only `digest` matters here.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def fold(file: str, tool: str, path: str | None, config: str | None, *, as_json: bool) -> None:
    """Print what a model would see of FILE (`-`: standard input) if a tool returned it.

    The head line names made-up locators: the text belongs to no session. A text that is shown
    whole is printed whole, and stderr says so.
    """
    text = _read(file)
    settings = load(config).settings.digest
    head_chars = most_head_chars(tool, path, text, _NOWHERE)
    made = condense(text, tool, path, settings=settings, head_chars=head_chars)
    head = view_head(tool, path, made, _NOWHERE)
    shown = text if made.view is None else f"{head}\n{made.view}"
    if as_json:
        facts = {"kind": made.kind, "folded": made.view is not None, "chars": len(text)}
        lines = {"total_lines": made.total_lines, "kept_lines": made.kept_lines}
        echo_json({**facts, **lines, "view_chars": len(shown), "text": shown})
        return
    verbatim(shown, json_too=True)
    share = f"{len(text):,} → {len(shown):,} chars" if made.view is not None else "shown whole"
    lines_kept = f"{made.total_lines:,} lines, {made.kept_lines:,} kept"
    warn(f"{made.kind} · {lines_kept} · {share}", word="note")


def _read(file: str) -> str:
    """The text, invalid UTF-8 replaced as a tool's output would be."""
    if file == "-":
        data = sys.stdin.buffer.read(_MOST + 1)
    else:
        with Path(file).expanduser().open("rb") as source:
            data = source.read(_MOST + 1)
    if len(data) > _MOST:
        raise click.ClickException(f"{file}: larger than {_MOST >> 20} MiB; cut it first")
    return data.decode("utf-8", "replace")
