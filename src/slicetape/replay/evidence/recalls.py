"""What the recalls would cost that a step predicts: what it had to copy and no longer saw."""

import re
from dataclasses import dataclass
from fractions import Fraction

from slicetape.errors import PriceError, RecallError
from slicetape.log.events import FORMAT_VERSION
from slicetape.prices.cost import Tokens, reread_output_cost
from slicetape.recall.result import expand
from slicetape.recall.spilled import NoSpills
from slicetape.replay.counting import FRAME
from slicetape.replay.evidence.visible import Seen, Visibility
from slicetape.replay.meter import Sent
from slicetape.replay.nodes import Nodes
from slicetape.replay.pricing import Bill, spent

REREAD_OUTPUT = 120
"""Tokens that a model writes to read a source again."""

_FEW = 16
"""Missing tokens of a step up to which each source of each of them is looked through."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """One predicted recall: the request it repeats, and the tokens it brings.

    `part` is the smallest text that has what is missing, `whole` the whole results; `later` counts
    the requests that still carry what was read, to the end of the turn.
    """

    request: int
    part: int
    whole: int
    later: int


def predicted(seen: Seen) -> list[tuple[str, tuple[int, ...]]]:
    """The tokens that a step had to copy from results it did not see, and their sources."""
    return [
        (hidden.reference.token, hidden.reference.sources)
        for hidden in seen.hidden
        if hidden.reference.kind == "tool" and hidden.reference.copied
    ]


class Pages:
    """The texts that recalls bring back, counted in tokens."""

    def __init__(self, visibility: Visibility, nodes: Nodes) -> None:
        self._visibility = visibility
        self._nodes = nodes
        self._parts: dict[tuple[int, tuple[str, ...]], int] = {}

    def recalled(self, seen: Seen) -> Recalled | None:
        """The recall that a step predicts, None when it predicts none."""
        missing = predicted(seen)
        if not missing:
            return None
        wanted: dict[int, list[str]] = {}
        for token, sources in missing:
            wanted.setdefault(self._best(token, sources, len(missing)), []).append(token)
        return Recalled(
            request=seen.request,
            part=sum(self._part(seq, tuple(tokens)) for seq, tokens in wanted.items()),
            whole=sum(self._whole(seq) for seq in wanted),
            later=seen.step.later,
        )

    def _best(self, token: str, sources: tuple[int, ...], missing: int) -> int:
        """The source that brings a token in the fewest tokens."""
        if len(sources) == 1:
            return sources[0]
        if missing > _FEW:
            return min(sources, key=lambda seq: (self._whole(seq), seq))
        return min(sources, key=lambda seq: (self._part(seq, (token,)), seq))

    def _part(self, seq: int, tokens: tuple[str, ...]) -> int:
        """Tokens of the lines that match, as `expand_result` gives them, or of the whole result."""
        key = seq, tokens
        if key not in self._parts:
            self._parts[key] = min(self._whole(seq), self._matching(seq, tokens))
        return self._parts[key]

    def _matching(self, seq: int, tokens: tuple[str, ...]) -> int:
        view = self._visibility.session.view
        arguments = {
            "seq": self._visibility.place(seq),
            "formatVersion": FORMAT_VERSION,
            "grep": "|".join(map(re.escape, tokens)),
        }
        try:
            page = expand(view, arguments, spills=NoSpills())
        except RecallError:  # too long an expression
            return self._whole(seq)
        return self._nodes.counts.text(page)

    def _whole(self, seq: int) -> int:
        event = self._visibility.references.events[seq]
        return max(0, self._nodes.recorded(event).tokens - FRAME)


def with_recall(bill: Bill, sent: list[Sent], recalls: list[Recalled]) -> Fraction:
    """The cost with one request more for each recall, which brings the matching lines.

    Its old text is billed as the request of the step was, what it brings as fresh text.
    """
    extra = [(again(bill, row) + Tokens(fresh=row.part), row) for row in recalls]
    return bill.money + spent(
        bill.sheet, ((sent[row.request].request.time_ms, tokens) for tokens, row in extra)
    )


def with_reread(bill: Bill, sent: list[Sent], recalls: list[Recalled]) -> Fraction | None:
    """The cost with one request more for each recall, which brings the whole results.

    They stay in the requests to the end of the turn, and asking for them takes output. None on a
    sheet that gives output no price.
    """
    extra = []
    for row in recalls:
        read = Tokens(fresh=row.whole, cached=row.whole * row.later)
        extra.append((sent[row.request].request.time_ms, again(bill, row) + read))
    try:
        output = len(recalls) * reread_output_cost(REREAD_OUTPUT, bill.sheet)
    except PriceError:
        return None
    return bill.money + spent(bill.sheet, extra) + output


def again(bill: Bill, row: Recalled) -> Tokens:
    """The prompt of the step's own request, billed once more."""
    own = bill.rows[row.request]
    return Tokens(own.cached, own.written, own.fresh)
