"""Short ways to say a conversation, and the recorded ones, for the tests of wires."""

import json
from collections.abc import Iterator
from pathlib import Path

from msgspec import Raw

from slicetape.log.codec import decode_event
from slicetape.log.events import Event, is_entry, message_of
from slicetape.log.messages import (
    Attachment,
    Block,
    Image,
    Message,
    Reasoning,
    Source,
    Text,
    ToolCall,
    ToolResultBlock,
)
from slicetape.surface.project import project

PIXEL = Image(Attachment("sha256:00ff", bytes=3, media_type="image/png", width=1, height=1))


def human(*said: str | Block) -> Message:
    return Message("m-user", "user", blocks(said), Source(kind="user"))


def system(text: str) -> Message:
    return Message("m-system", "system", blocks((text,)), Source(kind="plugin", plugin="p"))


def answer(*said: str | Block, state: object = None) -> Message:
    source = Source(kind="model")
    if state is not None:
        source = Source(kind="model", replay_state=Raw(json.dumps(state).encode()))
    return Message("m-model", "assistant", blocks(said), source)


def call(id: str = "c1", name: str = "read", arguments: str = '{"path":"a"}') -> ToolCall:
    return ToolCall(id, name, arguments)


def result(*said: str | Block, id: str = "c1", is_error: bool | None = None) -> Message:
    block = ToolResultBlock(id, is_error, blocks(said))
    return Message("m-result", "user", (block,), Source(kind="tool", call_id=id))


def thought(text: str) -> Reasoning:
    return Reasoning(text)


def signed(*said: str | Block, signature: str = "sig") -> Message:
    """An answer whose first block is signed reasoning."""
    rest = [{"type": "text"}] * (len(said) - 1)
    return answer(*said, state={"blocks": [{"type": "reasoning", "signature": signature}, *rest]})


def blocks(said: tuple[str | Block, ...]) -> tuple[Block, ...]:
    return tuple(Text(part) if isinstance(part, str) else part for part in said)


def events_of(log: Path) -> list[Event]:
    return [decode_event(line) for line in log.read_bytes().splitlines()[1:]]


def surfaces(events: list[Event]) -> Iterator[list[Event]]:
    """The nodes that each model call of a log saw."""
    nodes: tuple[int, ...] = ()
    for event in events:
        if type(event).__name__ in ("AssistantMessage", "AssistantAttempt"):
            yield [events[seq] for seq in nodes]
        nodes = project([event], nodes)


def messages_of(nodes: list[Event]) -> list[Message]:
    return [message_of(node) for node in nodes]  # type: ignore[arg-type]


def tape_of(nodes: list[Event]) -> int:
    """How many nodes the tape takes up: everything up to the last entry."""
    return max((at + 1 for at, node in enumerate(nodes) if is_entry(node)), default=0)


def compact(value: object) -> bytes:
    """JSON as JavaScript writes it, key order kept."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")
