"""`edit`: replace a literal text in a file that was read and has not changed since.

Texts match with line endings as LF; what is written keeps the ending that the file mostly has.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from slicetape.loop.protocols import Call, Output
from slicetape.tools.guard import Guard
from slicetape.tools.mutate import alone, ending, failed, hunks, observed, publish, whole
from slicetape.tools.workspace import Place, Refused, Workspace, quoted, regular

MOST_BYTES = 64 * 1_024 * 1_024


@dataclass(frozen=True, slots=True)
class EditTool:
    """Changes parts of text files of a workspace."""

    workspace: Workspace
    guard: Guard
    name: str = "edit"
    description: str = (
        "Replace old_string, which must stand in the file exactly once (or set replace_all). The "
        "file must have been read before."
    )
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "old_string": {"type": "string"},
                "new_string": {"type": "string"},
                "replace_all": {"type": "boolean"},
            },
            "required": ["file_path", "old_string", "new_string"],
        }
    )

    def parallel(self, arguments: Mapping[str, Any]) -> bool:
        """Changes go one by one."""
        return False

    async def run(self, arguments: Mapping[str, Any], call: Call) -> Output:
        """One sentence with the path."""
        return await whole(lambda: self._edit(arguments, call))

    def _edit(self, arguments: Mapping[str, Any], call: Call) -> Output:
        try:
            place = self.workspace.place(arguments["file_path"], verb="edit")
        except Refused as refused:
            return refused.output
        try:
            with alone(place.real):
                return self._published(place, arguments, call)
        except Refused as refused:
            return self.guard.missed(refused, place, call.call_id)
        except OSError as error:
            return failed(error, place)

    def _published(self, place: Place, arguments: Mapping[str, Any], call: Call) -> Output:
        facts = regular(place, "edit")
        self.guard.may_change(place, facts)
        if facts.st_size > MOST_BYTES:
            raise Refused(f"cannot edit {quoted(place.shown)}: larger than 64 MB", "FS_TOO_LARGE")
        raw = self._text(place)
        old, new = arguments["old_string"], arguments["new_string"]
        plain = raw.replace("\r\n", "\n")
        changed = self._replaced(place, plain, old, new, every=bool(arguments.get("replace_all")))
        text = changed.replace("\n", "\r\n") if ending(raw) == "\r\n" else changed
        data = text.encode()
        facts = publish(place, data, replacing=facts)
        diffs = hunks(arguments["file_path"], plain, changed)
        return Output.of(
            f"The file {place.shown} has been updated successfully.",
            meta=Raw(msgspec.json.encode({"diffs": diffs})),
            notes=(observed(self.guard, place, call, (data, facts)),),
        )

    @staticmethod
    def _text(place: Place) -> str:
        data = place.real.read_bytes()
        no_text = Refused(f"cannot edit {quoted(place.shown)}: not a text file", "FS_NOT_TEXT")
        if b"\0" in data:
            raise no_text
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise no_text from None

    @staticmethod
    def _replaced(place: Place, text: str, old: str, new: str, *, every: bool) -> str:
        old = old.replace("\r\n", "\n")
        new = new.replace("\r\n", "\n").encode("utf-8", "replace").decode()
        where = quoted(place.shown)
        if not old or old == new:
            why = "is empty" if not old else "equals new_string: nothing would change"
            raise Refused(f"old_string {why}, in {where}", "FS_EDIT_NOT_FOUND")
        count = text.count(old)
        if not count:
            raise Refused(f"old_string was not found in {where}", "FS_EDIT_NOT_FOUND")
        if count > 1 and not every:
            raise Refused(
                f"old_string stands {count} times in {where}: give more of the text around it, or "
                "set replace_all",
                "FS_AMBIGUOUS_EDIT",
            )
        return text.replace(old, new)
