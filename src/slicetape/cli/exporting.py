"""`slicetape export`: the log of a session as a file, byte for byte where nothing is asked."""

import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import click

from slicetape.cli.target import Target, target
from slicetape.errors import DamagedLog, StorageFailed, UnsupportedFormat
from slicetape.log.frames import compress
from slicetape.log.logfile import pieces_of, place
from slicetape.log.scan import is_compressed

_EXAMPLES = """\b
Examples:
  slicetape export 7f3a -o 7f3a.jsonl
  slicetape export 7f3a --zstd -o session.v3.jsonl.zstd
  slicetape export 7f3a --format-version 4 | head -1"""

_LINES = 1000


@click.command(epilog=_EXAMPLES)
@click.argument("session")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="A new file; a name in .zst or .zstd means --zstd. Without it, stdout.",
)
@click.option("--format-version", "version", type=click.Choice(("3", "4")), help="Default: 3.")
@click.option("--zstd", is_flag=True, help="In the compressed form of logs.")
def export(session: str, output: Path | None, version: str | None, *, zstd: bool) -> None:
    """Write the log of a session (or of any FILE, as a log) to a file or to stdout.

    A log that is stored in the form asked for comes out byte for byte.
    """
    zstd = zstd or (output is not None and is_compressed(output))
    if output is None and zstd and sys.stdout.isatty():
        raise click.UsageError("compressed bytes are not for a terminal; name a file with -o")
    found = target(session).tell()
    if found.damage:
        raise DamagedLog(
            f"{found.where}: damaged, so only a part could be exported; copy the file itself, or "
            "import it with --to-damage"
        )
    pieces = _pieces(found, int(version) if version else None, zstd=zstd)
    if output is None:
        out = sys.stdout.buffer
        for piece in pieces:
            out.write(piece)
        out.flush()
        return
    if not output.absolute().parent.is_dir():
        raise StorageFailed(f"{output}: no such folder; make it first")
    if output.exists():
        raise StorageFailed(f"{output}: already there; choose another name")
    place(output, pieces)


def _pieces(found: Target, version: int | None, *, zstd: bool) -> Iterator[bytes]:
    """The bytes to write: those of the stored file when it is what was asked for."""
    log = found.log
    if log.path is not None and version in (None, 3) and is_compressed(log.path) == zstd:
        return pieces_of(log.path)
    if log.path is None and not log.writable and version != 4:
        raise UnsupportedFormat(
            f"{found.where}: cannot be said whole in format 3; export it with --format-version 4"
        )
    lines: Iterable[bytes] = chain((log.header_line,), log.lines())
    if version == 4:
        if log.path is None and not log.writable:
            lines = _own_lines(found.where)
        else:
            from slicetape.log.upgrade import export_v4

            lines = export_v4(lines)
    return _framed(lines) if zstd else _plain(lines)


def _own_lines(path: Path) -> Iterator[bytes]:
    from slicetape.formats.source import Transcript

    return (line.rstrip(b"\n") for line in Transcript(path).lines())


def _plain(lines: Iterable[bytes]) -> Iterator[bytes]:
    rest = iter(lines)
    while batch := list(islice(rest, _LINES)):
        yield b"\n".join(batch) + b"\n"


def _framed(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The header alone in the first frame, then frames of many lines."""
    rest = iter(lines)
    for first in islice(rest, 1):
        yield compress(first + b"\n")
    for piece in _plain(rest):
        yield compress(piece)
