"""Decisions: what a policy wants changed, as data that carries its reason."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import msgspec

from slicetape.log.events import ENTRY_PLUGIN, Replace, UserMessage
from slicetape.log.messages import Message, Source, Text
from slicetape.log.seqs import pack
from slicetape.policy.fingerprint import fingerprint


@dataclass(frozen=True, slots=True)
class Seal:
    """Replace the nodes `sources`, in surface order, by one entry of this text."""

    sources: tuple[int, ...]
    text: str

    def event(self, time: int) -> UserMessage:
        """The event that carries the entry; its message id follows from what it stands for."""
        first, last = self.sources[0], self.sources[-1]
        return UserMessage(
            time=time,
            data=Message(
                id=f"slice-entry-{first}-{last}-{fingerprint(self.text, 16)}",
                role="user",
                content=(Text(self.text),),
                source=Source(kind="plugin", plugin=ENTRY_PLUGIN),
            ),
            surface_op=Replace(first, last),
            source_event_seqs=pack(self.sources),
        )


@dataclass(frozen=True, slots=True)
class Leave:
    """Keep the nodes `nodes` raw, and why; `ids` are the calls that do not pair."""

    nodes: tuple[int, ...]
    why: Literal["not shorter", "unpaired call"]
    ids: tuple[str, ...] = ()
    warning: str | None = None


@dataclass(frozen=True)
class SealPlan:
    """What sealing wants to append, in order, and what it leaves raw.

    `left` names what this plan looked at anew, not what earlier plans left. `view_chars` and
    `history_chars` are diagnostics in code points, computed when first read; read them before
    the plan is applied.
    """

    seals: tuple[Seal, ...]
    left: tuple[Leave, ...]
    warnings: tuple[str, ...]
    measure: Callable[[], tuple[int, int]]

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        return self.measure()

    @property
    def view_chars(self) -> int:
        """Code points of the JSON of every message after the plan, pending ones included."""
        return self._sizes[0]

    @property
    def history_chars(self) -> int:
        """Code points of the JSON of the new entries and every unprotected raw message."""
        return self._sizes[1]


def json_chars(messages: Sequence[Message]) -> int:
    """Code points of the compact JSON of messages; 0 for none."""
    if not messages:
        return 0
    try:
        return len(msgspec.json.encode(messages).decode())
    except UnicodeEncodeError:
        rows = msgspec.to_builtins(messages)
        return len(json.dumps(rows, ensure_ascii=False, separators=(",", ":")))
