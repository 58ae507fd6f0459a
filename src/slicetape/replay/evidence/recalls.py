"""What the recalls would cost that a step predicts: what it had to copy and no longer saw."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from slicetape.errors import PriceError, RecallError
from slicetape.log.events import ToolResult
from slicetape.prices.cost import Tokens, reread_output_cost
from slicetape.recall.records import result_blocks, text_parts
from slicetape.recall.result import grep_page
from slicetape.replay.counting import FRAME
from slicetape.replay.evidence.references import References
from slicetape.replay.evidence.visible import Seen
from slicetape.replay.meter import Sent
from slicetape.replay.nodes import Nodes
from slicetape.replay.pricing import Bill, spent

REREAD_OUTPUT = 120
"""Tokens that a model writes to read a source again."""

_FEW = 16
"""Missing tokens of a step up to which sources are looked through; for more, they come whole."""


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
    """The texts that recalls bring back, counted in tokens; each page is made once for all arms.

    A page says the seq that its result has in the recording.
    """

    def __init__(self, references: References, nodes: Nodes) -> None:
        self._references = references
        self._nodes = nodes
        self._matching: dict[tuple[int, str], int] = {}

    def recalled(self, seen: Seen) -> Recalled | None:
        """The recall that a step predicts, None when it predicts none."""
        missing = predicted(seen)
        if not missing:
            return None
        few = len(missing) <= _FEW
        wanted: dict[int, list[str]] = {}
        for token, sources in missing:
            wanted.setdefault(self._best(token, sources, few=few), []).append(token)
        parts = [self._part(seq, tokens, few=few) for seq, tokens in wanted.items()]
        return Recalled(
            request=seen.request,
            part=sum(parts),
            whole=sum(map(self._whole, wanted)),
            later=seen.step.later,
        )

    def _best(self, token: str, sources: tuple[int, ...], *, few: bool) -> int:
        """The source that brings a token in the fewest tokens."""
        if len(sources) == 1:
            return sources[0]
        return min(sources, key=lambda seq: (self._part(seq, [token], few=few), seq))

    def _part(self, seq: int, tokens: Sequence[str], *, few: bool) -> int:
        """Tokens of the lines around each token, or of the whole result when that is less."""
        whole = self._whole(seq)
        if not few:
            return whole
        return min(whole, sum(self._around(seq, token) for token in tokens))

    def _around(self, seq: int, token: str) -> int:
        """Tokens of the page that `expand_result` gives with `grep`."""
        key = seq, token
        if key not in self._matching:
            event = self._references.events[seq]
            assert isinstance(event, ToolResult)
            text = "\n".join("\n".join(text_parts(block)) for block in result_blocks(event))
            head = f"tool · seq {seq} (turn {event.data.turn} step {event.data.step} call 1)"
            try:
                page = grep_page(text, re.escape(token), head)
            except RecallError:  # too long an expression
                page = text
            self._matching[key] = self._nodes.counts.text(page)
        return self._matching[key]

    def _whole(self, seq: int) -> int:
        return max(0, self._nodes.recorded(self._references.events[seq]).tokens - FRAME)


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
