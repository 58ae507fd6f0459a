"""The requests an arm sends, measured from the edits of its surface.

A node brings its tokens and its bytes when it appears, so a request costs what changed since the
last one, never its size.
"""

from collections.abc import Callable
from dataclasses import dataclass

from slicetape.log.events import Event, SystemMessage
from slicetape.prices.cache import Request
from slicetape.prices.prefix import Prefix, Section
from slicetape.replay.counting import FRAME
from slicetape.replay.nodes import Node, Nodes
from slicetape.surface import Edit, Session
from slicetape.wire.lint import Rules
from slicetape.wire.lint_edits import IncrementalLint
from slicetape.wire.prefix import Step
from slicetape.wire.prefix_edits import IncrementalPrefix


@dataclass(frozen=True, slots=True)
class Sent:
    """One request as a cache sees it, and the tokens of its answer."""

    request: Request
    output: int


@dataclass(slots=True)
class Tally:
    """Sums over the requests of one arm."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    peak_tokens: int = 0
    breaks_in_turn: int = 0
    breaks_at_seal: int = 0
    lint_errors: int = 0
    first_break: str | None = None
    first_lint: str | None = None
    sent_chars: int = 0


class Meter:
    """Follows one session and measures each request it would send.

    `recorded` gives the recorded event that the event just appended repeats, None for what the
    arm wrote; `head` tokens stand ahead of every request.
    """

    def __init__(
        self,
        session: Session,
        nodes: Nodes,
        rules: Rules,
        *,
        head: int = 0,
        recorded: Callable[[], Event | None] = lambda: None,
    ) -> None:
        self._session = session
        self._measured = nodes
        self._recorded = recorded
        self._lint = IncrementalLint(rules)
        self._pieces = IncrementalPrefix(nodes.wire)
        self._nodes: list[Node] = []
        start = Prefix()
        if head:
            start = start.then("head", head, section="tools")
        self._prefixes: list[Prefix] = [start]
        self._chars = 0
        self._side_calls = 0
        self.tally = Tally()
        session.listen(self._edited)

    def request(self, answer: Event, *, first_in_turn: bool) -> Sent:
        """Take the surface as it stands as the request that `answer` was the reply to.

        `answer` is a recorded event, about to be appended.
        """
        node = self._measured.recorded(answer)
        prefix, seq = self._prefix(), len(self._session.log.events)
        sent = Sent(
            Request(
                prefix=prefix,
                breakpoints=self._breakpoints(prefix),
                answer=prefix.then(seq, node.tokens, blocks=node.blocks) if node.blocks else None,
                time_ms=answer.time or None,
            ),
            max(0, node.tokens - FRAME),
        )
        self._sum(sent, self._chars)
        self._check(first_in_turn)
        return sent

    def side_call(self, *, time: int, through: int, extra: int, output: int) -> Sent:
        """A request of its own that repeats the start of the surface, up to the node `through`.

        `extra` tokens of an instruction follow. The prefix of the main requests is not touched.
        """
        self._prefix()
        self._side_calls += 1
        end = self._session.view.surface.position(through) + 1
        start = self._prefixes[end]
        prefix = start.then(("instruction", self._side_calls), extra)
        sent = Sent(Request(prefix=prefix, breakpoints=(prefix,), time_ms=time or None), output)
        self._sum(sent, sum(node.chars for node in self._nodes[:end]))
        return sent

    def _edited(self, event: Event, edit: Edit | None) -> None:
        if edit is None:
            return
        repeated = self._recorded()
        measured = self._measured
        node = measured.recorded(repeated) if repeated else measured.written(event)
        start, end = edit.position, edit.position + len(edit.removed)
        self._chars += node.chars - sum(gone.chars for gone in self._nodes[start:end])
        self._nodes[start:end] = [node]
        del self._prefixes[start + 1 :]
        self._lint.replace(start, end, (node.fragment,))
        self._pieces.replace(start, end, (node.fragment,))

    def _prefix(self) -> Prefix:
        """The whole next request; nodes that did not change keep their prefixes."""
        view, kept = self._session.view, len(self._prefixes) - 1
        for seq, node in zip(view.surface.nodes[kept:], self._nodes[kept:], strict=True):
            section: Section = (
                "system" if isinstance(view.events[seq], SystemMessage) else "messages"
            )
            longer = self._prefixes[-1].then(seq, node.tokens, section=section, blocks=node.blocks)
            self._prefixes.append(longer)
        return self._prefixes[-1]

    def _tape_nodes(self) -> int:
        view = self._session.view
        return view.surface.position(view.entries[-1]) + 1 if view.entries else 0

    def _breakpoints(self, prefix: Prefix) -> tuple[Prefix, ...]:
        tape = self._tape_nodes()
        return (self._prefixes[tape], prefix) if tape else (prefix,)

    def _sum(self, sent: Sent, chars: int) -> None:
        tally = self.tally
        tally.requests += 1
        tally.input_tokens += sent.request.total
        tally.output_tokens += sent.output
        tally.peak_tokens = max(tally.peak_tokens, sent.request.total)
        tally.sent_chars += chars

    def _check(self, first_in_turn: bool) -> None:
        tally = self.tally
        step = Step(first_in_turn=first_in_turn, tape=self._tape_nodes(), cause=self._cause)
        found = self._pieces.sent(step)
        if found is not None:
            if found.kind == "seal":
                tally.breaks_at_seal += 1
            else:
                tally.breaks_in_turn += 1
                tally.first_break = tally.first_break or str(found)
        tally.lint_errors += self._lint.count
        if self._lint.count and tally.first_lint is None:
            tally.first_lint = str(self._lint.problems()[0])
        self._lint.sent()

    def _cause(self, position: int) -> int | None:
        nodes = self._session.view.surface.nodes
        return nodes[position] if position < len(nodes) else None
