"""What stands in the requests of a peer, of all that the model went on to use.

The measure of evidence, on messages: a text that the peer left alone shows all its words, one that
it wrote itself only those on lines that stand in the result it was made from.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from slicetape.log.events import ToolResult
from slicetape.log.messages import Text, ToolResultBlock
from slicetape.replay.evidence.fidelity import Fidelity
from slicetape.replay.evidence.fidelity import Shown as Lines
from slicetape.replay.evidence.figures import Counts, Evidence, HiddenCounts, Share, evidence
from slicetape.replay.evidence.recalls import predicted
from slicetape.replay.evidence.references import Kind, References, Step
from slicetape.replay.evidence.standing import Originals, standing
from slicetape.replay.evidence.tokens import strings, tokens
from slicetape.replay.evidence.visible import Folded, Hidden, Seen, Visibility
from slicetape.replay.peers.fidelity import Truths, result_of
from slicetape.replay.peers.measure import arguments_of, read
from slicetape.replay.peers.requests import ChatRequest, Item, Reply
from slicetape.replay.recording import Recording


class Used:
    """What the model refers to in a recording, and where each result stands in it."""

    def __init__(self, recording: Recording, references: References, truths: Truths) -> None:
        self.references = references
        self.wanted = frozenset[str]().union(*references.contained.values())
        self.fidelity = Fidelity(references)
        self._truths = truths
        self._steps = {
            id(event.data): step
            for event in recording.events
            if (step := references.steps.get(event.seq)) is not None
        }
        self._results = dict(_results(recording))
        self._known: dict[bytes, frozenset[str]] = {}

    def step(self, reply: Reply) -> Step | None:
        """What a reply of any arm's log referred to; the log shares the data of the recording."""
        return self._steps.get(id(reply.data))

    def tokens(self, message: bytes) -> frozenset[str]:
        """The tokens of references that a message shows."""
        known = self._known.get(message)
        if known is None:
            known = self._known[message] = frozenset(self._tokens(message))
        return known

    def folded(self, call: str, text: str, shown: frozenset[str]) -> Folded | None:
        """The result of a call, seen first as `text`; None for one that is not recorded."""
        event = self._results.get(call)
        if event is None or event.seq not in self.references.events:
            return None
        content = tuple(
            msgspec.structs.replace(block, content=(Text(text),))
            if isinstance(block, ToolResultBlock) and block.tool_call_id == call
            else block
            for block in event.data.message.content
        )
        message = msgspec.structs.replace(event.data.message, content=content)
        data = msgspec.structs.replace(event.data, message=message)
        return Folded(event.seq, msgspec.structs.replace(event, data=data), shown)

    def _tokens(self, json: bytes) -> set[str]:
        message = read(json)
        if message.role in ("system", "developer"):
            return set()
        result = result_of(json)
        truth = self._truths.by_call.get(result[0]) if result else None
        if truth is not None and truth.text != message.text:
            originals = Originals(lambda: (truth.text,))
            found = standing((message.text,), originals, self.wanted)
            return set().union(*found.values())
        texts = [message.text]
        for asked in arguments_of(message):
            texts += strings(asked)
        return set().union(*map(tokens, texts)) & self.wanted


class Sight:
    """Follows the requests of one row; `seen` has every step, `first` results not shown whole."""

    def __init__(self, used: Used, truths: Truths) -> None:
        self.seen: list[Seen] = []
        self.first: list[Folded] = []
        self._used = used
        self._truths = truths
        self._items: list[frozenset[str]] = []
        self._nodes: Counter[str] = Counter()
        self._came: set[str] = set()
        self._requests = 0

    def request(self, keep: int, add: Sequence[Item], asked: ChatRequest) -> None:
        """Take what is sent for `asked`: the first `keep` messages of the last one, then `add`."""
        for gone in self._items[keep:]:
            self._nodes.subtract(gone)
        del self._items[keep:]
        for item in add:
            shown = self._used.tokens(item.json)
            self._items.append(shown)
            self._nodes.update(shown)
            self._note(item.json, shown)
        step = self._used.step(asked.reply)
        if step is not None:
            self.seen.append(Seen(step, self._requests, self._hidden(step)))
        self._requests += 1

    def fidelity(self, whole: Visibility) -> dict[str, Lines]:
        """What was shown at first sight; results that never came are shown not at all."""
        missing = (self._used.folded(call, "", frozenset()) for call in self._unseen())
        folded = [*self.first, *(row for row in missing if row is not None)]
        places = {seq: whole.place(seq) for seq in self._used.references.events}
        return self._used.fidelity.of(whole.session.view, places, folded)

    def _unseen(self) -> Iterator[str]:
        return (call for call in self._truths.by_call if call not in self._came)

    def _note(self, message: bytes, shown: frozenset[str]) -> None:
        result = result_of(message)
        if result is None or result[0] in self._came:
            return
        call, text = result
        self._came.add(call)
        truth = self._truths.by_call.get(call)
        if truth is not None and truth.text != text:
            folded = self._used.folded(call, text, shown)
            self.first += [folded] if folded else []

    def _hidden(self, step: Step) -> tuple[Hidden, ...]:
        gone = (row for row in step.references if self._nodes[row.token] <= 0)
        return tuple(Hidden(reference, "dropped", ()) for reference in gone)


def summary(seen: Sequence[Seen]) -> Evidence:
    """The figures of a row; what recall tools would find is not asked here."""
    counts = Counts(
        steps=len(seen),
        referring_steps=sum(bool(row.step.references) for row in seen),
        clean=sum(bool(row.step.references) and not row.hidden for row in seen),
        tool=_share(seen, "tool"),
        said=_share(seen, "said"),
        mixed=_share(seen, "mixed"),
        found=None,
    )
    how: Counter[str] = Counter(hidden.how for one in seen for hidden in one.hidden)
    lost = HiddenCounts(how["sealed"], how["folded"], how["dropped"])
    return evidence(counts, lost, sum(bool(predicted(one)) for one in seen))


def _share(seen: Sequence[Seen], kind: Kind) -> Share:
    """Visible and all references of a kind."""
    total = sum(row.kind == kind for one in seen for row in one.step.references)
    gone = sum(row.reference.kind == kind for one in seen for row in one.hidden)
    return Share(total - gone, total)


def _results(recording: Recording) -> Iterator[tuple[str, ToolResult]]:
    """The first result of each call."""
    known: set[str] = set()
    for event in recording.events:
        if isinstance(event, ToolResult):
            for block in event.data.message.content:
                if isinstance(block, ToolResultBlock) and block.tool_call_id not in known:
                    known.add(block.tool_call_id)
                    yield block.tool_call_id, event
