"""From the surface to the bytes of a request, and the checks before it goes.

Before a request is sent, three things are held: what it says is what the log says, a provider
would take it, and it extends the request before it. A node's bytes depend on the node alone, so
each check costs what changed since the last request.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Raw

from slicetape.errors import LoopError
from slicetape.log.codec import decode_event
from slicetape.log.events import (
    AssistantMessage,
    CompactionPrune,
    Event,
    SystemMessage,
    ToolResult,
    UserMessage,
)
from slicetape.log.payloads import HeaderConfig
from slicetape.loop.protocols import Route
from slicetape.surface import Edit, Session, message_at
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.cache_marks import Marks
from slicetape.wire.fragment import Fragment
from slicetape.wire.growing import Growing
from slicetape.wire.lint import CHAT, MESSAGES, Rules
from slicetape.wire.lint_edits import IncrementalLint
from slicetape.wire.prefix import HEAD, Break, PrefixCheck, Step

NOTHING = Fragment("")


@dataclass(frozen=True, slots=True)
class Ready:
    """A request that may be sent, and where the one before it stopped being repeated."""

    body: bytes
    step: Step
    stream: Sequence[bytes]
    broke: Break | None


def rules_of(route: Route) -> Rules:
    """What the provider behind a route refuses.

    A model that once called a tool without reasoning is not refused here: nothing can add what
    it did not say.
    """
    return MESSAGES if isinstance(route.wire, MessagesWire) else CHAT


class Requests:
    """The requests of one session on one route. `encoded` counts the nodes that were encoded.

    A break of the prefix is let through where the log says why: the first step of a turn, a new
    system prompt, a compaction, a tool list that changed between turns.
    """

    def __init__(self, session: Session, route: Route) -> None:
        self._session = session
        self._route = route
        self._seqs: list[int] = []
        self._nodes = Growing(route.wire)
        self._unchecked: set[int] = set()
        self._sent_through = -1
        self._lint = IncrementalLint(rules_of(route))
        self._prefix = PrefixCheck()
        self._following = True
        self._unsigned: set[int] = set()
        self.encoded = 0
        for seq in session.view.surface.nodes:
            self._put(len(self._seqs), 0, seq)
        session.listen(self._follow)

    @property
    def route(self) -> Route:
        """Where the requests go."""
        return self._route

    def close(self) -> None:
        """Follow the session no longer."""
        self._following = False

    def build(self, config: HeaderConfig, tools: Raw, *, first_in_turn: bool) -> Ready:
        """The request for the surface as it stands, checked.

        LoopError when it is not what the log says, when a provider would refuse it, or when it
        rewrites what was sent inside this turn.
        """
        self._compare()
        if self._lint.count:
            raise LoopError(f"this request would be refused: {self._lint.problems()[0].text}")
        stream = self._nodes.stream()
        step = Step(
            first_in_turn=first_in_turn, tape=self._tape(), head=bytes(tools), cause=self._cause
        )
        broke = self._prefix.check(stream, step)
        if broke is not None and not self._allowed(broke, first_in_turn):
            raise LoopError(f"this request rewrites what was sent: {broke}")
        body = self._route.wire.body(self._nodes.history(step.tape), tools, config)
        return Ready(body, step, stream, broke)

    def sent(self, ready: Ready) -> None:
        """Take note that `ready` goes out; the next request has to extend it."""
        self._prefix.sent(ready.stream, ready.step)
        self._lint.sent()
        self._sent_through = len(self._session.log.events)

    def prefix_body(self, through: int, last: Fragment, config: HeaderConfig, tools: Raw) -> bytes:
        """A request of its own: the nodes up to position `through`, then one message more."""
        wire = self._route.wire
        fragments = (*self._nodes.fragments[: through + 1], last)
        if isinstance(wire, MessagesWire):
            marks = Marks((through, through + 1))
            return wire.request(fragments, tools, config, marks)
        return wire.request(fragments, tools, config)

    def _compare(self) -> None:
        view = self._session.view
        if self._seqs != view.surface.nodes:
            raise LoopError("this request is not what the log says: its nodes are others")
        for seq in sorted(self._unchecked):
            if seq in view.surface:
                said = self._encode(decode_event(self._session.log.raw(seq)), seq)
                if said != self._nodes.fragments[view.surface.position(seq)]:
                    raise LoopError(f"this request is not what the log says at event {seq}")
        self._unchecked.clear()

    def _follow(self, event: Event, edit: Edit | None) -> None:
        if edit is not None and self._following:
            self._put(edit.position, len(edit.removed), edit.added)
            if edit.removed:
                self._unsign(edit.position + 1)

    def _put(self, position: int, removed: int, seq: int) -> None:
        fragment = self._encode(self._session.view.events[seq], seq)
        self._unchecked.add(seq)
        self._seqs[position : position + removed] = [seq]
        self._nodes.replace(position, position + removed, fragment)
        self._lint.replace(position, position + removed, (fragment,))

    def _encode(self, event: Event, seq: int) -> Fragment:
        message = message_at(event)
        self.encoded += 1
        if message is None:
            return NOTHING
        wire = self._route.wire
        if isinstance(wire, MessagesWire):
            return wire.fragment(message, thinking=seq not in self._unsigned)
        return wire.fragment(message)

    def _unsign(self, start: int) -> None:
        """Leave out signed reasoning that was sent and now stands behind changed bytes."""
        for position in range(start, len(self._seqs)):
            seq = self._seqs[position]
            if self._nodes.fragments[position].facts.signed and seq <= self._sent_through:
                self._unsigned.add(seq)
                self._put(position, 1, seq)

    def _tape(self) -> int:
        view = self._session.view
        return view.surface.position(view.entries[-1]) + 1 if view.entries else 0

    def _cause(self, position: int) -> int | None:
        return self._seqs[position] if position < len(self._seqs) else None

    def _allowed(self, broke: Break, first_in_turn: bool) -> bool:
        if broke.kind == "seal":
            return True
        if broke.position == HEAD:
            return first_in_turn
        event = None if broke.seq is None else self._session.view.events[broke.seq]
        match event:
            case SystemMessage():
                return True
            case UserMessage():
                return event.data.source.plugin == "compact"
            case ToolResult():
                return self._pruned(event)
            case AssistantMessage():
                return event.seq in self._unsigned
            case _:
                return False

    def _pruned(self, event: ToolResult) -> bool:
        """Whether the host's compaction shortened this result."""
        return event.seq > 0 and isinstance(
            self._session.view.events[event.seq - 1], CompactionPrune
        )
