"""When to stop: a resource whose views are mostly fetched whole is no longer folded."""

import json
from dataclasses import dataclass, field


def parsed(arguments: str) -> object:
    """Arguments as a model wrote them; the text itself when it is not JSON."""
    try:
        return json.loads(arguments, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return arguments


def path_in(arguments: object) -> str | None:
    """The path that the arguments of a call name; None when they name none."""
    if isinstance(arguments, dict):
        for key in ("file_path", "path", "filePath"):
            if isinstance(arguments.get(key), str):
                return str(arguments[key])
    return None


def resource_key(tool: str, arguments: object) -> str:
    """What two results must share to be views of one resource: the tool and its path as written.

    Without a path it is the tool and its arguments, whatever the order of their keys.
    """
    path = path_in(arguments)
    named = [tool, "path", path] if path is not None else [tool, "arguments", arguments]
    try:
        return json.dumps(named, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except RecursionError:
        return json.dumps([tool, "arguments", None], separators=(",", ":"))


def _refuse(name: str) -> None:
    raise ValueError(name)


@dataclass(slots=True)
class Backoff:
    """Folds and full recoveries of each resource, and the resources that are left whole.

    A resource is backed off for the rest of the session when `after` of its blocks, and at least
    half of the folded ones, were fetched whole.
    """

    after: int = 2
    folds: dict[str, int] = field(default_factory=dict)
    recoveries: dict[str, int] = field(default_factory=dict)
    off: dict[str, None] = field(default_factory=dict)

    def folded(self, key: str) -> None:
        """A block of this resource was folded."""
        self.folds[key] = self.folds.get(key, 0) + 1

    def recovered(self, key: str) -> None:
        """A block of this resource was fetched whole, for the first time."""
        count = self.recoveries[key] = self.recoveries.get(key, 0) + 1
        if count >= self.after and 2 * count >= self.folds.get(key, 0):
            self.off[key] = None
