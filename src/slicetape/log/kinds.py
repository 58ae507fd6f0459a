"""Which kinds of events there are, and what each may carry."""

import types
import typing
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import force_setattr

from slicetape.log.events import Event, KnownEvent, SurfaceEvent

OPAQUE_KINDS = frozenset(
    """
    agent-preset/selected approval/asked approval/decided approval/policy command/done command/run
    deliverables/presented feedback/message-delete feedback/message-put feedback/record goal/change
    hook/invoked hook/result image/offload job/registered job/settled model/selection
    permission/preset plan/mode sandbox/mode schedule/change session-log-deepseek/delivery-accepted
    session/title session/title-llm-request subagent/catalog subagent/descriptor
    subagent/model-selection-policy team/member team/message/delivered team/message/queued team/task
    todo/write tool-workflow/agent-end tool-workflow/agent-start tool-workflow/run-end
    tool-workflow/run-start web/deepseek-search-llm-request workspace/changes
    working-directory/change
    """.split()  # noqa: SIM905
)
"""Kinds that a host of format 3 may write without `ignorable`; carried, never read."""

KNOWN_TYPES: Mapping[str, type[msgspec.Struct]] = {
    str(kind.__struct_config__.tag): kind for kind in typing.get_args(KnownEvent)
}
"""The struct of each kind that this build reads."""

SURFACE_TYPES: frozenset[type] = frozenset(typing.get_args(SurfaceEvent))
"""The structs of the kinds that stand on the surface."""


def _opaque_paths(struct: type[msgspec.Struct]) -> list[tuple[str, ...]]:
    """Where values of `struct` hold opaque JSON, lists left out."""
    paths: list[tuple[str, ...]] = []
    for field in msgspec.structs.fields(struct):
        if field.type is Raw:
            paths.append((field.name,))
        union = isinstance(field.type, types.UnionType)
        for option in typing.get_args(field.type) if union else (field.type,):
            if isinstance(option, type) and issubclass(option, msgspec.Struct):
                paths += [(field.name, *rest) for rest in _opaque_paths(option)]
    return paths


_OPAQUE: Mapping[type, tuple[tuple[tuple[str, ...], str], ...]] = {
    kind: tuple((path[:-1], path[-1]) for path in _opaque_paths(kind))
    for kind in KNOWN_TYPES.values()
}


def own_opaque(event: Event) -> bool:
    """Copy opaque JSON out of the line, which a view of it would keep in memory whole.

    Only for an event that nothing else has seen yet. Says whether a number -0 may be in it.
    """
    suspect = False
    for path, name in _OPAQUE[type(event)]:
        holder: Any = event
        for step in path:
            holder = getattr(holder, step)
            if holder is None:
                break
        else:
            raw = getattr(holder, name)
            if raw:
                own = raw.copy()
                force_setattr(holder, name, own)
                suspect = suspect or b"-0" in bytes(own)
    return suspect
