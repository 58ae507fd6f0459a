"""An agent put together from options and settings, and what its command needs of it."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from slicetape.cli.agent_options import AgentOptions
from slicetape.cli.assembling import Setting, assembled
from slicetape.cli.choosing import chosen
from slicetape.cli.ledger import Ledger, status
from slicetape.config import Loaded, load
from slicetape.errors import SlicetapeError, StorageFailed, UsageError
from slicetape.log.messages import Image
from slicetape.log.payloads import EndReason
from slicetape.log.store import Store
from slicetape.loop.agent import Agent
from slicetape.loop.live import Watcher
from slicetape.loop.protocols import Model
from slicetape.models.routes import Chosen, model_from
from slicetape.policy.settings import Permission
from slicetape.recall.tools import Recall
from slicetape.surface import Session
from slicetape.tools.permission import Asker
from slicetape.tools.recall import earlier
from slicetape.wire.attached import StoredPictures
from slicetape.wire.pictures import Pictures


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
    pictures = StoredPictures()
    model = model_of(options.model or loaded.settings.model.name, loaded, store, pictures)
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
        pictures=pictures,
    )
    made = _composed(setting, session, model)
    made.images = tuple(image_of(session, path) for path in options.images)
    return made


def model_of(spec: str | None, loaded: Loaded, store: Store, pictures: Pictures) -> Model:
    """The model that `provider:model` names. ConfigError says what to set."""
    settings = loaded.settings.model
    chosen = Chosen(
        base_url=settings.base_url,
        context_window=settings.context_window,
        max_tokens=settings.max_tokens,
    )
    return model_from(spec, chosen=chosen, environ=os.environ, home=store.home, pictures=pictures)


def image_of(session: Session, path: Path) -> Image:
    """A picture, kept beside the session. UsageError when the file is none that models take."""
    try:
        return Image(session.log.attachments.put_file(path))
    except StorageFailed:
        raise
    except SlicetapeError as error:
        raise UsageError(str(error)) from None


def _composed(setting: Setting, session: Session, model: Model) -> Composed:
    setting.pictures.look_in(session.log.attachments)
    agent, recall = assembled(setting, session, model)
    return Composed(setting, agent, Ledger(session, model.route.sheet), recall)
