"""The content blocks of the Messages wire, one function for each kind."""

import msgspec

from slicetape.log.messages import Message, ToolCall
from slicetape.wire.json_text import escaped, is_object, json_string
from slicetape.wire.openai_chat import ToolSchema

WRAPPED = "slicetape/arguments"
"""The one key of a call's input whose arguments were no JSON object."""

CARRIED = frozenset({"document", "redacted_thinking", "search_result", "tool_reference"})
"""Block kinds of this wire that our messages keep as unknown blocks and send verbatim."""


class ReplayBlock(msgspec.Struct, frozen=True):
    """What a provider wants back with one block of its answer."""

    type: str = ""
    signature: str | None = None


class ReplayState(msgspec.Struct, frozen=True):
    """`source.replay_state`: one entry for each block of `content`, in order."""

    blocks: tuple[ReplayBlock | None, ...] = ()


def signatures(message: Message) -> dict[int, str]:
    """Block position to signature; none when the state does not line up with the blocks."""
    if not message.source.replay_state:
        return {}
    try:
        state = msgspec.json.decode(message.source.replay_state, type=ReplayState)
    except (msgspec.MsgspecError, UnicodeError):
        return {}
    if len(state.blocks) != len(message.content):
        return {}
    return {
        at: block.signature for at, block in enumerate(state.blocks) if block and block.signature
    }


def kind_of(raw: str) -> str:
    """The type that a block kept as JSON text says it has."""
    try:
        return msgspec.json.decode(escaped(raw), type=ReplayBlock).type
    except (msgspec.MsgspecError, UnicodeError):
        return ""


def text_block(text: str) -> bytes:
    """A visible text."""
    return b'{"type":"text","text":%s}' % json_string(text)


def thinking_block(text: str, signature: str) -> bytes:
    """Reasoning with its signature."""
    return b'{"type":"thinking","thinking":%s,"signature":%s}' % (
        json_string(text),
        json_string(signature),
    )


def call_block(call: ToolCall) -> bytes:
    """A call."""
    return b'{"type":"tool_use","id":%s,"name":%s,"input":%s}' % (
        json_string(call.id),
        json_string(call.name),
        input_of(call.arguments),
    )


def input_of(arguments: str) -> bytes:
    """The input of a call: its arguments as they stand when they are a JSON object."""
    if is_object(arguments):
        return escaped(arguments)
    if not arguments:
        return b"{}"
    return b'{"%s":%s}' % (WRAPPED.encode(), json_string(arguments))


def tool_definition(schema: ToolSchema) -> bytes:
    """A tool of the request header."""
    return b'{"name":%s,"description":%s,"input_schema":%s}' % (
        bytes(schema.name),
        bytes(schema.description),
        bytes(schema.parameters),
    )
