"""The rows of one session: an arm of ours read back from its log, a peer by what it answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from slicetape.errors import PeerError
from slicetape.prices.sheet import Sheet
from slicetape.replay.arms import TRANSCRIPT, Arm
from slicetape.replay.counting import Counts
from slicetape.replay.evidence.recalls import Pages, with_recall, with_reread
from slicetape.replay.evidence.references import References
from slicetape.replay.evidence.visible import Seen, Visibility
from slicetape.replay.meter import Sent
from slicetape.replay.nodes import Nodes
from slicetape.replay.peers.drive import Answer
from slicetape.replay.peers.fidelity import FirstSight, Truths
from slicetape.replay.peers.measure import RowMeter, read, weigh
from slicetape.replay.peers.requests import ChatRequest, Item, requests
from slicetape.replay.peers.rows import PeerRow, spent
from slicetape.replay.peers.seen import Sight, Used, summary
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
        self.references = References(recording)
        self.whole = self.run(TRANSCRIPT)
        self.plain = list(self.requests(self.whole))
        self.truths = Truths.of(self.plain)
        self.used = Used(recording, self.references, self.truths)
        self.pages = Pages(self.references, self.nodes)

    @property
    def whole_sight(self) -> Visibility:
        """What `transcript` shows."""
        assert self.whole.visibility is not None, "every run here has references"
        return self.whole.visibility

    def run(self, arm: Arm) -> Run:
        """The recording under an arm of ours, on the wire that peers are given."""
        options = self.options
        setting = Setting(
            rules=CHAT,
            head=options.head,
            recall_head=options.recall_head,
            window=options.window,
            references=self.references,
        )
        return run(self.recording, arm, self.nodes, setting)

    def requests(self, done: Run) -> Iterator[ChatRequest]:
        """What a run sent, as chat messages."""
        return requests(self.recording.header, done.session.log.events, self.nodes)


class _Row:
    """The requests of one row, followed by every measure."""

    def __init__(self, session: Compared, *, head: int) -> None:
        self.meter = RowMeter(head=head)
        self.marks = FirstSight(session.truths)
        self.sight = Sight(session.used, session.truths)

    def request(self, keep: int, add: Sequence[Item], asked: ChatRequest) -> None:
        """Take what is sent for `asked`: the first `keep` messages of the last one, then `add`."""
        self.meter.request(keep, add, asked)
        self.sight.request(keep, add, asked)
        for item in add:
            self.marks.take(item.json)

    def figures(self, name: str) -> PeerRow:
        """What was counted; `last_share` is still in bytes."""
        sums = self.meter.sums
        return PeerRow(
            name=name,
            requests=sums.requests,
            sent_bytes=sums.bytes,
            common_bytes=sums.common_bytes,
            last_share=float(sums.last_bytes),
            prefix_breaks=sums.breaks,
            prefix_breaks_at_turn=sums.breaks_at_turn,
            input_tokens=sums.tokens,
            fidelity=self.marks.figures(),
        )


def peer_row(
    name: str,
    versions: Mapping[str, str],
    ask: Callable[[int, Sequence[bytes]], Answer],
    session: Compared,
) -> PeerRow:
    """What a peer makes of the requests of a session, asked one by one."""
    row = _Row(session, head=session.options.head)
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
            keep = _same(sent, asked)
            add = asked[keep:]
        if keep > len(sent):
            raise PeerError(f"{name} kept {keep} of {len(sent)} messages")
        sent[keep:] = add
        row.request(keep, add, request)
    sight = row.sight
    return msgspec.structs.replace(
        _priced(row.figures(name), row.meter.sent, sight.seen, session),
        versions=dict(versions),
        ms=spent(milliseconds),
        failed_requests=len(failures),
        first_failure=failures[0] if failures else None,
        first_sight=sight.fidelity(session.whole_sight),
    )


def _same(sent: Sequence[Item], asked: Sequence[Item]) -> int:
    """How many messages at the start were sent just so the last time."""
    pairs = enumerate(zip(sent, asked, strict=False))
    return next((at for at, (old, new) in pairs if old is not new), min(len(sent), len(asked)))


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


def arm_row(arm: Arm, session: Compared) -> PeerRow:
    """An arm of ours: its own requests by the meter of peers, its bill by its own breakpoints."""
    options = session.options
    done = session.whole if arm is TRANSCRIPT else session.run(arm)
    row = _Row(session, head=options.head + (options.recall_head if arm.recalls else 0))
    for request in session.requests(done):
        row.request(request.keep, request.add, request)
    visibility = done.visibility
    assert visibility is not None, "every run here has references"
    places = {seq: visibility.place(seq) for seq in session.references.events}
    return msgspec.structs.replace(
        _priced(row.figures(arm.name), done.sent, visibility.seen, session),
        ours=True,
        ms=spent(done.policy_ms),
        first_sight=session.used.fidelity.of(done.session.view, places, visibility.first),
    )


def _priced(row: PeerRow, sent: Sequence[Sent], seen: Sequence[Seen], session: Compared) -> PeerRow:
    """The row with its bills, without output: peers are compared by their requests."""
    options = session.options
    silent = [replace(one, output=0) for one in sent]
    priced = bills(silent, options.sheets, ttl=options.ttl)
    recalls = [found for one in seen if (found := session.pages.recalled(one))]
    rereads = {bill.sheet.id: with_reread(bill, silent, recalls) for bill in priced}
    return msgspec.structs.replace(
        row,
        evidence=summary(seen),
        cost={bill.sheet.id: float(bill.money) for bill in priced},
        cost_with_recall={
            bill.sheet.id: float(with_recall(bill, silent, recalls)) for bill in priced
        },
        cost_with_reread={
            id: None if money is None else float(money) for id, money in rereads.items()
        },
    )


def _once(count: Callable[[str], int]) -> Callable[[str], int]:
    """Count each text once: the log of every arm repeats most of them."""
    known: dict[str, int] = {}

    def counted(text: str) -> int:
        tokens = known.get(text)
        if tokens is None:
            tokens = known[text] = count(text)
        return tokens

    return counted
