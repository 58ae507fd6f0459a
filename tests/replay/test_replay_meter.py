"""Every figure of a request, recomputed from the whole surface of the log that a run leaves."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from replay_run import LONG, SETTING, SIGNED, recorded
from slicetape.log.events import (
    AssistantAttempt,
    AssistantMessage,
    CompactionStart,
    CompactionSummary,
    Event,
)
from slicetape.prices.sheet import sheet
from slicetape.replay.arms import arm
from slicetape.replay.compacting import INSTRUCTION
from slicetape.replay.counting import Counts, chars
from slicetape.replay.nodes import NOTHING, Nodes
from slicetape.replay.pricing import bills
from slicetape.replay.recording import Recording
from slicetape.replay.replay import Options, nodes_of, recordings, setting_of
from slicetape.replay.run import Run, Setting, run
from slicetape.surface import View, message_at
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.fragment import Fragment, pieces
from slicetape.wire.lint import Rules, lint
from slicetape.wire.openai_chat import ChatWire
from slicetape.wire.prefix import PrefixCheck, Step
from story import PICTURE, Story

ARMS = ("transcript", "tape", "mask:0", "mask:2", "compact", "tape{history.keepRecentTurns=1}")


@dataclass(frozen=True, slots=True)
class Whole:
    """A request as a list: each node's seq, tokens and content blocks, the head first."""

    nodes: tuple[tuple[object, int, int], ...]
    tape: int = 0
    answer: tuple[object, int, int] | None = None

    @property
    def total(self) -> int:
        return sum(tokens for _, tokens, _ in self.nodes)

    def upto(self, count: int) -> "Whole":
        return Whole(self.nodes[:count])


REFUSED = Whole((("refused", 0, 0),))
"""A summary call whose answer was not taken: the log does not say what it covered."""


class Recomputed:
    """Walks the log of a run and builds every request from nothing but the surface there."""

    def __init__(self, done: Run, nodes: Nodes, head: int, rules: Rules) -> None:
        self._events = done.session.log.events
        self._nodes = nodes
        self._head = head
        self._rules = rules
        self._first_sent: dict[int, bytes] = {}
        self._counts = Counts(nodes.counts.count)
        self.requests: list[Whole] = []
        self.chars = self.in_turn = self.at_seal = self.problems = 0
        self._check = PrefixCheck()
        self._run()

    def _run(self) -> None:
        view = View(self._events)
        for event in self._events:
            if isinstance(event, AssistantMessage | AssistantAttempt) and event.is_original:
                self._request(view, event)
            elif isinstance(event, CompactionStart):
                self._summary_call(view, event)
            view.advance(event)

    def _node(self, event: Event) -> tuple[object, int, int]:
        message = message_at(event)
        if message is None:
            return event.seq, 0, 0
        return event.seq, self._counts.tokens(message), len(message.content)

    def _surface(self, view: View) -> tuple[tuple[object, int, int], ...]:
        head = (("head", self._head, 1),) if self._head else ()
        return (*head, *(self._node(self._events[seq]) for seq in view.surface.nodes))

    def _request(self, view: View, answer: AssistantMessage | AssistantAttempt) -> None:
        seqs = view.surface.nodes
        tape = seqs.index(view.entries[-1]) + 1 if view.entries else 0
        behind = (tape + bool(self._head)) if tape else 0
        said = self._node(answer) if message_at(answer) else None
        self.requests.append(Whole(self._surface(view), behind, said))
        self.chars += self._chars(seqs)
        wire = self._nodes.wire
        messages = [message_at(self._events[seq]) for seq in seqs]
        fragments = [
            wire.fragment(message) if message else NOTHING.fragment for message in messages
        ]
        self.problems += len(lint(fragments, self._rules, moved=self._moved(seqs, fragments)))
        stream = list(pieces(wire, fragments))
        step = Step(first_in_turn=answer.data.step == 1, tape=tape)
        found = self._check.check(stream, step)
        self._check.sent(stream, step)
        if found:
            self.at_seal += found.kind == "seal"
            self.in_turn += found.kind != "seal"

    def _moved(self, seqs: list[int], fragments: list[Fragment]) -> list[int]:
        """Signed reasoning that was sent before and stands behind other bytes now."""
        moved: list[int] = []
        before = b""
        for at, (seq, fragment) in enumerate(zip(seqs, fragments, strict=True)):
            if fragment.facts.signed and self._rules.signed and before:
                first = self._first_sent.setdefault(seq, before)
                moved += [at] if first != before else []
            if fragment.items:
                before = sha256(before + fragment.digest()).digest()
        return moved

    def _chars(self, seqs: list[int]) -> int:
        found = (message_at(self._events[seq]) for seq in seqs)
        return sum(chars(message) for message in found if message)

    def _summary_call(self, view: View, start: Event) -> None:
        following = self._events[start.seq + 1]
        if not isinstance(following, CompactionSummary):
            self.requests.append(REFUSED)
            return
        last = following.data.shadowed_range.end
        end = view.surface.position(last) + 1
        kept = self._surface(view)[: end + bool(self._head)]
        self.requests.append(Whole((*kept, (("call", start.seq), INSTRUCTION, 1))))
        self.chars += self._chars(view.surface.nodes[:end])


def read_by_blocks(requests: list[Whole], block: int) -> Iterator[int]:
    """Tokens read where whatever was sent or answered is stored, in units of `block` tokens."""
    stored: list[Whole] = []
    for request in requests:
        most = max((common(request, old) for old in stored), default=0)
        yield most // block * block
        stored.append(Whole((*request.nodes, *([request.answer] if request.answer else []))))


