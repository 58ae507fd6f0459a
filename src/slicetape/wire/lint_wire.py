"""Facts of the messages of a request body, whoever wrote it, for the linter.

A body is read as it stands and never through our own messages: those have no place for what a
linter is to find.
"""

from collections.abc import Iterator

from slicetape.errors import WireError
from slicetape.wire.fragment import Facts, Fragment, Role
from slicetape.wire.json_text import is_broken, json_value, parsed, shown
from slicetape.wire.lint import CHAT, MESSAGES, Problem, Rules, lint
from slicetape.wire.reading import Json, objects

_ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


def lint_chat(body: bytes | str, rules: Rules = CHAT) -> list[Problem]:
    """The problems of a chat-completions request, by position in its `messages`."""
    messages = objects(parsed(body).get("messages"), "messages")
    return lint((_chat(message, at) for at, message in enumerate(messages)), rules)


def lint_messages(body: bytes | str, rules: Rules = MESSAGES) -> list[Problem]:
    """The problems of a Messages request, by position in its `messages`."""
    messages = objects(parsed(body).get("messages"), "messages")
    return lint((_message(message, at) for at, message in enumerate(messages)), rules)


def _chat(message: Json, at: int) -> Fragment:
    role = _role(message, at)
    calls = tuple(_id(call.get("id")) for call in _blocks(message.get("tool_calls")))
    reasoned = bool(message.get("reasoning_content"))
    facts = Facts(
        calls=calls,
        results=(_id(message.get("tool_call_id")),) if role == "tool" else (),
        empty=not (message.get("content") or calls or reasoned),
        broken=is_broken(json_value(message)),
        reasoned=reasoned,
    )
    return Fragment(role, facts=facts)


def _message(message: Json, at: int) -> Fragment:
    role = _role(message, at)
    content = message.get("content")
    blocks = list(_blocks(content))
    results = [block for block in blocks if block.get("type") == "tool_result"]
    kinds = {block.get("type") for block in blocks}
    facts = Facts(
        calls=tuple(_id(b.get("id")) for b in blocks if b.get("type") == "tool_use"),
        results=tuple(_id(block.get("tool_use_id")) for block in results),
        empty=not content or any(map(_is_blank, blocks)) or _is_blank({"text": content}),
        broken=is_broken(json_value(message)),
        reasoned="thinking" in kinds or "redacted_thinking" in kinds,
        signed=any(block.get("signature") for block in blocks),
    )
    return Fragment("tool" if kinds == {"tool_result"} else role, facts=facts)


def _role(message: Json, at: int) -> Role:
    role = message.get("role")
    known = _ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        raise WireError(f"messages[{at}].role is not a role: {shown(json_value(role))}")
    return known


def _blocks(value: object) -> Iterator[Json]:
    if isinstance(value, list):
        yield from (block for block in value if isinstance(block, dict))


def _is_blank(block: Json) -> bool:
    text = block.get("text")
    return isinstance(text, str) and not text.strip()


def _id(value: object) -> str:
    return value if isinstance(value, str) else ""
