"""`write`: create a file, or replace one that was read and has not changed since."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from slicetape.loop.protocols import Call, Output
from slicetape.tools.guard import Guard
from slicetape.tools.mutate import MOST_DIFF_BYTES, alone, failed, hunks, observed, publish, whole
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
        return await whole(lambda: self._write(arguments, call))

    def _write(self, arguments: Mapping[str, Any], call: Call) -> Output:
        try:
            place = self.workspace.place(arguments["file_path"], verb="write")
            with alone(place.real):
                return self._published(place, arguments, call)
        except Refused as refused:
            return refused.output

    def _published(self, place: Place, arguments: Mapping[str, Any], call: Call) -> Output:
        content, replacing, old = arguments["content"], None, ""
        data = content.encode("utf-8", "replace")
        try:
            if place.real.exists():
                replacing = regular(place, "write")
                self.guard.may_change(place, replacing)
                if replacing.st_size <= MOST_DIFF_BYTES:
                    old = place.real.read_text(encoding="utf-8", errors="replace")
            else:
                place.real.parent.mkdir(parents=True, exist_ok=True)
            facts = publish(place, data, replacing=replacing)
        except OSError as error:
            return failed(error, place)
        diffs = []
        if replacing and replacing.st_size <= MOST_DIFF_BYTES:
            now = data.decode().replace("\r\n", "\n")
            diffs = hunks(arguments["file_path"], old.replace("\r\n", "\n"), now)
        done = "Updated file" if replacing else "Created file"
        return Output.of(
            f"<path>{place.shown}</path>\n<type>file</type>\n<content>\n{done}\n</content>",
            meta=Raw(msgspec.json.encode({"diffs": diffs})),
            notes=(observed(self.guard, place, call, (data, facts)),),
        )
