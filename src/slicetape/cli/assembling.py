"""The parts of an agent from its setting: policy, tools, prompt, and what else stands around it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from slicetape.cli.agent_options import AgentOptions
from slicetape.config import Loaded
from slicetape.log.store import Store
from slicetape.loop.agent import Agent, Around
from slicetape.loop.compaction import CompactionSettings
from slicetape.loop.identity import agent_sections
from slicetape.loop.instructions import InstructionFiles
from slicetape.loop.live import LoopSettings, Watcher
from slicetape.loop.prestep import Prestep
from slicetape.loop.prompt import Fact, Prompt
from slicetape.loop.protocols import Model, Tool, Tools, random_id
from slicetape.loop.reminder import RepeatReminder
from slicetape.loop.room import LiveCompaction
from slicetape.policy.fold_view import Folding
from slicetape.policy.settings import Permission
from slicetape.recall.tools import Recall
from slicetape.surface import Session
from slicetape.tools.bash import BashTool
from slicetape.tools.edit import EditTool
from slicetape.tools.glob import GlobTool
from slicetape.tools.grep import GrepTool
from slicetape.tools.guard import Guard
from slicetape.tools.permission import Asker, Permissions
from slicetape.tools.read import ReadTool
from slicetape.tools.recall import recall_tools
from slicetape.tools.sandbox import Sandbox
from slicetape.tools.workspace import Workspace
from slicetape.tools.write import WriteTool
from slicetape.wire.attached import StoredPictures

NO_WINDOW = 1_000_000_000
"""The window of a model that declares none: only the provider can say that it is full."""

WRITTEN = {
    "ask": "Writing files and running commands needs the user's permission each time.",
    "workspace": "Files may be written inside the workspace; commands run as the user would.",
    "all": "Files may be written anywhere; commands run as the user would.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What stays when the session or the model of a command changes."""

    options: AgentOptions
    loaded: Loaded
    store: Store
    cwd: Path
    watcher: Watcher
    asker: Asker | None
    permission: Permission
    earlier: dict[str, Recall]
    pictures: StoredPictures = field(default_factory=StoredPictures)


def assembled(setting: Setting, session: Session, model: Model) -> tuple[Agent, Recall]:
    """The agent of a setting in a session, and what its recall tools read."""
    options, settings = setting.options, setting.loaded.settings
    slicing = options.arm in ("slicetape", "tape", "fold")
    recall = Recall.of_session(session, others=setting.earlier)
    tools = Tools(sorted(_tools(setting, session, recall if slicing else None), key=_name))
    agent = Agent(
        session,
        model,
        tools,
        _prestep(setting, session),
        Around(
            settings=LoopSettings(
                max_steps=options.max_steps or settings.max_steps_per_turn,
                effort=settings.default_reasoning_effort,
                chosen_effort=options.effort,
                max_tokens=settings.model.max_tokens,
                temperature=settings.model.temperature,
            ),
            prompt=Prompt(
                agent_sections(
                    str(setting.cwd), recalls=slicing, folds=options.arm in ("slicetape", "fold")
                ),
                lambda: _facts(setting),
            ),
            permission=Permissions(setting.permission, setting.asker),
            watcher=setting.watcher,
            contexts=(
                InstructionFiles(session, setting.cwd, setting.store.home, random_id),
                RepeatReminder(random_id),
            ),
            room=_room(setting, model),
        ),
    )
    return agent, recall


def _prestep(setting: Setting, session: Session) -> Prestep:
    arm, settings = setting.options.arm, setting.loaded.settings
    history = settings.history if arm in ("slicetape", "tape") else None
    if arm == "tape":
        history = replace(settings.history, seal_only_if_shorter=False)
    folding = Folding.of(settings) if arm in ("slicetape", "fold") else None
    return Prestep(session, history, folding=folding, warn=setting.watcher.warning)


def _room(setting: Setting, model: Model) -> Callable[..., LiveCompaction] | None:
    if setting.options.arm != "compact" and not setting.loaded.settings.window.compaction:
        return None
    window = model.route.context_window or NO_WINDOW
    return lambda live: LiveCompaction(live, CompactionSettings(window=window))


def _tools(setting: Setting, session: Session, recall: Recall | None) -> Iterator[Tool]:
    options, settings = setting.options, setting.loaded.settings
    everywhere = setting.permission == "all"
    workspace = Workspace(setting.cwd, options.allow, everywhere)
    guard = Guard.of(session.log.events)
    confined = settings.tools.sandbox if options.sandbox is None else options.sandbox
    yield ReadTool(workspace, guard)
    yield WriteTool(workspace, guard)
    yield EditTool(workspace, guard)
    yield GrepTool(workspace)
    yield GlobTool(workspace)
    yield BashTool(workspace, Sandbox() if confined else None, settings.tools.bash_timeout_ms)
    if recall is not None:
        yield from recall_tools(recall)


def _facts(setting: Setting) -> Sequence[Fact]:
    options = setting.options
    facts = [Fact("permission", WRITTEN[setting.permission])]
    if setting.earlier:
        names = ", ".join(setting.earlier)
        text = f'Recall may also ask the earlier session {names}: give it as "session".'
        facts.append(Fact("earlier", text))
    if options.allow:
        facts.append(Fact("allowed", f"Also allowed: {', '.join(map(str, options.allow))}"))
    return facts


def _name(tool: Tool) -> str:
    return tool.name
