"""Long agent sessions on a small context: nothing is lost, nothing sent is rewritten.

The names below are loaded when they are first used, so that importing this package is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slicetape.config import load as load_config
    from slicetape.errors import SlicetapeError
    from slicetape.formats.detect import open_sessions
    from slicetape.log.events import FORMAT_VERSION, Event, Header
    from slicetape.log.log import SessionLog
    from slicetape.log.store import Store
    from slicetape.loop.prestep import Prestep
    from slicetape.policy.fold_view import Folding
    from slicetape.policy.settings import HistorySettings, Settings
    from slicetape.prices.sheet import sheet
    from slicetape.prices.tokens import counter
    from slicetape.recall.schemas import schemas as recall_schemas
    from slicetape.recall.tools import Recall
    from slicetape.recall.tools import dispatch as call_recall
    from slicetape.replay.replay import Options as ReplayOptions
    from slicetape.replay.replay import recordings
    from slicetape.replay.replay import replay as replay_sessions
    from slicetape.surface import Session, View, messages, project

__version__ = "0.1.0"

_WHERE = {
    "Event": ("log.events", "Event"),
    "FORMAT_VERSION": ("log.events", "FORMAT_VERSION"),
    "Folding": ("policy.fold_view", "Folding"),
    "Header": ("log.events", "Header"),
    "HistorySettings": ("policy.settings", "HistorySettings"),
    "Prestep": ("loop.prestep", "Prestep"),
    "Recall": ("recall.tools", "Recall"),
    "ReplayOptions": ("replay.replay", "Options"),
    "Session": ("surface", "Session"),
    "SessionLog": ("log.log", "SessionLog"),
    "Settings": ("policy.settings", "Settings"),
    "SlicetapeError": ("errors", "SlicetapeError"),
    "Store": ("log.store", "Store"),
    "View": ("surface", "View"),
    "call_recall": ("recall.tools", "dispatch"),
    "counter": ("prices.tokens", "counter"),
    "load_config": ("config", "load"),
    "messages": ("surface", "messages"),
    "open_sessions": ("formats.detect", "open_sessions"),
    "project": ("surface", "project"),
    "recall_schemas": ("recall.schemas", "schemas"),
    "recordings": ("replay.replay", "recordings"),
    "replay_sessions": ("replay.replay", "replay"),
    "sheet": ("prices.sheet", "sheet"),
}

__all__ = [
    "FORMAT_VERSION",
    "Event",
    "Folding",
    "Header",
    "HistorySettings",
    "Prestep",
    "Recall",
    "ReplayOptions",
    "Session",
    "SessionLog",
    "Settings",
    "SlicetapeError",
    "Store",
    "View",
    "call_recall",
    "counter",
    "load_config",
    "messages",
    "open_sessions",
    "project",
    "recall_schemas",
    "recordings",
    "replay_sessions",
    "sheet",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _WHERE[name]
    return getattr(import_module(f"{__name__}.{module}"), attribute)
