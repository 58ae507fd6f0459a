"""Instruction files of a workspace, put into the conversation as they apply and as they change.

`AGENTS.md` of the home folder first, then from the project root (the folder with `.git`) down to
the working directory `AGENTS.md`, `CLAUDE.md`, `AGENTS.local.md` and `CLAUDE.local.md` of each
folder. Reading, writing or editing a file deeper down brings in the files on the way to it. What
was said is found in the log, so a resumed session says only what is new.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from slicetape.log.events import Event, UserMessage
from slicetape.log.messages import Message, Source, Text
from slicetape.loop.protocols import Call, Ids, Output
from slicetape.surface import Session

KIND = "agent-instructions"
NAMES = ("AGENTS.md", "CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md")
MOST_BYTES = 65_536
MOST_SOURCE_BYTES = 1_048_576
FILE_TOOLS = frozenset({"read", "write", "edit"})

_OPEN, _CLOSE = "<system-reminder>", "</system-reminder>"
_INTRODUCTION = (
    "Instructions that the workspace keeps for agents. Follow them where they apply; what stands "
    "deeper in the tree goes before what stands above it, and what the user or the system says "
    "goes before both."
)


class _Change(msgspec.Struct, frozen=True, omit_defaults=True):
    action: str
    scope: str
    path: str
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class _File:
    """An instruction file as it is now; `depth` grows towards the working directory."""

    path: Path
    shown: str
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


class InstructionFiles:
    """What a session was told of the instruction files around `cwd`, and what it is owed."""

    def __init__(self, session: Session, cwd: Path, home: Path | None, ids: Ids) -> None:
        self._session = session
        self._cwd = cwd
        self._home = home
        self._ids = ids
        self._told: dict[str, str] = {}
        self._seqs: list[int] = []
        self._stamps: dict[str, tuple[int, int]] = {}
        self._deeper: dict[Path, None] = {}
        for event in session.log.events:
            self._take(event)
        session.listen(lambda event, _: self._take(event))

    def before_step(self, turn: int, step: int, claimed: Sequence[Message]) -> Sequence[Message]:
        """One message with the files that are new, changed or gone; none when nothing is."""
        first = not any(seq in self._session.view.surface for seq in self._seqs)
        if first:
            self._told.clear()
            self._stamps.clear()
        folders = [*_folders(self._cwd), *self._deeper]
        paths = [folder / name for folder in folders for name in NAMES]
        if self._home is not None:
            paths.insert(0, self._home / NAMES[0])
        changed = [path for path in paths if self._moved(path)]
        if not changed:
            return ()
        found = [file for path in changed if (file := self._read(path)) is not None]
        gone = [path for path in changed if str(path) in self._told and not path.is_file()]
        told = set(self._told.values())
        due = _once([file for file in found if file.digest not in told])
        return (self._message(due, gone, first=first),) if due or gone else ()

    def after_call(self, call: Call, arguments: Mapping[str, Any] | str, output: Output) -> None:
        """Remember the folders on the way to a file that was read, written or edited."""
        if call.name not in FILE_TOOLS or output.is_error or isinstance(arguments, str):
            return
        named = arguments.get("file_path")
        if not isinstance(named, str) or "\0" in named:
            return
        folder = (self._cwd / named).parent
        if folder.is_relative_to(self._cwd) and folder != self._cwd:
            steps = folder.relative_to(self._cwd).parts
            for depth in range(1, len(steps) + 1):
                self._deeper.setdefault(self._cwd.joinpath(*steps[:depth]))

    def _moved(self, path: Path) -> bool:
        """Whether a file may say something else than when it was looked at last."""
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
        except (OSError, ValueError):
            stamp = (0, -1)
        known = self._stamps.get(str(path), (0, -1))
        self._stamps[str(path)] = stamp
        return stamp != known or (stamp == (0, -1) and str(path) in self._told)

    def _read(self, path: Path) -> _File | None:
        try:
            if not path.is_file() or path.stat().st_size > MOST_SOURCE_BYTES:
                return None
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        return _File(path, self._shown(path), text) if text.strip() else None

    def _shown(self, path: Path) -> str:
        try:
            return str(path.relative_to(self._cwd))
        except ValueError:
            return str(path)

    def _message(self, due: Sequence[_File], gone: Sequence[Path], *, first: bool) -> Message:
        kept, left = _fitting(due)
        parts = [_INTRODUCTION]
        parts += [f"Instructions from: {file.shown}\n\n{file.text.strip()}" for file in kept]
        parts += [f"No longer there, and no longer to be followed: {self._shown(p)}" for p in gone]
        if left:
            names = ", ".join(file.shown for file in left)
            parts.append(f"Left out because there is no room for all: {names}")
        body = "\n\n".join(parts).replace(_CLOSE, _CLOSE.replace("/", "\\/"))
        changes = [
            _Change("set", self._scope(file.path), file.shown, file.digest) for file in due
        ] + [_Change("remove", self._scope(path), self._shown(path)) for path in gone]
        source = Source(
            KIND,
            form="instructions",
            baseline=first or None,
            changes=Raw(msgspec.json.encode(changes)),
        )
        return Message(self._ids(), "user", (Text(f"{_OPEN}\n{body}\n\n{_CLOSE}"),), source)

    def _scope(self, path: Path) -> str:
        return f"{self._shown(path.parent)}\0{path.name}"

    def _take(self, event: Event) -> None:
        if not isinstance(event, UserMessage) or event.data.source.kind != KIND:
            return
        self._seqs.append(event.seq)
        try:
            changes = msgspec.json.decode(event.data.source.changes or b"[]", type=list[_Change])
        except msgspec.MsgspecError:
            return
        for change in changes:
            path = str(self._cwd / change.path)
            if change.action == "remove":
                self._told.pop(path, None)
            elif change.digest is not None:
                self._told[path] = change.digest


def _folders(cwd: Path) -> list[Path]:
    """From the project root, the nearest folder with `.git`, down to `cwd`."""
    for root in (cwd, *cwd.parents):
        if (root / ".git").exists():
            steps = cwd.relative_to(root).parts
            return [root.joinpath(*steps[:depth]) for depth in range(len(steps) + 1)]
    return [cwd]


def _once(files: Iterable[_File]) -> list[_File]:
    """Files that say the same are said once, by the one nearest to the root."""
    said: dict[str, _File] = {}
    for file in files:
        said.setdefault(file.text.strip(), file)
    return list(said.values())


def _fitting(files: Sequence[_File]) -> tuple[list[_File], list[_File]]:
    """Those that there is room for, the most specific first, and the rest; both in order."""
    room, kept = MOST_BYTES, list[_File]()
    for file in reversed(files):
        size = len(file.text.encode())
        if size <= room:
            room -= size
            kept.append(file)
    return [f for f in files if f in kept], [f for f in files if f not in kept]
