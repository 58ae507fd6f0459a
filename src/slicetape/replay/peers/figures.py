"""The rows of one session: an arm of ours read back from its log, a peer by what it answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from slicetape.errors import PeerError
from slicetape.prices.sheet import Sheet
from slicetape.replay.arms import TRANSCRIPT, Arm
from slicetape.replay.counting import Counts
from slicetape.replay.nodes import Nodes
from slicetape.replay.peers.drive import Answer
from slicetape.replay.peers.fidelity import FirstSight, Truths
from slicetape.replay.peers.measure import RowMeter, read, weigh
from slicetape.replay.peers.requests import ChatRequest, Item, requests
from slicetape.replay.peers.rows import PeerRow, spent
from slicetape.replay.pricing import bills
from slicetape.replay.recording import Recording
from slicetape.replay.run import Run, Setting, run
from slicetape.wire.lint import CHAT
from slicetape.wire.openai_chat import ChatWire


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How sessions are compared: `arms` of ours beside the peers; heads in tokens, as in replay.

    Without `system` prompts are sent and weigh nothing.
    """

    sheets: tuple[Sheet, ...]
    arms: tuple[Arm, ...] = ()
    head: int = 0
    system: bool = False
    recall_head: int = 0
    window: int = 200_000
    ttl: bool = False
    tokenizer: str | None = None


class Compared:
    """One recording, measured: its full requests, what its results hold, and how it is priced."""

    def __init__(self, recording: Recording, options: Options, count: Callable[[str], int]) -> None:
        self.recording = recording
        self.options = options
        self.nodes = Nodes(Counts(_once(count)), ChatWire(), system=options.system)
        self.whole = self.run(TRANSCRIPT)
        self.plain = list(self.requests(self.whole))
        self.truths = Truths.of(self.plain)

    def run(self, arm: Arm) -> Run:
        """The recording under an arm of ours, on the wire that peers are given."""
        options = self.options
        setting = Setting(
            rules=CHAT, head=options.head, recall_head=options.recall_head, window=options.window
        )
        return run(self.recording, arm, self.nodes, setting)

    def requests(self, done: Run) -> Iterator[ChatRequest]:
        """What a run sent, as chat messages."""
        return requests(self.recording.header, done.session.log.events, self.nodes)


def peer_row(
    name: str,
    versions: Mapping[str, str],
    ask: Callable[[int, Sequence[bytes]], Answer],
    session: Compared,
) -> PeerRow:
    """What a peer makes of the requests of a session, asked one by one."""
    meter, sight = RowMeter(head=session.options.head), FirstSight(session.truths)
    asked: list[Item] = []
    sent: list[Item] = []
    milliseconds: list[float] = []
    failures: list[str] = []
    for request in session.plain:
        asked[request.keep :] = request.add
        answer = ask(request.keep, [item.json for item in request.add])
        milliseconds.append(answer.ms)
        if answer.error is None:
            keep, add = answer.keep, _items(name, answer, asked, session)
        else:
            failures.append(answer.error)
            keep, add = 0, list(asked)
        if keep > len(sent):
            raise PeerError(f"{name} kept {keep} of {len(sent)} messages")
        sent[keep:] = add
        for item in add:
            sight.take(item.json)
        meter.request(keep, add, request)
    row = _measured(name, meter, sight, session)
    return msgspec.structs.replace(
        row,
        versions=dict(versions),
        ms=spent(milliseconds),
        failed_requests=len(failures),
        first_failure=failures[0] if failures else None,
    )


def _items(name: str, answer: Answer, asked: Sequence[Item], session: Compared) -> list[Item]:
    items: list[Item] = []
    counts, system = session.nodes.counts, session.options.system
    for json in map(bytes, answer.add):
        if json.isdigit():
            if int(json) >= len(asked):
                raise PeerError(f"{name} names message {int(json)} of {len(asked)}")
            items.append(asked[int(json)])
            continue
        try:
            message = read(json)
        except msgspec.MsgspecError:
            raise PeerError(f"{name} answered a message that is none") from None
        items.append(Item(json, weigh(message, counts, system=system)))
    return items


def _measured(name: str, meter: RowMeter, sight: FirstSight, session: Compared) -> PeerRow:
    """The figures of a row; `last_share` is still in bytes."""
    sums, options = meter.sums, session.options
    priced = bills(meter.sent, options.sheets, ttl=options.ttl)
    return PeerRow(
        name=name,
        requests=sums.requests,
        sent_bytes=sums.bytes,
        common_bytes=sums.common_bytes,
        last_share=float(sums.last_bytes),
        prefix_breaks=sums.breaks,
        prefix_breaks_at_turn=sums.breaks_at_turn,
        input_tokens=sums.tokens,
        cost={bill.sheet.id: float(bill.money) for bill in priced},
        fidelity=sight.figures(),
    )


def arm_row(arm: Arm, session: Compared) -> PeerRow:
    """An arm of ours: its own requests by the meter of peers, its bill by its own breakpoints."""
    options = session.options
    done = session.whole if arm is TRANSCRIPT else session.run(arm)
    head = options.head + (options.recall_head if arm.recalls else 0)
    meter, sight = RowMeter(head=head), FirstSight(session.truths)
    for request in session.requests(done):
        for item in request.add:
            sight.take(item.json)
        meter.request(request.keep, request.add, request)
    row = _measured(arm.name, meter, sight, session)
    return msgspec.structs.replace(
        row, ours=True, cost=_bill(done, options), ms=spent(done.policy_ms)
    )


def _bill(done: Run, options: Options) -> dict[str, float]:
    """Without output: peers are compared by their requests."""
    sent = [replace(row, output=0) for row in done.sent]
    return {b.sheet.id: float(b.money) for b in bills(sent, options.sheets, ttl=options.ttl)}


def _once(count: Callable[[str], int]) -> Callable[[str], int]:
    """Count each text once: the log of every arm repeats most of them."""
    known: dict[str, int] = {}

    def counted(text: str) -> int:
        tokens = known.get(text)
        if tokens is None:
            tokens = known[text] = count(text)
        return tokens

    return counted
