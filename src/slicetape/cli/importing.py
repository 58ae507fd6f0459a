"""`slicetape import`: transcripts and logs become sessions at home, whole or not at all."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path, PurePath

import click
import msgspec

from slicetape.cli.output import progress, told, warn
from slicetape.cli.pictures import Pictures
from slicetape.cli.target import LOG_FORMAT, Target, read_file, view_only_from
from slicetape.cli.text import visible
from slicetape.errors import DamagedLog, SessionNotFound, SlicetapeError, StorageFailed
from slicetape.formats.source import Transcript
from slicetape.log.events import Header
from slicetape.log.log import SessionLog
from slicetape.log.logfile import place
from slicetape.log.older import read_any
from slicetape.log.scan import is_compressed
from slicetape.log.spill import Blobs, copy_spills, spills_of
from slicetape.log.store import Store

_EXAMPLES = """\b
Examples:
  slicetape import ~/.claude/projects/-proj/7f3a.jsonl
  slicetape import rollouts/*.jsonl --project ~/proj
  slicetape import session.v3.jsonl.zstd --id copy-of-7f3a"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks of every session: another id, another working directory."""

    format: str | None = None
    id: str | None = None
    project: str | None = None
    to_damage: bool = False
    spills: Path | None = None

    def header(self, header: Header) -> Header:
        """The header that a session gets; the rest of an id behind its file's name stays."""
        if self.id is not None:
            _, slash, rest = header.id.partition("/")
            header = msgspec.structs.replace(header, id=f"{self.id}{slash}{rest}")
        if self.project is not None:
            header = msgspec.structs.replace(header, cwd=self.project)
        return header


@dataclass(frozen=True, slots=True)
class Home:
    """The store, and the log of each session in it, looked up once."""

    store: Store
    taken: dict[str, Path]

    @classmethod
    def at(cls, store: Store) -> "Home":
        """A store as it is now."""
        return cls(store, {session.id: session.log for session in store.sessions()})


@click.command(name="import", epilog=_EXAMPLES)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--format", metavar="NAME", help="The format, where detection is wrong.")
@click.option("--project", metavar="CWD", help="The working directory that the sessions get.")
@click.option("--id", "id_", metavar="ID", help="The id that the session of the one FILE gets.")
@click.option(
    "--spills",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where another host kept outputs too large for its log; previews find them by name.",
)
@click.option("--to-damage", is_flag=True, help="Of a damaged log take what can be read.")
def import_(
    files: tuple[str, ...],
    format: str | None,
    project: str | None,
    id_: str | None,
    *,
    spills: Path | None,
    to_damage: bool,
) -> None:
    """Bring transcripts and logs in as sessions, and print the id of each.

    The format is found by content. Files stay as they are; a session that is already there is
    never changed. One bad FILE does not stop the others; the exit status is then 1.
    """
    if id_ is not None and (len(files) > 1 or not id_.strip()):
        raise click.UsageError("--id names the session of exactly one FILE")
    folder = str(Path(project).expanduser().absolute()) if project is not None else None
    asked = Asked(format, id_, folder, to_damage, spills)
    home, failed = Home.at(Store()), False
    size = sum(path.stat().st_size for path in map(Path, files) if path.is_file())
    with progress("importing", len(files), size=size) as bar:
        for file in files:
            bar.step(Path(file).name)
            try:
                for line in _bring_in(home, Path(file).expanduser(), asked):
                    bar.pause()
                    click.echo(visible(line))
            except (SlicetapeError, OSError) as error:
                failed = True
                bar.pause()
                warn(told(error), word="error")
    if failed:
        click.get_current_context().exit(1)


def _bring_in(home: Home, path: Path, asked: Asked) -> Iterator[str]:
    """Take in the sessions of one file; a line for each."""
    if not path.exists():
        raise SessionNotFound(f"{path}: no such file")
    keep = Pictures(home.store.home).keep
    count = 0
    for found in read_file(path, format=asked.format, keep=keep, changed=asked.header):
        count += 1
        if found.damage and not asked.to_damage:
            raise DamagedLog(
                f"{path}: damaged at {found.damage}.\n"
                "Nothing was imported; --to-damage imports what stands before it"
            )
        yield _put(home, found, asked)
        if asked.spills is not None:
            _take_spills(found, home.taken[asked.header(found.log.header).id], asked.spills)
        found.tell()
    if not count:
        raise DamagedLog(f"{path}: no session in it")


def _put(home: Home, found: Target, asked: Asked) -> str:
    """Place a session in the store unless it is there; say which."""
    log, header, store = found.log, found.log.header, home.store
    if found.format == LOG_FORMAT:
        header = asked.header(header)
    there = home.taken.get(header.id)
    if there is not None:
        _refuse_other(found, header, there)
        return f"{header.id} (already there, with the same content)"
    if header == log.header and log.path is None and view_only_from(log) is not None:
        path = store.path_for(header).with_name("session.v4.jsonl")
        # Only format 4 says it whole; from there it is opened to be read, never to be continued.
        place(path, Transcript(found.where).lines())
    elif header == log.header and not found.damage:
        path = store.take_in(log, compressed=log.path is not None and is_compressed(log.path))
    else:
        path = store.path_for(header)
        copy_spills(log.events, log.blobs, Blobs.beside(path))
        place(path, _pieces(log, header))
    home.taken[header.id] = path
    return header.id


def _take_spills(found: Target, log: Path, folder: Path) -> None:
    """Keep the full text of every preview that a file in `folder` of the same name holds."""
    blobs, known, missing = Blobs.beside(log), dict[str, str](), 0
    for block, part, spill in spills_of(found.log.events):
        if spill.where in known:
            continue
        file = folder / PurePath(spill.where).name
        if not file.is_file() or file.is_symlink():
            missing += 1
            continue
        text = file.read_bytes().decode("utf-8", "replace")
        known[spill.where] = blobs.put(text, block=block, part=part).sha256
    if known:
        blobs.learn(known)
    if missing:
        warn(f"{found.where}: {missing} previews have no full text in {folder}")


def _refuse_other(found: Target, header: Header, there: Path) -> None:
    """Raise when the session at `there` says anything else than the one that was read."""
    if _digest(_lines(read_any(there, to_damage=True))) != _digest(_lines(found.log, header)):
        raise StorageFailed(
            f"{found.where}: the session {header.id[:80]!r} is already there with other content "
            f"({there}).\nNothing was changed; --id NAME imports this one under another id"
        )


def _lines(log: SessionLog, header: Header | None = None) -> Iterator[bytes]:
    from slicetape.log.codec import encode_header

    same = header is None or header == log.header
    first = log.header_line if same or header is None else encode_header(header)
    return chain((first,), log.lines())


def _pieces(log: SessionLog, header: Header) -> Iterator[bytes]:
    lines = _lines(log, header)
    while batch := list(islice(lines, 1000)):
        yield b"\n".join(batch) + b"\n"


def _digest(lines: Iterable[bytes]) -> bytes:
    mark = hashlib.sha256()
    for line in lines:
        mark.update(line)
        mark.update(b"\n")
    return mark.digest()
