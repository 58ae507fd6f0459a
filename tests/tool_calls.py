"""Call tools in a folder, as the loop does."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from slicetape.log.messages import Text
from slicetape.loop.protocols import Call, Output, Tool
from slicetape.tools.edit import EditTool
from slicetape.tools.guard import Guard
from slicetape.tools.read import ReadTool
from slicetape.tools.workspace import Workspace
from slicetape.tools.write import WriteTool

CALL = Call(turn=1, step=1, call_id="c1", name="tool", raw="{}")


class Folder:
    """A workspace with its guard; each method calls a tool and gives its text."""

    def __init__(
        self, root: Path, *, allowed: Sequence[Path] = (), everywhere: bool = False
    ) -> None:
        self.root = root
        self.workspace = Workspace(root, tuple(allowed), everywhere)
        self.guard = Guard({})
        self.last = Output()

    def call(self, tool: Tool, **arguments: Any) -> str:
        self.last = asyncio.run(tool.run(arguments, CALL))
        return "".join(part.text for part in self.last.content if isinstance(part, Text))

    def read(self, path: str, **more: Any) -> str:
        return self.call(ReadTool(self.workspace, self.guard), file_path=path, **more)

    def write(self, path: str, content: str) -> str:
        return self.call(WriteTool(self.workspace, self.guard), file_path=path, content=content)

    def edit(self, path: str, old: str, new: str, **more: Any) -> str:
        tool = EditTool(self.workspace, self.guard)
        return self.call(tool, file_path=path, old_string=old, new_string=new, **more)

    @property
    def code(self) -> str | None:
        return self.last.error.code if self.last.error else None

    @property
    def meta(self) -> Any:
        assert self.last.meta is not None
        return msgspec.json.decode(self.last.meta)
