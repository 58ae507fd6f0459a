import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.fragment import Fragment
from slicetape.wire.lint import CHAT, DEEPSEEK, MESSAGES, Rules, lint
from slicetape.wire.lint_edits import IncrementalLint
from slicetape.wire.openai_chat import ChatWire
from wire_edits import EDIT, WIRES, edited
from wire_talk import answer, call, human, result, signed, thought

STRICT = Rules(unique_calls=True, reasoning="if-any", alternate=True, user_first=True, signed=True)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(EDIT, max_size=12),
    st.sampled_from(WIRES),
    st.sampled_from([CHAT, DEEPSEEK, MESSAGES, STRICT, Rules(reasoning="required")]),
)
def test_after_any_edits_it_says_what_the_full_linter_says(edits, wire, rules):
    incremental, nodes, sent = IncrementalLint(rules), [], []
    for edit in edits:
        start, end, messages = edited(nodes, edit)
        new = [(object(), wire.fragment(message)) for message in messages]
        nodes[start:end] = new
        if start == end == len(nodes) - len(new) and len(new) == 1:
            incremental.append(new[0][1])
        else:
            incremental.replace(start, end, [fragment for _, fragment in new])
        if edit[3]:
            moved = moved_in(nodes, sent) if rules.signed else []
            expected = lint((fragment for _, fragment in nodes), rules, moved=moved)
            assert incremental.count == len(expected)
            assert incremental.problems() == expected
            incremental.sent()
            sent.append(list(nodes))


def moved_in(nodes: list[tuple[object, Fragment]], sent: list) -> list[int]:
    """Signed nodes behind other fragments than when they were first sent, by definition."""
    moved = []
    for at, (name, fragment) in enumerate(nodes):
        for request in sent:
            names = [other for other, _ in request]
            if fragment.facts.signed and name in names:
                before = [f for _, f in request[: names.index(name)] if f.items]
                if before != [f for _, f in nodes[:at] if f.items]:
                    moved.append(at)
                break
    return moved


def test_signed_reasoning_behind_a_seal_counts_as_moved_until_it_is_left_out():
    wire, lints = MessagesWire(), IncrementalLint(MESSAGES)
    talk = [human("a"), answer("b"), human("c"), signed(thought("t"), "d"), human("e")]
    for message in talk:
        lints.append(wire.fragment(message))
    lints.sent()
    assert lints.count == 0
    lints.replace(1, 2, [wire.fragment(human("entry"))])
    assert [(p.rule, p.position) for p in lints.problems()] == [("moved-thinking", 3)]
    lints.replace(3, 4, [wire.fragment(talk[3], thinking=False)])
    assert lints.problems() == []


def test_signed_reasoning_that_was_never_sent_does_not_move():
    wire, lints = MessagesWire(), IncrementalLint(MESSAGES)
    for message in [human("a"), signed(thought("t"), "d")]:
        lints.append(wire.fragment(message))
    lints.replace(0, 1, [wire.fragment(human("b"))])
    assert lints.count == 0


def test_bytes_that_come_back_are_no_change():
    wire, lints = MessagesWire(), IncrementalLint(MESSAGES)
    for message in [human("a"), signed(thought("t"), "d"), human("e")]:
        lints.append(wire.fragment(message))
    lints.sent()
    lints.replace(0, 1, [wire.fragment(human("x"))])
    assert lints.count == 1
    lints.replace(0, 1, [wire.fragment(human("a"))])
    assert lints.count == 0


def test_an_edit_outside_the_nodes_is_refused():
    with pytest.raises(IndexError):
        IncrementalLint(CHAT).replace(0, 1, [])


class Watched(Fragment):
    """A fragment that counts how often its facts are read."""

    reads = 0

    def __getattribute__(self, name: str) -> object:
        if name == "role":
            Watched.reads += 1
        return super().__getattribute__(name)


def test_an_appended_step_costs_the_same_in_a_long_session():
    wire, lints, costs = ChatWire(), IncrementalLint(STRICT), []
    step = [human("u"), answer(thought("t"), call("c1")), result("r")]
    for _ in range(400):
        Watched.reads = 0
        for message in step:
            made = wire.fragment(message)
            lints.append(Watched(made.role, made.items, made.held, made.facts))
        lints.sent()
        _ = lints.count
        costs.append(Watched.reads)
    assert 0 < max(costs[-40:]) <= max(costs[1:40])
