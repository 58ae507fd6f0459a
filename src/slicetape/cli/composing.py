"""An agent put together from options and settings: session, model, tools, policy."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from slicetape.cli.agent_options import AgentOptions
from slicetape.cli.choosing import chosen
from slicetape.cli.ledger import Ledger, status
from slicetape.config import Loaded, load
from slicetape.errors import UsageError
from slicetape.log.messages import Image
from slicetape.log.payloads import EndReason
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
from slicetape.models.routes import Chosen, model_from
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
from slicetape.tools.recall import earlier, recall_tools
from slicetape.tools.sandbox import Sandbox
from slicetape.tools.workspace import Workspace
from slicetape.tools.write import WriteTool

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


@dataclass(slots=True)
class Composed:
    """A running agent and what its command needs of it.

    `moved` is called with the session that the agent works in from then on.
    """

    setting: Setting
    agent: Agent
    ledger: Ledger
    recall: Recall
    images: tuple[Image, ...] = ()
    moved: Callable[[Session], None] = field(default=lambda _: None)

    @property
    def status(self) -> str:
        """One line on the size of the context, the cache and the money."""
        return status(self.ledger, self.agent.model.route.context_window)

    @property
    def greeting(self) -> str:
        """Session, model and what may be done, on one line."""
        route = self.agent.model.route
        turns = self.agent.session.view.turns.last_turn
        session = f"{self.agent.session.log.header.id}" + (f", {turns} turns" if turns else "")
        return f"{session} · {route.provider}:{route.model} · permission {self.setting.permission}"

    def summary(self, reason: EndReason) -> dict[str, object]:
        """How a run ended, as its last line of JSON."""
        spent = self.ledger.total
        return {
            "type": "run/end",
            "session": self.agent.session.log.header.id,
            "reason": reason.kind,
            "error": reason.error.message if reason.error else None,
            "calls": spent.calls,
            "input_tokens": spent.tokens.input,
            "cached_tokens": spent.tokens.cached,
            "written_tokens": spent.tokens.written,
            "fresh_tokens": spent.tokens.fresh,
            "output_tokens": spent.tokens.output,
            "cost": float(spent.money) if self.ledger.currency else None,
            "currency": self.ledger.currency or None,
        }

    def over(self, session: Session) -> None:
        """Work in another session from now on; the agent must be idle."""
        made = _composed(self.setting, session, self.agent.model)
        self.agent, self.ledger, self.recall = made.agent, made.ledger, made.recall
        self.moved(session)

    def use(self, model: Model) -> None:
        """Ask another model from the next turn on."""
        self.agent.use(model)
        self.ledger.sheet = model.route.sheet


def compose(
    options: AgentOptions,
    watcher: Watcher,
    *,
    default_permission: Permission,
    asker: Asker | None = None,
) -> Composed:
    """The agent that options and settings describe; nothing is sent yet."""
    loaded, store, cwd = load(options.config), Store(), Path.cwd()
    model = model_of(options.model or loaded.settings.model.name, loaded, store)
    known = dict([earlier(store, options.after, str(cwd))]) if options.after else {}
    session = chosen(
        store,
        cwd,
        resume=options.resume,
        session=options.session,
        compressed=loaded.settings.log.compression == "zstd",
    )
    permission = options.permission or loaded.settings.tools.permission or default_permission
    setting = Setting(
        options=options,
        loaded=loaded,
        store=store,
        cwd=cwd,
        watcher=watcher,
        asker=asker,
        permission=permission,  # type: ignore[arg-type]
        earlier=known,
    )
    made = _composed(setting, session, model)
    made.images = tuple(image_of(session, path) for path in options.images)
    return made


def model_of(spec: str | None, loaded: Loaded, store: Store) -> Model:
    """The model that `provider:model` names. ConfigError says what to set."""
    settings = loaded.settings.model
    chosen = Chosen(
        base_url=settings.base_url,
        context_window=settings.context_window,
        max_tokens=settings.max_tokens,
    )
    return model_from(spec, chosen=chosen, environ=os.environ, home=store.home)


def image_of(session: Session, path: Path) -> Image:
    """A picture, put beside the session. UsageError when the file is none."""
    raise UsageError(f"{path}: pictures cannot be sent yet")


def _composed(setting: Setting, session: Session, model: Model) -> Composed:
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
    return Composed(setting, agent, Ledger(session, model.route.sheet), recall)


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
