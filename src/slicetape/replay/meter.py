"""The requests an arm sends, measured from the edits of its surface.

Nothing is counted or encoded twice: a node brings its tokens and its bytes when it appears, and a
request costs what changed since the last one.
"""

from collections.abc import Callable
from dataclasses import dataclass

from slicetape.log.events import Event
from slicetape.replay.counting import Counts, chars
from slicetape.surface import Edit, Session, message_at
from slicetape.wire.fragment import Fragment, Wire
from slicetape.wire.lint import Rules
from slicetape.wire.lint_edits import IncrementalLint
from slicetape.wire.prefix import Step
from slicetape.wire.prefix_edits import IncrementalPrefix

EMPTY = Fragment("")


@dataclass(frozen=True, slots=True)
class Request:
    """One request, in tokens: `total` sent, of which the first `shared` stood in the last one.

    `tape` tokens end at the last entry. `nodes` is (identity, tokens) of each node from the
    first changed one on, at position `same`. `time` is epoch ms, None where none was recorded.
    """

    time: int | None
    total: int
    shared: int
    tape: int
    same: int
    nodes: tuple[tuple[int, int], ...]
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


@dataclass(slots=True)
class _Node:
    seq: int
    tokens: int
    chars: int


class Meter:
    """Follows one session and measures each request it would send.

    `recorded` maps a seq of this log to the recorded event it repeats, None for what the arm
    wrote; `head` tokens stand ahead of every request.
    """

    def __init__(
        self,
        session: Session,
        counts: Counts,
        wire: Wire,
        rules: Rules,
        *,
        head: int = 0,
        recorded: Callable[[int], Event | None] = lambda _: None,
    ) -> None:
        self._session = session
        self._counts = counts
        self._wire = wire
        self._recorded = recorded
        self._head = head
        self._lint = IncrementalLint(rules)
        self._prefix = IncrementalPrefix(wire)
        self._nodes: list[_Node] = []
        self._ends: list[int] = [head]
        self._same = 0
        self._chars = 0
        self.tally = Tally()
        session.listen(self._edited)

    @property
    def total(self) -> int:
        """Tokens of the next request."""
        self._measure()
        return self._ends[-1]

    def request(self, *, time: int | None, output: int, first_in_turn: bool) -> Request:
        """Take the surface as it stands as the next request that goes out."""
        same, shared = self._same, self._ends[min(self._same, len(self._ends) - 1)]
        self._measure()
        request = Request(
            time=time,
            total=self._ends[-1],
            shared=shared if self.tally.requests else 0,
            tape=self._tape_tokens(),
            same=same,
            nodes=tuple((node.seq, node.tokens) for node in self._nodes[same:]),
            output=output,
        )
        self._same = len(self._nodes)
        self._sum(request)
        self._check(first_in_turn)
        return request

    def side_call(self, *, time: int | None, through: int, extra: int, output: int) -> Request:
        """A request of its own that repeats the start of the surface, up to the node `through`.

        `extra` tokens of an instruction follow. The prefix of the main requests is not touched.
        """
        self._measure()
        nodes = self._session.view.surface.position(through) + 1
        same = min(self._same, nodes)
        repeated = tuple((node.seq, node.tokens) for node in self._nodes[same:nodes])
        request = Request(
            time=time,
            total=self._ends[nodes] + extra,
            shared=self._ends[same],
            tape=min(self._tape_tokens(), self._ends[nodes]),
            same=same,
            nodes=(*repeated, (-1 - self.tally.requests, extra)),
            output=output,
        )
        self._sum(request)
        return request

    def _edited(self, event: Event, edit: Edit | None) -> None:
        if edit is None:
            return
        message = message_at(event)
        fragment = self._wire.fragment(message) if message else EMPTY
        recorded = self._recorded(event.seq)
        if message is None:
            tokens = 0
        elif recorded is not None:
            tokens = self._counts.recorded(recorded)
        else:
            tokens = self._counts.tokens(message)
        start, end = edit.position, edit.position + len(edit.removed)
        self._chars -= sum(node.chars for node in self._nodes[start:end])
        node = _Node(edit.added, tokens, chars(message))
        self._chars += node.chars
        self._nodes[start:end] = [node]
        del self._ends[start + 1 :]
        self._same = min(self._same, start)
        self._lint.replace(start, end, (fragment,))
        self._prefix.replace(start, end, (fragment,))

    def _measure(self) -> None:
        for node in self._nodes[len(self._ends) - 1 :]:
            self._ends.append(self._ends[-1] + node.tokens)

    def _tape_nodes(self) -> int:
        view = self._session.view
        return view.surface.position(view.entries[-1]) + 1 if view.entries else 0

    def _tape_tokens(self) -> int:
        nodes = self._tape_nodes()
        return self._ends[nodes] if nodes else 0

    def _sum(self, request: Request) -> None:
        tally = self.tally
        tally.requests += 1
        tally.input_tokens += request.total
        tally.output_tokens += request.output
        tally.peak_tokens = max(tally.peak_tokens, request.total)
        tally.sent_chars += self._chars

    def _check(self, first_in_turn: bool) -> None:
        tally = self.tally
        step = Step(first_in_turn=first_in_turn, tape=self._tape_nodes(), cause=self._cause)
        found = self._prefix.sent(step)
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
