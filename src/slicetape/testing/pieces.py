"""A request cut as a provider's cache reads it: tools, system, then messages or their blocks.

Cache marks are breakpoints and no part of a piece. An assistant message of the chat wire is cut
down to what a model writes, so that it is the same piece as the answer that it repeats.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from slicetape.prices.prefix import Section

Json = Mapping[str, Any]
Wire = Literal["chat", "messages"]
Call = tuple[str, str, str]
"""Id, name and raw arguments."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a request.

    `key` stands for its bytes, `text` is what is counted; `mark` says that a breakpoint stands
    behind it, `role` whose message it belongs to (`tool` for a result, empty for tools).
    """

    key: bytes
    text: str
    section: Section
    mark: bool = False
    role: str = ""


def pieces(wire: Wire, body: Json) -> Iterator[Piece]:
    """The pieces of a request, in the order in which they are cached."""
    if body.get("tools"):
        text = _text(body["tools"])
        yield Piece(_key("tools", text), text, "tools", _marked(body["tools"]))
    system = body.get("system")
    for block in system if isinstance(system, list) else [system] if system else ():
        text = _text(block)
        yield Piece(_key("system", text), text, "system", _marked(block), "system")
    for message in objects(body.get("messages")):
        yield from _message(wire, message)


def answer_piece(text: str, reasoning: str, calls: Sequence[Call]) -> Piece:
    """The piece that an answer is when the next chat request repeats it."""
    whole = json.dumps([reasoning, text, [list(call) for call in calls]])
    counted = "".join([reasoning, text, *(name + raw for _, name, raw in calls)])
    return Piece(_key("answer", whole), counted, "messages", role="assistant")


def objects(value: object) -> Iterator[Json]:
    """The objects of a list; nothing of anything else."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _message(wire: Wire, message: Json) -> Iterator[Piece]:
    role, content = str(message.get("role")), message.get("content")
    section: Section = "system" if role in ("system", "developer") else "messages"
    if wire == "chat" and role == "assistant":
        yield _answer(message)
    elif isinstance(content, list) and role != "tool":
        for block in content:
            text = _text(block)
            kind = "tool" if isinstance(block, dict) and block.get("type") == "tool_result" else ""
            yield Piece(_key(role, text), text, section, _marked(block), kind or role)
    else:
        text = _text(message)
        yield Piece(_key(role, text), text, section, role=role)


def _answer(message: Json) -> Piece:
    calls: list[Call] = []
    for call in objects(message.get("tool_calls")):
        asked = next(objects([call.get("function")]), {})
        calls.append((str(call.get("id")), str(asked.get("name")), str(asked.get("arguments"))))
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "".join(str(block.get("text", "")) for block in objects(content))
    return answer_piece(str(content), str(message.get("reasoning_content") or ""), calls)


def _key(kind: str, text: str) -> bytes:
    return sha256(f"{kind}:{text}".encode("utf-8", "surrogatepass")).digest()


def _text(value: object) -> str:
    return json.dumps(_unmarked(value), ensure_ascii=False, separators=(",", ":"))


def _unmarked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    return value


def _marked(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_marked, value))
    return isinstance(value, Mapping) and "cache_control" in value
