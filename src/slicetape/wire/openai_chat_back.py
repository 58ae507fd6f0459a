"""Chat-completions messages back to messages.

Not kept, because our messages have no place for it or the wire has one form only: a list of
text parts becomes one string again (the texts joined), null content becomes "", unknown keys
(`name`, `refusal`, `cache_control`, `audio`, …) are dropped, `developer` is read as `system`,
and a call of another type than `function` is kept as an unknown block.
"""

from collections.abc import Iterable

from slicetape.errors import WireError
from slicetape.log.messages import Block, Message, Reasoning, ToolCall, ToolResultBlock
from slicetape.wire.json_text import json_value, shown
from slicetape.wire.reading import Json, Part, Reading, objects, other, parts, text_at

_REASONING = ("reasoning_content", "reasoning")


def decode(messages: Iterable[Json], reading: Reading | None = None) -> list[Message]:
    """The messages of a chat request, in order; `ChatWire` writes them back.

    Every tool message becomes one message with one result block. Text in the user role is read
    as human input.
    """
    reading = reading or Reading()
    return [_message(message, f"messages[{at}]", reading) for at, message in enumerate(messages)]


def _message(message: Json, where: str, reading: Reading) -> Message:
    content = message.get("content")

    def picture(part: Json) -> Part:
        return _picture(part, reading)

    match message.get("role"):
        case "system" | "developer":
            return reading.system(parts(content, where))
        case "user":
            return reading.human(parts(content, where, picture))
        case "assistant":
            blocks = (*_reasoning(message), *parts(content, where), *_calls(message, where))
            return Message(reading.ids(), "assistant", blocks, reading.model_source())
        case "tool":
            call_id = text_at(message, "tool_call_id", where)
            block = ToolResultBlock(call_id, content=tuple(parts(content, where, picture)))
            return reading.result(block, call_id)
        case role:
            raise WireError(
                f"{where}.role must be system, developer, user, assistant or tool; "
                f"got {shown(json_value(role))}"
            )


def _reasoning(message: Json) -> list[Block]:
    for key in _REASONING:
        text = message.get(key)
        if isinstance(text, str) and text:
            return [Reasoning(text)]
    return []


def _calls(message: Json, where: str) -> list[Block]:
    calls: list[Block] = []
    for call in objects(message.get("tool_calls") or [], f"{where}.tool_calls"):
        function = call.get("function")
        if not isinstance(function, dict):
            calls.append(other(call))
            continue
        name = text_at(function, "name", f"{where}.tool_calls")
        arguments = function.get("arguments")
        raw = arguments if isinstance(arguments, str) else json_value(arguments)
        calls.append(ToolCall(str(call.get("id") or ""), name, raw))
    return calls


def _picture(part: Json, reading: Reading) -> Part:
    """An inline picture of an `image_url` part; anything else as it came."""
    address = part.get("image_url")
    url = address.get("url") if isinstance(address, dict) else None
    if not isinstance(url, str) or not url.startswith("data:"):
        return other(part)
    media_type, _, data = url.removeprefix("data:").partition(";base64,")
    return reading.picture(media_type, data) or other(part)
