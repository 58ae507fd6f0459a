"""The four recall tools inside a running agent, and recall from an earlier session."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from slicetape.errors import RecallError, UsageError
from slicetape.log.store import Store
from slicetape.loop.protocols import Call, Output
from slicetape.recall.schemas import schemas
from slicetape.recall.tools import Recall, dispatch
from slicetape.surface import Session


@dataclass(frozen=True, slots=True)
class RecallTool:
    """One of the tools that bring back what the request does not show."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    recall: Recall

    def parallel(self, arguments: Mapping[str, Any]) -> bool:
        """One by one: the search index grows while it is asked."""
        return False

    async def run(self, arguments: Mapping[str, Any], call: Call) -> Output:
        """The recorded text, verbatim, or what to call instead."""
        await asyncio.sleep(0)
        try:
            return Output.of(dispatch(self.name, arguments, self.recall))
        except RecallError as error:
            return Output.failure(str(error))


def recall_tools(recall: Recall) -> Iterator[RecallTool]:
    """The tools over a session; they name other sessions only where some were given."""
    for row in schemas(sessions=bool(recall.others)):
        yield RecallTool(row["name"], row["description"], row["parameters"], recall)


def earlier(store: Store, name: str, cwd: str, *, anywhere: bool = False) -> tuple[str, Recall]:
    """An earlier session to recall from: its id, and what the tools read of it.

    UsageError when it is of another workspace than `cwd`, unless `anywhere`.
    """
    log = store.read(name)
    if log.header.cwd != cwd and not anywhere:
        raise UsageError(
            f"the session {log.header.id[:80]} worked in {log.header.cwd}, not in {cwd}; go there"
        )
    return log.header.id, Recall.of_session(Session(log, strict=False))
