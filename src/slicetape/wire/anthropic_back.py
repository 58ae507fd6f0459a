"""Messages requests back to messages.

Every result becomes one message of its own; neighbouring texts and pictures of a user message
stay one message. Signatures go to `source.replay_state`, redacted reasoning and other kinds are
kept as unknown blocks.

Not kept, because our messages have no place for it or the wire has one form only: `cache_control`
and other unknown keys; string content comes back as one text block, a string `system` as a list;
blank texts and blocks of kinds outside `CARRIED` are not sent again; two neighbouring messages of
one role come back as one; reasoning without a signature is read but not sent; the
order of keys inside a block.
"""

from collections.abc import Iterator

from msgspec import Raw

from slicetape.errors import WireError
from slicetape.log.messages import Block, Message, Reasoning, ToolCall, ToolResultBlock
from slicetape.wire.anthropic_blocks import WRAPPED
from slicetape.wire.json_text import escaped, json_value, shown
from slicetape.wire.reading import Json, Part, Reading, objects, other, parts, text_at


def decode(request: Json, reading: Reading | None = None) -> list[Message]:
    """The system prompt and the messages of a request, in order; `MessagesWire` writes them back.

    Text in the user role is read as human input.
    """
    reading = reading or Reading()
    read: list[Message] = []
    if system := parts(request.get("system"), "system"):
        read.append(reading.system(system))
    for at, message in enumerate(objects(request.get("messages"), "messages")):
        where = f"messages[{at}]"
        match message.get("role"):
            case "user":
                read.extend(_user(message, where, reading))
            case "assistant":
                read.append(_assistant(message, where, reading))
            case "system":
                read.append(reading.system(parts(message.get("content"), where)))
            case role:
                raise WireError(
                    f"{where}.role must be user or assistant; got {shown(json_value(role))}"
                )
    return read


def _user(message: Json, where: str, reading: Reading) -> Iterator[Message]:
    content = message.get("content")
    if not isinstance(content, list):
        yield reading.human(parts(content, where))
        return
    said: list[Json] = []
    for block in objects(content, where):
        if block.get("type") != "tool_result":
            said.append(block)
            continue
        if said:
            yield reading.human(_parts(said, where, reading))
            said = []
        yield _result(block, where, reading)
    if said:
        yield reading.human(_parts(said, where, reading))


def _result(block: Json, where: str, reading: Reading) -> Message:
    call_id = text_at(block, "tool_use_id", where)
    is_error = block.get("is_error")
    content = tuple(_parts(block.get("content"), where, reading))
    flag = is_error if isinstance(is_error, bool) else None
    return reading.result(ToolResultBlock(call_id, flag, content), call_id)


def _assistant(message: Json, where: str, reading: Reading) -> Message:
    content = message.get("content")
    blocks: list[Block] = []
    states: list[dict[str, str]] = []
    for block in objects(content, where) if isinstance(content, list) else ():
        read, state = _answer(block, where)
        blocks.append(read)
        states.append(state)
    if not isinstance(content, list):
        blocks.extend(parts(content, where))
    source = reading.model_source()
    if any("signature" in state for state in states):
        response = {"kind": "anthropic-messages", "version": 1, "model": reading.model or ""}
        replay = json_value({"response": response, "blocks": states})
        source = reading.model_source(Raw(escaped(replay)))
    return Message(reading.ids(), "assistant", tuple(blocks), source)


def _answer(block: Json, where: str) -> tuple[Block, dict[str, str]]:
    """One block of an answer, and what the provider wants back with it."""
    match block.get("type"):
        case "thinking":
            state = {"type": "reasoning"}
            if isinstance(signature := block.get("signature"), str) and signature:
                state["signature"] = signature
            return Reasoning(text_at(block, "thinking", where)), state
        case "tool_use":
            name, call_id = text_at(block, "name", where), text_at(block, "id", where)
            return ToolCall(call_id, name, _arguments(block.get("input"))), {"type": "tool-call"}
        case "text":
            return parts([block], where)[0], {"type": "text"}
        case kind:
            return other(block), {"type": str(kind)}


def _arguments(value: object) -> str:
    if isinstance(value, dict) and list(value) == [WRAPPED] and isinstance(value[WRAPPED], str):
        return str(value[WRAPPED])
    return json_value(value)


def _parts(content: object, where: str, reading: Reading) -> list[Part]:
    def picture(part: Json) -> Part:
        return _picture(part, reading)

    return parts(content, where, picture)


def _picture(part: Json, reading: Reading) -> Part:
    source = part.get("source")
    if part.get("type") != "image" or not isinstance(source, dict):
        return other(part)
    media_type, data = source.get("media_type"), source.get("data")
    if not isinstance(media_type, str) or not isinstance(data, str):
        return other(part)
    return reading.picture(media_type, data) or other(part)
