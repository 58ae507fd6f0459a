"""`glob`: paths that match a pattern, the newest first; hidden and ignored ones too."""

import asyncio
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from slicetape.loop.protocols import Call, Output
from slicetape.tools.patterns import VCS, BadPattern, Glob, compiled
from slicetape.tools.workspace import Refused, Workspace, printable, quoted

MOST_PATHS = 100
LIMIT_S = 30.0
MOST_META = 63 * 1_024


@dataclass(frozen=True, slots=True)
class GlobTool:
    """Finds files of a workspace by name."""

    workspace: Workspace
    limit_s: float = LIMIT_S
    name: str = "glob"
    description: str = "Find files by a pattern such as **/*.py, newest first, at most 100."
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {
            "type": "object",
            "properties": {"pattern": {"type": "string"}, "path": {"type": "string"}},
            "required": ["pattern"],
        }
    )

    def parallel(self, arguments: Mapping[str, Any]) -> bool:
        """One by one, as in the host."""
        return False

    async def run(self, arguments: Mapping[str, Any], call: Call) -> Output:
        """One path a line, and how many there are beyond the limit."""
        return await asyncio.to_thread(self._found, arguments)

    def _found(self, arguments: Mapping[str, Any]) -> Output:
        try:
            place = self.workspace.place(str(arguments.get("path") or "."), verb="search")
            pattern = compiled(arguments["pattern"])
        except Refused as refused:
            return refused.output
        except BadPattern as error:
            return Output.failure(
                f"invalid pattern {quoted(arguments['pattern'])}: {error}",
                name="SearchError",
                code="SEARCH_INVALID_PATTERN",
            )
        if not place.real.is_dir():
            return Output.failure(
                f"cannot search {quoted(place.shown)}: no folder",
                name="FsError",
                code="FS_NOT_FOUND",
            )
        try:
            found = list(_walk(place.real, pattern, limit_s=self.limit_s))
        except TimeoutError:
            text = f"the search took longer than {self.limit_s:.0f} s: narrow the path"
            return Output.failure(text, name="SearchError", code="SEARCH_FAILED")
        rows = sorted(found, key=lambda row: (-row[0], row[1]))
        lead = self.workspace.lead(place)
        shown = [printable(lead + path) for _, path in rows[:MOST_PATHS]]
        kept = _kept(shown)
        meta = {
            "shape": "paths",
            "paths": kept,
            "truncated": len(rows) > len(kept),
            "total": len(rows),
        }
        text = "\n".join(shown) or "No files found"
        if len(rows) > len(shown):
            text += f"\n\n(Showing the newest {len(shown)} of {len(rows)}. Narrow the pattern.)"
        return Output.of(text, meta=Raw(msgspec.json.encode(meta)))


def _kept(paths: list[str]) -> list[str]:
    """The first paths, as many as metadata may hold."""
    sizes = accumulate(len(msgspec.json.encode(path)) + 1 for path in paths)
    return [path for path, size in zip(paths, sizes, strict=True) if size <= MOST_META]


def _walk(root: Path, pattern: Glob, *, limit_s: float) -> Iterator[tuple[int, str]]:
    """Time and relative path of each file that matches. Raises TimeoutError."""
    deadline = time.monotonic() + limit_s
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in VCS)
        inside = os.path.relpath(folder, root)
        for name in files:
            path = name if inside == "." else f"{inside}/{name}"
            if pattern.fullmatch(path):
                try:
                    yield Path(folder, name).lstat().st_mtime_ns, path
                except OSError:
                    continue
        if time.monotonic() > deadline:
            raise TimeoutError
