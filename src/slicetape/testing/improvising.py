"""An answer to anything, the same for the same request: an echo, and a call now and then.

Every second message of a person is answered with a call first, when the request offers a tool
that only looks; what came back is then told in a sentence.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slicetape.testing.pieces import objects
from slicetape.testing.replies import Asked, Reply

Json = Mapping[str, Any]

_LOOKS: Mapping[str, Json] = {
    "glob": {"pattern": "*"},
    "list": {"path": "."},
    "ls": {"path": "."},
    "grep": {"pattern": "the"},
}
_MOST = 200


def improvised(body: Json) -> Reply:
    """The answer to a request of either wire."""
    messages = list(objects(body.get("messages")))
    said = [text for message in messages for text in _human(message)]
    if (result := _result(messages)) is not None:
        lines = result.splitlines() or [""]
        told = f"It gave {len(lines)} lines; the first one is: {_short(lines[0])}"
        return Reply(text=told, reasoning="I tell what came back.")
    if not said:
        return Reply(text="Nobody said anything yet.")
    tool = next((name for name in _LOOKS if name in set(_offered(body))), None)
    if tool and len(said) % 2 == 0:
        calls = (Asked(tool, dict(_LOOKS[tool])),)
        return Reply(text="Let me look.", reasoning="A look will help.", tools=calls)
    echo = f"You said: “{_short(said[-1])}”. No model is behind me, so that is all I can say."
    return Reply(text=echo)


def spoken(body: Json) -> str:
    """What was said since the model's last answer."""
    said: list[str] = []
    for message in reversed(list(objects(body.get("messages")))):
        if message.get("role") == "assistant":
            break
        said += _texts(message.get("content"))
    return "\n".join(said)


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in objects(content):
        yield from _texts(block.get("text") or block.get("content"))


def _human(message: Json) -> Iterator[str]:
    """The texts of a user message that are no results."""
    content = message.get("content")
    if message.get("role") != "user":
        return
    if isinstance(content, list):
        content = [block for block in content if _kind(block) == "text"]
    yield from filter(None, _texts(content))


def _result(messages: Sequence[Json]) -> str | None:
    """The text of the last result, when nothing but results came since the last answer."""
    found: list[str] = []
    for message in reversed(messages):
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            break
        results = isinstance(content, list) and {_kind(b) for b in content} == {"tool_result"}
        if role != "tool" and not results:
            return None
        found = [*_texts(content), *found]
    return "\n".join(found) if found else None


def _kind(block: object) -> object:
    return block.get("type") if isinstance(block, dict) else None


def _offered(body: Json) -> Iterator[str]:
    for tool in objects(body.get("tools")):
        function = tool.get("function")
        name = function.get("name") if isinstance(function, dict) else tool.get("name")
        if isinstance(name, str):
            yield name


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _MOST].split())
    return line if len(line) <= _MOST else f"{line[:_MOST]}…"
