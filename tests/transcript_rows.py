"""Records of single formats, for transcripts that a test writes by hand."""

import json
from pathlib import Path
from typing import Any

from imported import imported, written
from slicetape.formats.detect import open_sessions
from slicetape.log.events import Event


def lines(*rows: Any) -> str:
    """The rows as JSON, one a line."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def claude(type: str, content: Any, **more: Any) -> dict[str, Any]:
    """A record of Claude Code, of the response `m1`."""
    message = {"role": type, "content": content, "id": "m1"}
    return {"type": type, "sessionId": "s", "message": message} | more


def codex(kind: str, type: str, **payload: Any) -> dict[str, Any]:
    """A line of a Codex rollout."""
    return {"type": kind, "payload": {"type": type, **payload}}


def copilot(type: str, **data: Any) -> dict[str, Any]:
    """An event of Copilot CLI."""
    return {"type": type, "data": data}


def openhands(action: str, source: str = "agent", **args: Any) -> dict[str, Any]:
    """An action of OpenHands."""
    return {"source": source, "action": action, "args": args}


USE = [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}]
RESULT = [{"type": "tool_result", "tool_use_id": "c1", "content": "a.py"}]


def read(folder: Path, value: Any) -> list[Event]:
    """The events of a transcript, its format found by content."""
    path = written(folder, value)
    ((_, events),) = imported(lambda transcript: open_sessions(transcript.path), path)
    return events
