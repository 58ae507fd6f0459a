"""The system prompt and the runtime context: what stands ahead of a conversation, and what changes.

The prompt is sections in a fixed order, the same bytes for a whole session: no clock, no random
id. What may change while a session runs is a snapshot, one message in the user role; a newer
snapshot supersedes the older ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from slicetape.log.events import SNAPSHOT_PLUGIN, Replace, SystemMessage, UserMessage
from slicetape.log.messages import NO_JSON, Message, Source, Text, text_of
from slicetape.log.payloads import SystemData
from slicetape.loop.protocols import Ids
from slicetape.surface import Session

SNAPSHOT_PREAMBLE = (
    "What holds now where you work. It takes the place of every such message before it."
)
NO_CONTEXT = (
    "Nothing more is known of where you work. Such messages before this one no longer hold."
)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the system prompt; sections stand by `order`, then by name."""

    name: str
    order: int
    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A part of the runtime context."""

    name: str
    text: str


def rendered(sections: Sequence[Section]) -> str:
    """The prompt that the sections give."""
    ordered = sorted(sections, key=lambda section: (section.order, section.name))
    return "\n\n".join(section.text.strip("\n") for section in ordered if section.text.strip())


class Prompt:
    """The prompt and the runtime context of one session.

    `facts` is asked before each step; what it returns is shown again only when it differs from
    the newest snapshot that still stands.
    """

    def __init__(
        self,
        sections: Sequence[Section] = (),
        facts: Callable[[], Sequence[Fact]] = lambda: (),
        *,
        preamble: str = SNAPSHOT_PREAMBLE,
    ) -> None:
        self.sections = tuple(sections)
        self.facts = facts
        self._preamble = preamble

    def snapshot(self, session: Session, ids: Ids) -> Message | None:
        """The snapshot that is due, None when what stands still holds."""
        facts = [fact for fact in self.facts() if fact.text]
        standing = _standing(session)
        if not facts and standing is None:
            return None
        text = "\n\n".join((self._preamble, *(fact.text for fact in facts)))
        if not facts:
            text = NO_CONTEXT
        if text == standing:
            return None
        sections = [{"name": fact.name, "text": fact.text} for fact in facts]
        source = Source(
            "plugin",
            SNAPSHOT_PLUGIN,
            "snapshot",
            sections=Raw(msgspec.json.encode(sections)) if sections else NO_JSON,
        )
        return Message(ids(), "user", (Text(text),), source)

    def update(
        self, session: Session, place: tuple[int, int], ids: Ids, *, time: int, append: bool
    ) -> SystemMessage | None:
        """The `system/message` that is due at a step, None when the prompt stands.

        A changed prompt replaces the one at node 0; with `append` it is put behind what was sent.
        """
        text = rendered(self.sections)
        nodes = session.view.surface.nodes
        standing = [seq for seq in nodes if isinstance(session.view.events[seq], SystemMessage)]
        last = session.view.events[standing[-1]] if standing else None
        if isinstance(last, SystemMessage) and text_of(last.data.message.content) == text:
            return None
        content = (Text(text),) if text else ()
        source = Source("plugin", SNAPSHOT_PLUGIN)
        data = SystemData(*place, Message(ids(), "system", content, source))
        if last is None or append or nodes[0] != standing[0]:
            return SystemMessage(time=time, data=data, surface_op="append")
        head = standing[0]
        return SystemMessage(
            time=time, data=data, surface_op=Replace(head, head), source_event_seqs=(head,)
        )


def _standing(session: Session) -> str | None:
    snapshots = session.view.snapshots
    if not snapshots:
        return None
    event = session.view.events[snapshots[-1]]
    assert isinstance(event, UserMessage)
    return text_of(event.data.content)
