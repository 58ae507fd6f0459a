"""Commands confined by bubblewrap: the workspace may be changed, everything else only read."""

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slicetape.tools.workspace import Refused, Workspace

MISSING = (
    "no sandbox can be set up here ({why}), and commands are not run without the one that was "
    "asked for. Tell the user: install bubblewrap, or run without --sandbox"
)


@dataclass(slots=True)
class Sandbox:
    """Bubblewrap, tried out before it is first relied on. `network` lets commands use it."""

    network: bool = True
    program: str = "bwrap"
    _works: str | None = field(default=None, init=False)

    async def around(
        self, argv: Sequence[str], workspace: Workspace, folder: Path
    ) -> Sequence[str]:
        """The command line that runs `argv` confined. Refused when that cannot be done."""
        if self._works is None:
            self._works = await self._tried()
        if self._works:
            raise Refused(
                MISSING.format(why=self._works), "SANDBOX_UNAVAILABLE", "SandboxUnavailableError"
            )
        writable = [workspace.root.resolve(), *(path.resolve() for path in workspace.allowed)]
        binds = [part for path in writable if path.exists() for part in ("--bind", path, path)]
        return [*self._walls(), *map(str, binds), "--chdir", str(folder), "--", *argv]

    def _walls(self) -> list[str]:
        alone = [] if self.network else ["--unshare-net"]
        return [
            *(self.program, "--die-with-parent", "--unshare-pid", *alone),
            *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),  # noqa: S108  # private to the command
        ]

    async def _tried(self) -> str:
        """Why it does not work; empty when it does."""
        if shutil.which(self.program) is None:
            return f"{self.program} is not installed"
        process = await asyncio.create_subprocess_exec(
            *self._walls(),
            "--",
            "true",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, complaint = await process.communicate()
        if process.returncode == 0:
            return ""
        first = complaint.decode("utf-8", "replace").strip().partition("\n")[0][:200]
        return first or f"{self.program} ended with {process.returncode}"
