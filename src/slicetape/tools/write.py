"""`write`: create a file, or replace one that was read and has not changed since."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from slicetape.loop.protocols import Call, Output
from slicetape.tools.guard import Guard
from slicetape.tools.mutate import alone, failed, hunks, observed, publish
from slicetape.tools.workspace import Place, Refused, Workspace, regular


@dataclass(frozen=True, slots=True)
class WriteTool:
    """Writes whole files of a workspace."""

    workspace: Workspace
    guard: Guard
    name: str = "write"
    description: str = "Write a whole file. An existing file must have been read before."
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {
            "type": "object",
            "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["file_path", "content"],
        }
    )

    def parallel(self, arguments: Mapping[str, Any]) -> bool:
        """Changes go one by one."""
        return False

    async def run(self, arguments: Mapping[str, Any], call: Call) -> Output:
        """Whether the file was created or updated."""
        work = asyncio.to_thread(self._write, arguments, call)
        return await asyncio.shield(asyncio.ensure_future(work))

    def _write(self, arguments: Mapping[str, Any], call: Call) -> Output:
        try:
            place = self.workspace.place(arguments["file_path"], verb="write")
            with alone(place.real):
                return self._published(place, arguments["content"], call)
        except Refused as refused:
            return refused.output

    def _published(self, place: Place, content: str, call: Call) -> Output:
        try:
            replacing = place.real.exists()
            old = ""
            if replacing:
                facts = regular(place, "write")
                self.guard.may_change(place, facts)
                old = place.real.read_text(encoding="utf-8", errors="replace")
            else:
                place.real.parent.mkdir(parents=True, exist_ok=True)
            data = content.encode("utf-8", "replace")
            publish(place, data, replacing=replacing)
        except OSError as error:
            return failed(error, place)
        path = self.workspace.relative(place.shown)
        diffs = hunks(path, old.replace("\r\n", "\n"), content) if replacing else []
        done = "Updated file" if replacing else "Created file"
        return Output.of(
            f"<path>{place.shown}</path>\n<type>file</type>\n<content>\n{done}\n</content>",
            meta=Raw(msgspec.json.encode({"diffs": diffs})),
            notes=(observed(self.guard, place, call),),
        )
