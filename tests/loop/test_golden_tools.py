"""Recorded runs with our own tools: files, commands and recall give the recorded requests."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from data import shared
from fold_cases import folding_of
from live_recording import Recorded, Rerun, Surroundings
from sealing_cases import normal, settings_of
from slicetape.log.log import SessionLog
from slicetape.log.messages import Text
from slicetape.loop.protocols import Call, Output, Tool
from slicetape.policy.views import REFERENCE
from slicetape.recall.tools import Recall
from slicetape.surface import Session
from slicetape.tools.bash import BashTool
from slicetape.tools.edit import EditTool
from slicetape.tools.guard import Guard
from slicetape.tools.read import ReadTool
from slicetape.tools.recall import recall_tools
from slicetape.tools.workspace import Workspace
from slicetape.tools.write import WriteTool

THERE = "/srv/demo"
RUNS = ("basic", "fold")
SEARCHES = "the recorded host had no ripgrep, so its searches failed; those results are taken over"


@dataclass(slots=True)
class Mapped:
    """A tool of ours whose workspace looks as if it stood where the recorded one did."""

    tool: Tool
    here: str
    ran: list[str]

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def description(self) -> str:
        return self.tool.description

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.tool.parameters

    def parallel(self, arguments: Mapping[str, Any]) -> bool:
        return self.tool.parallel(arguments)

    async def run(self, arguments: Mapping[str, Any], call: Call) -> Output:
        self.ran.append(call.name)
        said = json.loads(json.dumps(dict(arguments)).replace(THERE, self.here))
        output = await self.tool.run(said, call)
        content = tuple(
            Text(part.text.replace(self.here, THERE)) if isinstance(part, Text) else part
            for part in output.content
        )
        meta = (
            Raw(bytes(output.meta).replace(self.here.encode(), THERE.encode()))
            if output.meta
            else None
        )
        return replace(output, content=content, meta=meta)


def rerun(name: str, folder: Path) -> tuple[Rerun, list[str]]:
    tape = json.loads(shared(f"golden/sessions/{name}.tape.json").read_text())
    scenario = json.loads(shared(f"golden/sessions/{name}.scenario.json").read_text())
    log = SessionLog.read(shared(f"golden/sessions/{name}.jsonl"))
    ran: list[str] = []

    def tools(session: Session, recorded: Sequence[Tool]) -> list[Tool]:
        workspace, guard = Workspace(folder), Guard({})
        ours: list[Tool] = [
            ReadTool(workspace, guard),
            WriteTool(workspace, guard),
            EditTool(workspace, guard),
            BashTool(workspace),
            *recall_tools(Recall.of_session(session)),
        ]
        named = {tool.name: Mapped(tool, str(folder), ran) for tool in ours}
        return [named.get(tool.name, tool) for tool in recorded]

    steps = files_before_messages(scenario)

    def before(number: int) -> None:
        for op in steps[number]:
            path = folder / op["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(op["content"].encode())

    config = tape["config"]
    around = Surroundings(
        history=settings_of(config.get("history", {})),
        folding=folding_of(config.get("fold", {}), config.get("digest", {}), REFERENCE),
        tools=tools,
        before_message=before,
    )
    return Rerun(Recorded.of(log), around).run(), ran


def files_before_messages(scenario: Mapping[str, Any]) -> list[list[Any]]:
    """The files that are written ahead of each message."""
    found: list[list[Any]] = [[]]
    for phase in scenario["phases"]:
        for op in phase["ops"]:
            if op["op"] == "file":
                found[-1].append(op)
            elif op["op"] in ("user", "between"):
                found.append([])
    return found


@pytest.mark.parametrize("name", RUNS)
def test_our_tools_give_the_recorded_requests(name: str, tmp_path: Path) -> None:
    again, ran = rerun(name, tmp_path)
    requests = json.loads(shared(f"golden/sessions/{name}.requests.json").read_text())
    pool = [normal(message) for message in requests["pool"]]
    assert [[normal(message) for message in request] for request in again.sent] == [
        [pool[at] for at in request["messages"]] for request in requests["requests"]
    ]
    assert len(ran) > 10