def common(one: Whole, two: Whole) -> int:
    """Tokens of the nodes that both begin with."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one.nodes, two.nodes, strict=False))
    return sum(node[1] for node, _ in same)


def read_at_marks(requests: list[Whole]) -> Iterator[tuple[int, int]]:
    """Tokens read and written where entries are kept at the end of tape and request only."""
    entries: set[tuple[object, ...]] = set()
    for request in requests:
        counts = ({request.tape} if request.tape else set()) | {len(request.nodes)}
        marks = [m for n in sorted(counts) if (m := request.upto(n)).total >= 1024]
        hit = 0
        for mark in marks:
            for n in range(len(mark.nodes), 0, -1):
                if sum(blocks for _, _, blocks in mark.nodes[n:]) > 20:
                    break
                if tuple(key for key, _, _ in mark.nodes[:n]) in entries:
                    hit = max(hit, mark.upto(n).total)
                    break
        entries |= {tuple(key for key, _, _ in mark.nodes) for mark in marks}
        yield hit, max(0, (marks[-1].total if marks else 0) - hit)


# --- told sessions

TEXT = st.sampled_from(["", "ok", "a word or two", "long " * 300, LONG, "日本語" * 40])
STEP = st.tuples(st.sampled_from(["", "let me see", "long " * 50]), st.lists(TEXT, max_size=3))
TURN = st.tuples(
    st.sampled_from(["human", "human", "human", "notice", "snapshot", "picture", "none"]),
    st.lists(STEP, max_size=4),
    st.sampled_from(["started", "started", "bare", "unended"]),
    st.booleans(),
)
SESSION = st.tuples(st.booleans(), st.lists(TURN, max_size=7))


def told(session: tuple) -> Story:
    """A session as told: prompts, turns with or without their step events, open ends."""
    story = Story()
    prompted, turns = session
    prompt = None
    for number, (opening, steps, shape, renewed) in enumerate(turns):
        story.start()
        if prompted and (prompt is None or renewed) and (prompt or number == 0):
            prompt = story.system(f"prompt {number} " + "rule " * 30, replaces=prompt)
        if opening in ("human", "picture"):
            story.human("please", *([PICTURE] if opening == "picture" else []))
        elif opening == "notice":
            story.notice("something changed")
        elif opening == "snapshot":
            story.snapshot(f"state {number}")
        for text, results in steps:
            if shape != "bare":
                story.step_start()
            calls = {f"c{number}-{story.step}-{n}": ("read", {"n": n}) for n in range(len(results))}
            step = story.step if shape != "bare" else None
            story.says(*([text] if text or not calls else []), calls=calls, step=step)
            for id, result in zip(calls, results, strict=True):
                story.result(id, result)
        if shape != "unended":
            story.end()
    return story


def check(recording: Recording, name: str, nodes: Nodes, setting: Setting) -> None:
    """Compare every figure of a run with its recomputation."""
    chosen = arm(name)
    done = run(recording, chosen, nodes, setting)
    head = setting.head + (setting.recall_head if chosen.recalls else 0)
    whole = Recomputed(done, nodes, head, setting.rules)
    for sent, expected in zip(done.sent, whole.requests, strict=True):
        if expected is REFUSED:
            continue
        assert sent.request.total == expected.total
        marks = [expected.upto(expected.tape).total] if expected.tape else []
        assert [m.tokens for m in sent.request.breakpoints] == [*marks, expected.total]
    tally = done.meter.tally
    assert tally.requests == len(done.sent)
    assert tally.input_tokens == sum(sent.request.total for sent in done.sent)
    assert tally.peak_tokens == max((sent.request.total for sent in done.sent), default=0)
    assert (tally.breaks_in_turn, tally.breaks_at_seal) == (whole.in_turn, whole.at_seal)
    assert tally.lint_errors == whole.problems
    if REFUSED not in whole.requests:
        assert tally.sent_chars == whole.chars
        check_bills(done, whole.requests)


def check_bills(done: Run, requests: list[Whole]) -> None:
    """Compare what the reference sheets bill with naive caches that keep whole requests."""
    names = ("rel-30", "rel-10", "rel-none")
    thirty, ten, none = bills(done.sent, [sheet(name) for name in names], ttl=False)
    total = sum(request.total for request in requests)
    read = sum(read_by_blocks(requests, 128))
    assert (thirty.tokens.cached, thirty.tokens.written) == (read, 0)
    assert thirty.tokens.input == total
    marked = list(read_at_marks(requests))
    assert ten.tokens.cached == sum(hit for hit, _ in marked)
    assert ten.tokens.written == sum(written for _, written in marked)
    assert ten.tokens.input == total
    assert (none.tokens.cached, none.tokens.written, none.tokens.fresh) == (0, 0, total)


@given(SESSION, st.sampled_from(ARMS), st.sampled_from([0, 700]), st.booleans())
def test_every_request_is_what_the_surface_says(
    session: tuple, name: str, head: int, signed: bool
) -> None:
    setting = replace(SIGNED if signed else SETTING, head=head, recall_head=head // 7, window=6_000)
    wire = MessagesWire() if signed else ChatWire()
    nodes = Nodes(Counts(lambda text: -(-len(text) // 4)), wire)
    check(recorded(told(session)), name, nodes, setting)


@pytest.mark.parametrize("name", ["transcript", "tape", "compact", "mask:5"])
@pytest.mark.parametrize(
    "file", ["claude-code/cc-08.jsonl", "opencode/oc-03.json", "openai-chat/chat-03.json"]
)
def test_every_request_of_a_real_session_is_what_the_surface_says(file: str, name: str) -> None:
    for recording in recordings(shared(f"transcripts/{file}.zst")):
        options = Options(tokenizer="bytes", window=40_000)
        nodes = nodes_of(recording, options, Counts(lambda text: len(text) // 3))
        setting = setting_of(recording, options, nodes.counts)
        check(recording, name, nodes, setting)
