"""Random edits of a conversation, for the properties of what is kept up to date by edits."""

from hypothesis import strategies as st

from slicetape.log.messages import Message, Source
from slicetape.wire.anthropic import MessagesWire
from slicetape.wire.openai_chat import ChatWire
from wire_talk import answer, call, human, result, signed, system, thought

BOTH = Message("m", "user", (*result("r").content, *human("t").content), Source("user"))
SAID = [
    system("s"),
    human("u"),
    human(""),
    human("\ud800"),
    answer(""),
    answer("a"),
    answer(call("c1")),
    answer(call("c1"), call("c2")),
    answer(call("c2"), call("c2"), call("")),
    answer(thought("t"), call("c3")),
    signed(thought("t"), "a"),
    signed(thought("u"), call("c1")),
    result("r", id="c1"),
    result("r", id="c2"),
    result("r", id="c3"),
    result("r", id=""),
    BOTH,
]
WIRES = [ChatWire(), MessagesWire()]
EDIT = st.tuples(
    st.integers(0, 30),
    st.integers(0, 30),
    st.lists(st.sampled_from(SAID), max_size=4),
    st.booleans(),
)


def edited(nodes: list, edit: tuple) -> tuple[int, int, list]:
    start, length, messages, _ = edit
    start = min(start, len(nodes))
    return start, min(len(nodes), start + length % 5), messages
