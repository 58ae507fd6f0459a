"""Four turns with a recall on a real provider, when one is configured; usage of every call.

SLICETAPE_E2E names the model as `provider:model`; its key comes from the provider's usual
variable. Without either, this is skipped with the reason. The session is kept in a folder of its
own that is removed afterwards. Ends with 1 when a turn does not complete (a request that rewrites
what was sent ends its turn), or when the recalled password is not in the last answer.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from slicetape.errors import ConfigError
from slicetape.log.events import AssistantMessage, Header
from slicetape.log.log import SessionLog
from slicetape.loop.agent import Agent, Around
from slicetape.loop.identity import agent_sections
from slicetape.loop.prestep import Prestep
from slicetape.loop.prompt import Prompt
from slicetape.loop.protocols import Model, Tools
from slicetape.models.routes import model_from
from slicetape.policy.fold_view import Folding
from slicetape.policy.settings import HistorySettings, Settings
from slicetape.recall.tools import Recall
from slicetape.surface import Session
from slicetape.tools.guard import Guard
from slicetape.tools.read import ReadTool
from slicetape.tools.recall import recall_tools
from slicetape.tools.workspace import Workspace

TURNS = (
    "Read notes.txt and tell me the password in its last line. Nothing else.",
    "Which number does its first line name? Answer from what you have, in one word.",
    "Say “ready” and nothing else.",
    "Which password did you read in turn 1? Recall it to be sure, then give it in one word.",
)
SECRET = "heliotrope-4417"


def main() -> int:
    """Run the session; the exit status."""
    spec = os.environ.get("SLICETAPE_E2E", "")
    if not spec:
        print("e2e skipped: SLICETAPE_E2E is not set (for example deepseek:deepseek-chat)")
        return 0
    try:
        model = model_from(spec)
    except ConfigError as error:
        print(f"e2e skipped: {error}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_run(model, Path(folder)))


async def _run(model: Model, folder: Path) -> int:
    workspace = folder / "workspace"
    workspace.mkdir()
    lines = "\n".join(f"{n}: a line of filler that nobody needs" for n in range(7, 400))
    text = f"The number is 73.\n{lines}\nThe password is {SECRET}.\n"
    (workspace / "notes.txt").write_text(text, encoding="utf-8")
    header = Header("session", 3, "e2e", 1, False, 0, cwd=str(workspace))
    session = Session(SessionLog.create(folder / "session.v3.jsonl", header))
    read = ReadTool(Workspace(workspace), Guard({}))
    tools = Tools([read, *recall_tools(Recall.of_session(session))])
    history = HistorySettings(seal_only_if_shorter=False)
    prestep = Prestep(session, history, folding=Folding.of(Settings()))
    prompt = Prompt(agent_sections(str(workspace), recalls=True, folds=True))
    agent = Agent(session, model, tools, prestep, Around(prompt=prompt))
    ends = []
    for number, said in enumerate(TURNS, 1):
        agent.followup(said)
        reason = await agent.when_idle()
        assert reason is not None
        ends.append(reason.kind)
        print(f"turn {number}: {reason.kind} {reason.error.message if reason.error else ''}")
    await agent.close()
    return _report(session, ends)


def _report(session: Session, ends: list[str]) -> int:
    answers = [e for e in session.log.events if isinstance(e, AssistantMessage)]
    for event in answers:
        usage = event.data.usage
        if usage is not None:
            print(
                f"  turn {event.data.turn} step {event.data.step}: fresh {usage.input_tokens:,}, "
                f"cached {usage.cache_read_tokens or 0:,}, "
                f"written {usage.cache_write_tokens or 0:,}, out {usage.output_tokens:,}"
            )
    said = "".join(str(block) for block in answers[-1].data.message.content) if answers else ""
    found = SECRET in said
    print(f"the password came back: {'yes' if found else 'no'}")
    return 0 if found and set(ends) == {"completed"} else 1


if __name__ == "__main__":
    sys.exit(main())
