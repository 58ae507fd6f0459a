"""Who may do what without asking: everything, what stays in the workspace, or only looking."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from slicetape.loop.protocols import Call

Policy = Literal["ask", "workspace", "all"]
CHANGING = frozenset({"write", "edit", "bash"})

Answer = Literal["once", "always", "no"]
Asker = Callable[[str, str], Awaitable[tuple[Answer, str]]]
"""Name of the tool and what it is about, to an answer and, with a no, its reason."""

NOBODY = "this needs the user's permission, and nobody is there to ask"


@dataclass(slots=True)
class Permissions:
    """Lets calls through, or says why not.

    `all` and `workspace` let everything through: file tools confine themselves to the workspace,
    and a shell command is confined by --sandbox alone. `ask` asks ahead of each write, edit and
    command; an `always` counts for the tool, for a command for those that begin with the same
    word.
    """

    policy: Policy
    asker: Asker | None = None
    _always: set[str] = field(default_factory=set)

    async def ask(self, call: Call, arguments: Mapping[str, Any]) -> str | None:
        """None to go on, else the reason of the refusal."""
        if self.policy != "ask" or call.name not in CHANGING:
            return None
        kind, about = _kind(call, arguments)
        if kind in self._always:
            return None
        if self.asker is None:
            return NOBODY
        answer, reason = await self.asker(call.name, about)
        if answer == "always":
            self._always.add(kind)
        if answer in ("once", "always"):
            return None
        return f"the user does not allow this{f': {reason}' if reason else ''}"


def _kind(call: Call, arguments: Mapping[str, Any]) -> tuple[str, str]:
    if call.name == "bash":
        command = str(arguments.get("command", ""))
        first = command.split(maxsplit=1)[0] if command.strip() else ""
        simple = not any(sign in command for sign in ";|&`$><\n(")
        return (f"bash {first}" if simple else f"bash {command}"), command
    return call.name, str(arguments.get("file_path", ""))
