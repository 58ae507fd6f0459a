"""Messages to Anthropic Messages bytes, one node at a time.

There a request is `system` blocks, then messages whose roles alternate: consecutive nodes of
one role share a message. So a node's fragment is a list of content blocks, and its piece opens
a new message only where the role changes:

    system node      its block, in `system`           (only before the first message)
    first message    ],"messages":[{"role":"user","content":[ + blocks
    same role        , + blocks
    other role       ]},{"role":"assistant","content":[ + blocks

A request that only adds nodes therefore extends the stream of pieces even where it adds blocks
to the last message. The closing brackets belong to no piece. `cache_control` belongs to no piece
either: a moved marker changes no cached prefix, so markers are set when a request is put
together. A system prompt behind the first message stays in place, as a reminder in the user
role; sending it in `system` would move everything.

Left out: blank texts (the provider refuses them), reasoning without a signature, files and
blocks of unknown kinds except those in `CARRIED`. Arguments that are not a JSON object are sent
as `{"slicetape/arguments": "<the raw string>"}`, an empty string as `{}`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec import Raw

from slicetape.errors import WireError
from slicetape.log.messages import (
    Block,
    File,
    Image,
    Message,
    OtherBlock,
    Reasoning,
    Text,
    ToolCall,
    ToolResultBlock,
)
from slicetape.log.payloads import HeaderConfig
from slicetape.wire.anthropic_blocks import (
    CARRIED,
    call_block,
    kind_of,
    signatures,
    text_block,
    thinking_block,
    tool_definition,
)
from slicetape.wire.cache_marks import NO_MARKS, Marks, with_marks
from slicetape.wire.fragment import START, Fragment, Seam, facts_of
from slicetape.wire.json_text import escaped, json_list, json_string
from slicetape.wire.openai_chat import tool_schemas
from slicetape.wire.pictures import Pictures, no_pictures, placeholder

Effort = Literal["adaptive", "enabled"]


@dataclass(frozen=True, slots=True)
class MessagesWire:
    """The Messages wire. `effort` is the `thinking` type that goes with a reasoning effort."""

    pictures: Pictures = no_pictures
    effort: Effort = "adaptive"

    def fragment(self, message: Message, *, thinking: bool = True) -> Fragment:
        """What `message` puts on the wire. Without `thinking` its signed reasoning is left out,
        as it must be once the bytes before it have changed.
        """
        if message.role == "assistant":
            return self._assistant(message, thinking=thinking)
        if message.role == "system":
            return _system(message)
        blocks = tuple(item for block in message.content for item in self._said(block))
        results = [type(block) is ToolResultBlock for block in message.content]
        if not blocks:
            return Fragment("")
        return Fragment("tool" if all(results) else "user", blocks, (), facts_of(message))

    def encode(self, message: Message) -> tuple[bytes, ...]:
        """The content blocks of `message`."""
        return self.fragment(message).items

    def join(self, seam: Seam, fragment: Fragment) -> tuple[bytes, Seam]:
        """The piece of `fragment`: its blocks, and the opening of a message where one begins."""
        if not fragment.items:
            return b"", seam
        if fragment.role == "system" and seam.role in ("", "system"):
            comma = b"," if seam.role else b""
            return comma + b",".join(fragment.items), Seam("system")
        items = fragment.held if fragment.role == "system" else fragment.items
        role = b"assistant" if fragment.role == "assistant" else b"user"
        after = Seam("assistant" if fragment.role == "assistant" else "user")
        if after.role == seam.role:
            return b"," + b",".join(items), after
        opening = b'],"messages":[' if seam.role in ("", "system") else b"]},"
        return opening + b'{"role":"%s","content":[' % role + b",".join(items), after

    def flush(self, seam: Seam) -> bytes:
        """Nothing is held back on this wire."""
        return b""

    def history(self, fragments: Iterable[Fragment], marks: Marks = NO_MARKS) -> bytes:
        """The members `system` and `messages` of a request, in this order."""
        placed = with_marks(list(fragments), marks)
        seam, stream = START, list[bytes]()
        for fragment in placed:
            piece, seam = self.join(seam, fragment)
            stream.append(piece)
        return self.closed(stream, seam)

    def closed(self, stream: Iterable[bytes], seam: Seam) -> bytes:
        """The members `system` and `messages` that a stream of pieces makes, with its last seam."""
        end = b'],"messages":[]' if seam.role in ("", "system") else b"]}]"
        return b"".join((b'"system":[', *stream, end))

    def request(
        self,
        messages: Iterable[Message | Fragment],
        tools: Raw,
        config: HeaderConfig,
        marks: Marks = NO_MARKS,
    ) -> bytes:
        """A streaming request: tools, system and messages stand in the order they are cached."""
        fragments = [m if isinstance(m, Fragment) else self.fragment(m) for m in messages]
        return self.body(self.history(fragments, marks), tools, config)

    def body(self, history: bytes, tools: Raw, config: HeaderConfig) -> bytes:
        """The request around the members `system` and `messages`, encoded already."""
        if config.max_tokens is None:
            raise WireError("the Messages wire needs an output limit: set maxTokens of the route")
        members = [
            b'"model":' + json_string(config.model),
            b'"max_tokens":%d' % config.max_tokens,
            b'"stream":true',
            *self._thinking(config.reasoning_effort),
        ]
        if config.temperature is not None:
            members.append(b'"temperature":' + msgspec.json.encode(config.temperature))
        if config.stop:
            members.append(b'"stop_sequences":' + bytes(config.stop))
        if schemas := tool_schemas(tools):
            members.append(b'"tools":' + json_list(map(tool_definition, schemas)))
        members.append(history)
        return b"{" + b",".join(members) + b"}"

    def _thinking(self, effort: str | None) -> list[bytes]:
        if effort is None:
            return []
        if effort == "off":
            return [b'"thinking":{"type":"disabled"}']
        return [
            b'"thinking":{"type":"%s"}' % self.effort.encode(),
            b'"output_config":{"effort":%s}' % json_string(effort),
        ]

    def _assistant(self, message: Message, *, thinking: bool) -> Fragment:
        state = signatures(message)
        items: list[bytes] = []
        signed = False
        for at, block in enumerate(message.content):
            if type(block) is Reasoning:
                if thinking and (signature := state.get(at)):
                    items.append(thinking_block(block.text, signature))
                    signed = True
            elif type(block) is ToolCall:
                items.append(call_block(block))
            else:
                items.extend(self._said(block))
        if not items:
            return Fragment("")
        return Fragment("assistant", tuple(items), (), facts_of(message, signed=signed))

    def _said(self, block: Block) -> list[bytes]:
        """The content blocks of one block outside reasoning and calls."""
        match block:
            case Text(text):
                return [text_block(text)] if text.strip() else []
            case Image() | File():
                return self._picture(block)
            case ToolResultBlock():
                return [self._result(block)]
            case OtherBlock(raw):
                return [escaped(raw)] if kind_of(raw) in CARRIED else []
        return []

    def _picture(self, block: Image | File) -> list[bytes]:
        picture = self.pictures(block.attachment) if type(block) is Image else None
        if picture is None:
            return [text_block(placeholder(block))]
        image = b'{"type":"image","source":{"type":"base64","media_type":%s,"data":"%s"}}' % (
            json_string(picture.media_type),
            picture.base64(),
        )
        return [text_block(picture.caption), image] if picture.caption else [image]

    def _result(self, result: ToolResultBlock) -> bytes:
        content = json_list(item for block in result.content for item in self._said(block))
        block = b'{"type":"tool_result","tool_use_id":%s,"content":%s' % (
            json_string(result.tool_call_id),
            content,
        )
        if result.is_error is None:
            return block + b"}"
        return block + (b',"is_error":true}' if result.is_error else b',"is_error":false}')


def _system(message: Message) -> Fragment:
    texts = [b.text for b in message.content if type(b) is Text and b.text.strip()]
    if not texts:
        return Fragment("")
    later = text_block(f"<system-reminder>\n{''.join(texts)}\n</system-reminder>")
    return Fragment("system", tuple(map(text_block, texts)), (later,), facts_of(message))
