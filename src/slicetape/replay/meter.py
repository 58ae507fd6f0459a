"""The requests an arm sends, measured from the edits of its surface.

Nothing is counted or encoded twice: a node brings its tokens and its bytes when it appears, and a
request costs what changed since the last one.
"""

from collections.abc import Callable
from dataclasses import dataclass

from slicetape.log.events import Event, SystemMessage
from slicetape.prices.cache import Request
from slicetape.prices.prefix import Prefix
from slicetape.replay.counting import FRAME, Counts, chars
from slicetape.surface import Edit, Session, message_at
from slicetape.wire.fragment import Fragment, Wire
from slicetape.wire.lint import Rules
from slicetape.wire.lint_edits import IncrementalLint
from slicetape.wire.prefix import Step
from slicetape.wire.prefix_edits import IncrementalPrefix

EMPTY = Fragment("")


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


@dataclass(frozen=True, slots=True)
class _Node:
    seq: int
    tokens: int
    chars: int
    blocks: int


class Meter:
    """Follows one session and measures each request it would send.

    `recorded` maps a seq of this log to the recorded event it repeats, None for what the arm
    wrote; `head` tokens stand ahead of every request; without `system`, recorded prompts weigh
    nothing.
    """

    def __init__(
        self,
        session: Session,
        counts: Counts,
        wire: Wire,
        rules: Rules,
        *,
        head: int = 0,
        system: bool = True,
        recorded: Callable[[int], Event | None] = lambda _: None,
    ) -> None:
        self._session = session
        self._counts = counts
        self._wire = wire
        self._recorded = recorded
        self._system = system
        self._lint = IncrementalLint(rules)
        self._pieces = IncrementalPrefix(wire)
        self._nodes: list[_Node] = []
        start = Prefix()
        if head:
            start = start.then("head", head, section="tools")
        self._prefixes: list[Prefix] = [start]
        self._chars = 0
        self._side_calls = 0
        self.tally = Tally()
        session.listen(self._edited)

    @property
    def total(self) -> int:
        """Tokens of the next request."""
        return self._prefix().tokens

    def request(self, answer: Event, *, first_in_turn: bool) -> Sent:
        """Take the surface as it stands as the request that `answer` was the reply to.

        `answer` is a recorded event, about to be appended.
        """
        said = message_at(answer)
        tokens = self._counts.recorded(answer) if said else 0
        prefix = self._prefix()
        seq, blocks = len(self._session.log.events), len(said.content) if said else 0
        sent = Sent(
            Request(
                prefix=prefix,
                breakpoints=self._breakpoints(prefix),
                answer=prefix.then(seq, tokens, blocks=blocks) if said else None,
                time_ms=answer.time or None,
            ),
            max(0, tokens - FRAME),
        )
        self._sum(sent)
        self._check(first_in_turn)
        return sent

    def side_call(self, *, time: int, through: int, extra: int, output: int) -> Sent:
        """A request of its own that repeats the start of the surface, up to the node `through`.

        `extra` tokens of an instruction follow. The prefix of the main requests is not touched.
        """
        self._prefix()
        self._side_calls += 1
        start = self._prefixes[self._session.view.surface.position(through) + 1]
        prefix = start.then(("instruction", self._side_calls), extra)
        sent = Sent(Request(prefix=prefix, breakpoints=(prefix,), time_ms=time or None), output)
        self._sum(sent)
        return sent

    def _edited(self, event: Event, edit: Edit | None) -> None:
        if edit is None:
            return
        message = message_at(event)
        fragment = self._wire.fragment(message) if message else EMPTY
        recorded = self._recorded(event.seq)
        if message is None or (isinstance(event, SystemMessage) and not self._system):
            message, tokens = None, 0
        elif recorded is not None:
            tokens = self._counts.recorded(recorded)
        else:
            tokens = self._counts.tokens(message)
        start, end = edit.position, edit.position + len(edit.removed)
        self._chars -= sum(node.chars for node in self._nodes[start:end])
        blocks = len(message.content) if message else 0
        node = _Node(edit.added, tokens, chars(message), blocks)
        self._chars += node.chars
        self._nodes[start:end] = [node]
        del self._prefixes[start + 1 :]
        self._lint.replace(start, end, (fragment,))
        self._pieces.replace(start, end, (fragment,))

    def _prefix(self) -> Prefix:
        """The whole next request; nodes that did not change keep their prefixes."""
        for node in self._nodes[len(self._prefixes) - 1 :]:
            system = isinstance(self._session.view.events[node.seq], SystemMessage)
            self._prefixes.append(
                self._prefixes[-1].then(
                    node.seq,
                    node.tokens,
                    section="system" if system else "messages",
                    blocks=node.blocks,
                )
            )
        return self._prefixes[-1]

    def _tape_nodes(self) -> int:
        view = self._session.view
        return view.surface.position(view.entries[-1]) + 1 if view.entries else 0

    def _breakpoints(self, prefix: Prefix) -> tuple[Prefix, ...]:
        tape = self._tape_nodes()
        return (self._prefixes[tape], prefix) if tape else (prefix,)

    def _sum(self, sent: Sent) -> None:
        tally = self.tally
        tally.requests += 1
        tally.input_tokens += sent.request.total
        tally.output_tokens += sent.output
        tally.peak_tokens = max(tally.peak_tokens, sent.request.total)
        tally.sent_chars += self._chars

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
        return self._nodes[position].seq if position < len(self._nodes) else None
