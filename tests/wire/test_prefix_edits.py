import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import shared
from slicetape.log.events import message_of
from slicetape.wire.fragment import Fragment, pieces
from slicetape.wire.openai_chat import ChatWire
from slicetape.wire.pictures import Picture
from slicetape.wire.prefix import PrefixCheck, Step
from slicetape.wire.prefix_edits import IncrementalPrefix
from wire_edits import EDIT, WIRES, edited
from wire_talk import PIXEL, answer, events_of, human, result, surfaces, tape_of


@settings(max_examples=300, deadline=None)
@given(
    st.lists(EDIT, max_size=12),
    st.sampled_from([*WIRES, ChatWire(pictures=lambda _: Picture("image/png", b"x"))]),
    st.lists(st.sampled_from([b"", b"tools", b"tooth"]), min_size=12, max_size=12),
    st.lists(st.integers(0, 4), min_size=12, max_size=12),
)
def test_after_any_edits_it_says_what_the_exact_check_says(edits, wire, heads, tapes):
    incremental, exact, nodes = IncrementalPrefix(wire), PrefixCheck(), []
    for edit, head, tape in zip(edits, heads, tapes, strict=False):
        start, end, messages = edited(nodes, edit)
        new = [wire.fragment(message) for message in [*messages, *messages[:1]]]
        incremental.replace(start, end, new)
        nodes[start:end] = new
        incremental.append(wire.fragment(result(PIXEL)))
        nodes.append(wire.fragment(result(PIXEL)))
        if edit[3]:
            step = Step(first_in_turn=bool(tape % 2), tape=tape, head=head, cause=lambda at: at * 7)
            stream = list(pieces(wire, nodes))
            assert incremental.sent(step) == exact.check(stream, step)
            exact.sent(stream, step)


def test_an_edit_outside_the_nodes_is_refused():
    with pytest.raises(IndexError):
        IncrementalPrefix(ChatWire()).replace(0, 1, [])


@pytest.mark.parametrize("run", ["fold", "context", "long", "abort"])
def test_recorded_runs_give_the_same_breaks(run):
    wire = ChatWire()
    incremental, exact, shown = IncrementalPrefix(wire), PrefixCheck(), []
    found = 0
    for nodes in surfaces(events_of(shared(f"golden/sessions/{run}.jsonl"))):
        step = Step(first_in_turn=True, tape=tape_of(nodes))
        same = 0
        while same < min(len(nodes), len(shown)) and nodes[same] is shown[same]:
            same += 1
        new = [wire.fragment(message_of(node)) for node in nodes[same:]]
        incremental.replace(same, len(shown), new)
        shown = nodes
        stream = list(pieces(wire, (wire.fragment(message_of(node)) for node in nodes)))
        problem = exact.check(stream, step)
        assert incremental.sent(step) == problem
        exact.sent(stream, step)
        found += problem is not None
    assert found > 0


class CountingWire(ChatWire):
    """A wire that counts the nodes it joins."""

    joined = 0

    def join(self, seam, fragment: Fragment):
        CountingWire.joined += 1
        return ChatWire.join(self, seam, fragment)


def test_a_step_and_a_seal_cost_the_same_in_a_long_session():
    wire = CountingWire()
    prefix, costs, length = IncrementalPrefix(wire), [], 0
    for _ in range(300):
        CountingWire.joined = 0
        for message in (human("u"), answer("a"), result("r"), answer("b")):
            prefix.append(wire.fragment(message))
        prefix.replace(max(0, length - 3), length, [wire.fragment(human("entry"))])
        length += 5 - min(3, length)
        prefix.sent()
        costs.append(CountingWire.joined)
    assert 0 < max(costs[-40:]) <= max(costs[1:40])
