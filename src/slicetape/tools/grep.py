"""`grep`: lines of files that match an expression, by ripgrep where it is installed.

Without it a program of ours searches the same files: those that git does not ignore, else all
but hidden ones. Both are stopped at the same limits.
"""

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from slicetape.loop.protocols import Call, Output
from slicetape.tools.patterns import VCS, BadPattern, compiled
from slicetape.tools.programs import Failed, printed_lines, printed_names
from slicetape.tools.workspace import Place, Refused, Workspace, printable, quoted

MOST_MATCHES = 250
MOST_LINE_BYTES = 2_000
MOST_META = 64 * 1_024
_AROUND = 80  # bytes of metadata around its rows, at most
LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Match:
    """A matching line: the path as seen from the searched folder, the number, and the text."""

    path: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class GrepTool:
    """Searches the files of a workspace. `ripgrep` is the program, None searches without it."""

    workspace: Workspace
    ripgrep: str | None = field(default_factory=lambda: shutil.which("rg"))
    limit_s: float = LIMIT_S
    name: str = "grep"
    description: str = (
        "Search file contents by a regular expression; path is a file or folder, include one glob "
        "such as *.py. At most 250 matches."
    )
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "path": {"type": "string"},
                "include": {"type": "string"},
            },
            "required": ["pattern"],
        }
    )

    def parallel(self, arguments: Mapping[str, Any]) -> bool:
        """One by one, as in the host."""
        return False

    async def run(self, arguments: Mapping[str, Any], call: Call) -> Output:
        """The matches by file, and how many there are in all."""
        try:
            place = _there(self.workspace, str(arguments.get("path") or "."))
            include = _include(arguments)
            found = await self._search(place, arguments["pattern"], include)
        except (Refused, Failed) as wrong:
            return wrong.output
        except BadPattern as wrong:
            text = f"invalid include: {wrong}"
            return Output.failure(text, name="SearchError", code="SEARCH_INVALID_PATTERN")
        return _told(found, self.workspace.lead(place))

    async def _search(self, place: Place, pattern: str, include: str | None) -> list[Match]:
        rows = (
            self._by_ripgrep(place, pattern, include)
            if self.ripgrep
            else self._by_python(place, pattern, include)
        )
        found: list[Match] = []
        try:
            async with asyncio.timeout(self.limit_s):
                async with contextlib.aclosing(rows):
                    found.extend([match async for match in rows])
        except TimeoutError:
            text = f"the search took longer than {self.limit_s:.0f} s: narrow path or pattern"
            raise Failed(text, "SEARCH_FAILED") from None
        return sorted(found, key=lambda match: (match.path, match.number))

    async def _by_ripgrep(
        self, place: Place, pattern: str, include: str | None
    ) -> AsyncGenerator[Match, None]:
        assert self.ripgrep is not None
        argv = [self.ripgrep, "--json", "--no-config", "--no-messages", "--crlf"]
        if include:
            argv += ["--glob", include]
        base = place.real if place.real.is_dir() else place.real.parent
        target = "." if place.real.is_dir() else place.real.name
        named: set[str] | None = None
        if include and target == ".":
            # ripgrep gives a glob precedence over what git ignores, so both are asked for
            listed = [self.ripgrep, "--files", "--no-config", "--no-messages", "--null"]
            named = _chosen((await printed_names(listed, base)) or (), include)
        argv += ["--regexp", pattern, "--", target]
        held: list[Match] = []
        async for line in printed_lines(argv, base, b"", ended=(0, 1, 2)):
            row = json.loads(line)
            data = row.get("data", {})
            if row["type"] == "match":
                text = _ripgrep_text(data["lines"]).rstrip("\n").removesuffix("\r")
                path = _ripgrep_text(data["path"]).removeprefix("./")
                if named is None or path in named:
                    held.append(Match(path, data["line_number"], text))
            elif row["type"] == "end":
                if data.get("binary_offset") is None:
                    for match in held:
                        yield match
                held.clear()

    async def _by_python(
        self, place: Place, pattern: str, include: str | None
    ) -> AsyncGenerator[Match, None]:
        base = place.real if place.real.is_dir() else place.real.parent
        names = await _files(base, include) if place.real.is_dir() else [place.real.name]
        asked = json.dumps({"pattern": pattern, "files": names}).encode()
        argv = [sys.executable, "-I", str(Path(__file__).with_name("lines_found.py"))]
        async for line in printed_lines(argv, base, asked, ended=(0, 2)):
            row = json.loads(line)
            yield Match(row["path"], row["line"], row["text"])


