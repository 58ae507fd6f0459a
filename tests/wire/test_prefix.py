import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from slicetape.log.events import StepStart
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.fragment import pieces
from slicetape.wire.openai_chat import ChatWire
from slicetape.wire.prefix import HEAD, NO_STEP, Break, PrefixCheck, Step, shared_bytes
from wire_talk import (
    answer,
    call,
    events_of,
    human,
    messages_of,
    result,
    surfaces,
    system,
    tape_of,
)

CHAT, MESSAGES = ChatWire(), MessagesWire()
FIRST = Step(first_in_turn=True)


def stream(*talk, wire=CHAT) -> list[bytes]:
    return list(pieces(wire, map(wire.fragment, talk)))


def after(last: list[bytes], now: list[bytes], step: Step = NO_STEP, before: Step = NO_STEP):
    check = PrefixCheck()
    check.sent(last, before)
    return check.check(now, step)


def test_the_first_request_extends_nothing():
    assert PrefixCheck().check(stream(human("a")), FIRST) is None


@pytest.mark.parametrize("wire", [CHAT, MESSAGES])
def test_case_58_a_request_that_adds_messages_extends_the_last(wire):
    talk = [system("s"), human("a"), answer("b", call()), result("c"), human("d"), human("e")]
    for end in range(len(talk) + 1):
        assert after(stream(*talk[:end], wire=wire), stream(*talk, wire=wire)) is None


def test_a_break_names_the_byte_the_node_and_the_event():
    last = stream(system("s"), human("abc"), answer("x"))
    now = stream(system("s"), human("abX"), answer("x"))
    found = after(last, now, Step(cause={1: 41}.get))
    byte = (b"".join(last)).index(b'c"},')
    assert found == Break(
        "turn",
        byte,
        1,
        41,
        b'c"},{"role":"assistant","content":"x"}',
        b'X"},{"role":"assistant","content":"x"}',
    )
    assert str(found) == (
        f"byte {byte} in node 1, changed by event 41, inside a turn: "
        """was b'c"},{"role":"assistant","content":"x"}', is """
        """b'X"},{"role":"assistant","content":"x"}'"""
    )


def test_a_request_that_ends_early_breaks_behind_its_last_node():
    found = after(stream(human("a"), human("b")), stream(human("a")), Step(cause=lambda _: 1 / 0))
    assert (found.position, found.seq, found.now) == (1, None, b"")
    assert found.was == b',{"role":"user","content":"b"}'


@pytest.mark.parametrize(
    ("tape", "first", "kind"), [(0, False, "turn"), (0, True, "seal"), (1, True, "seal")]
)
def test_breaks_behind_the_tape_are_at_a_seal_or_in_a_turn(tape, first, kind):
    last, now = stream(human("entry"), human("b")), stream(human("entry"), human("c"))
    found = after(last, now, Step(first_in_turn=first), Step(tape=tape))
    assert found.kind == kind
    assert str(found).count({"turn": "inside a turn", "seal": "first step"}[kind]) == 1


def test_a_change_of_the_tape_is_never_a_seal():
    last, now = stream(human("entry"), human("b")), stream(human("Entry"), human("b"))
    assert after(last, now, FIRST, Step(tape=1)).kind == "tape"


def test_an_entry_put_where_a_turn_stood_is_a_seal():
    last = stream(human("a"), answer("long answer"), human("b"))
    now = stream(human("a"), human("entry"), human("b"))
    found = after(last, now, Step(first_in_turn=True, tape=2, cause=[3, 17, 9].__getitem__))
    assert (found.kind, found.position, found.seq) == ("seal", 1, 17)


def test_a_changed_head_breaks_everything():
    same = stream(human("a"))
    found = after(same, same, Step(head=b"[tool 2]"), Step(head=b"[tool 1]"))
    assert found == Break("tape", 6, HEAD, None, b"1]", b"2]")
    assert "tools or settings" in str(found)
    assert after(same, same, Step(head=b"x"), Step(head=b"x")) is None


def test_bytes_count_from_the_start_of_the_head():
    step = Step(head=b"12345")
    assert after(stream(human("a")), stream(answer("a")), step, step).byte == 5 + len('{"role":"')


def test_pieces_cut_elsewhere_are_no_break():
    assert after([b"ab", b"cd", b""], [b"a", b"bc", b"", b"def", b""]) is None
    assert after([b"ab", b"cd", b""], [b"a", b"", b"bcX", b""]).position == 2


def test_a_refused_request_is_not_remembered():
    check = PrefixCheck()
    check.sent(stream(human("a")))
    assert check.check(stream(human("b"))) is not None
    assert check.check(stream(human("b"))) is not None
    check.sent(stream(human("b")))
    assert check.check(stream(human("b"), answer("c"))) is None


@given(st.binary(max_size=20), st.binary(max_size=20), st.binary(max_size=20))
def test_shared_bytes_is_the_longest_shared_start(start, one, two):
    one, two = start + one, start + two
    expected = 0
    while expected < min(len(one), len(two)) and one[expected] == two[expected]:
        expected += 1
    assert shared_bytes(one, two) == expected


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 200_000])
def test_shared_bytes_reaches_over_long_texts(size):
    start = b"a" * size
    assert shared_bytes(start + b"bcd", start + b"bXd") == size + 1
    assert shared_bytes(start, start + b"x") == size
    assert shared_bytes(start, start) == size


RUNS = ["basic", "fold", "long", "abort", "context", "resume", "spill", "long-stock"]


@pytest.mark.parametrize("run", RUNS)
def test_recorded_runs_break_only_at_first_steps_and_never_in_the_tape(run):
    events = events_of(shared(f"golden/sessions/{run}.jsonl"))
    check, kinds = PrefixCheck(), []
    steps = steps_of(events)
    for nodes, first in zip(surfaces(events), steps, strict=True):
        step = Step(
            first_in_turn=first,
            tape=tape_of(nodes),
            cause=lambda at, nodes=nodes: nodes[at].seq,
        )
        now = stream(*messages_of(nodes))
        if found := check.check(now, step):
            kinds.append(found.kind)
            assert found.seq == nodes[found.position].seq
        check.sent(now, step)
    allowed = {"fold": {"seal", "turn"}, "spill": {"seal", "turn"}, "context": {"seal", "tape"}}
    assert set(kinds) <= allowed.get(run, {"seal"})
    assert bool(kinds) == (run != "long-stock")


def steps_of(events: list) -> list[bool]:
    """For each model call, whether it belongs to the first step of its turn."""
    firsts, first = [], False
    for event in events:
        if isinstance(event, StepStart):
            first = event.data.step == 1
        if type(event).__name__ in ("AssistantMessage", "AssistantAttempt"):
            firsts.append(first)
    return firsts


def test_recorded_clients_extend_their_requests():
    for client in ("pi/requests", "qwen-code/requests", "opencode/requests_mcp"):
        check = PrefixCheck()
        for line in shared(f"wire/{client}.jsonl").read_bytes().splitlines():
            body = json.loads(json.loads(line)["body"])
            if "tools" in body:
                now = [json.dumps(message).encode() + b"," for message in body["messages"]]
                assert check.check([*now, b""]) is None
                check.sent([*now, b""])