def _include(arguments: Mapping[str, Any]) -> str | None:
    include: str | None = arguments.get("include") or None
    if include is not None:
        if include.startswith("!"):
            raise BadPattern("give the files to search, not those to leave out")
        compiled(include)
    return include


def _there(workspace: Workspace, asked: str) -> Place:
    place = workspace.place(asked, verb="search")
    if not os.path.exists(place.real):  # noqa: PTH110  # false where a folder may not be entered
        raise Refused(f"cannot search {quoted(place.shown)}: not found", "FS_NOT_FOUND")
    return place


async def _files(base: Path, include: str | None) -> list[str]:
    """The files that ripgrep would search, in the order of their paths."""
    listed = await _listed_by_git(base)
    names = listed if listed is not None else await asyncio.to_thread(_walked, base)
    return sorted(_chosen(names, include))


def _chosen(names: Iterable[str], include: str | None) -> set[str]:
    """The names that are not hidden and match the glob."""
    pattern = compiled(include) if include else None
    return {
        name
        for name in names
        if not any(part.startswith(".") for part in name.split("/"))
        and (pattern is None or pattern.fullmatch(name))
    }


async def _listed_by_git(base: Path) -> list[str] | None:
    """What git does not ignore; None where there is no git or no repository."""
    return await printed_names(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], base
    )


def _walked(base: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(base):
        folders[:] = [name for name in folders if name not in VCS and not name.startswith(".")]
        inside = os.path.relpath(folder, base)
        found += [name if inside == "." else f"{inside}/{name}" for name in files]
    return found


def _ripgrep_text(value: Mapping[str, str]) -> str:
    if "text" in value:
        return value["text"]
    import base64

    return base64.b64decode(value["bytes"]).decode("utf-8", "surrogateescape")


def _told(found: Sequence[Match], lead: str) -> Output:
    shown = [
        Match(printable(lead + one.path), one.number, _cut(printable(one.text)))
        for one in found[:MOST_MATCHES]
    ]
    total = len(found)
    if not total:
        text = "No matches found"
    else:
        head = f"{len(shown)} of {total}" if total > len(shown) else f"{total}"
        text = f"Found {head} match{'es' if total != 1 else ''}\n"
        last = None
        for match in shown:
            if match.path != last:
                text += f"\n{match.path}\n" if last is None else f"\n\n{match.path}\n"
                last = match.path
            else:
                text += "\n"
            text += f"Line {match.number}: {match.text}"
    return Output.of(text, meta=_meta(shown, total))


def _cut(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= MOST_LINE_BYTES:
        return text
    return data[:MOST_LINE_BYTES].decode("utf-8", "ignore") + "... (line truncated)"


def _meta(shown: Sequence[Match], total: int) -> Raw:
    files: dict[str, list[dict[str, object]]] = {}
    size = _AROUND
    for match in shown:
        row = {"lineNumber": match.number, "line": match.text}
        size += len(msgspec.json.encode(row)) + 1
        size += 0 if match.path in files else len(msgspec.json.encode(match.path)) + _AROUND
        if size > MOST_META:
            break
        files.setdefault(match.path, []).append(row)
    meta = {
        "shape": "matches",
        "files": [{"path": path, "matches": rows} for path, rows in files.items()],
        "truncated": total > len(shown) or size > MOST_META,
        "total": total,
    }
    return Raw(msgspec.json.encode(meta))
