"""Messages to chat-completions bytes, one node at a time.

Key order, escapes and empty texts are those of DeepSeek Harness (`system`, `user`, `assistant`,
`tool`; `content` before `reasoning_content` before `tool_calls`). Left out: an assistant or
system message with nothing to say, the error flag of a result, and blocks of unknown kinds.
Texts of one message are joined with nothing between, those of one result with a newline.
Pictures of results cannot stand in a tool message: those of consecutive results are gathered
into one user message behind the last of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from slicetape.errors import WireError
from slicetape.log.messages import (
    Block,
    File,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResultBlock,
    text_of,
)
from slicetape.log.payloads import HeaderConfig
from slicetape.wire.fragment import Fragment, Seam, facts_of, pieces
from slicetape.wire.json_text import json_list, json_string, shown
from slicetape.wire.pictures import Pictures, no_pictures, placeholder

NO_OUTPUT = "(no output)"
"""The text of a result that has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What a server of this wire takes.

    `reasoning`: `reasoning_content` on assistant messages. `switch`: a `thinking` object turns
    reasoning on and off. `limit`: the key of the output limit.
    """

    name: str
    reasoning: bool = False
    switch: bool = False
    limit: str = "max_tokens"


DEEPSEEK = Dialect(name="deepseek", reasoning=True, switch=True)
OPENAI = Dialect(name="openai", limit="max_completion_tokens")


class ToolSchema(msgspec.Struct, frozen=True):
    """One tool as the request header keeps it; each field is its JSON text."""

    name: Raw
    description: Raw = Raw(b'""')
    parameters: Raw = Raw(b"{}")


@dataclass(frozen=True, slots=True)
class ChatWire:
    """The chat-completions wire in one dialect."""

    dialect: Dialect = DEEPSEEK
    pictures: Pictures = no_pictures

    def fragment(self, message: Message) -> Fragment:
        """What `message` puts on the wire: no, one or several wire messages."""
        if message.role == "assistant":
            return self._assistant(message)
        if message.role == "system":
            text = text_of(message.content)
            items = (_said(b"system", json_string(text)),) if text else ()
            return Fragment("system" if text else "", items, (), facts_of(message))
        return self._user(message)

    def encode(self, message: Message) -> tuple[bytes, ...]:
        """The wire messages of `message` when nothing stands beside it."""
        fragment = self.fragment(message)
        return (*fragment.items, *_gathered(fragment.held))

    def join(self, seam: Seam, fragment: Fragment) -> tuple[bytes, Seam]:
        """The piece of `fragment`: pictures held back before it, its messages, their commas."""
        if not fragment.items:
            return b"", seam
        if fragment.role == "tool":
            return self._piece(seam, fragment.items), Seam("tool", seam.held + fragment.held)
        items = (*_gathered(seam.held), *fragment.items)
        return self._piece(seam, items), Seam(fragment.role)

    def flush(self, seam: Seam) -> bytes:
        """The message with the pictures of the last results, if there are any."""
        return self._piece(seam, _gathered(seam.held))

    def _piece(self, seam: Seam, items: Iterable[bytes]) -> bytes:
        joined = b",".join(items)
        return b"," + joined if seam.role and joined else joined

    def messages(self, messages: Iterable[Message | Fragment]) -> bytes:
        """The `messages` list of a request."""
        fragments = (m if isinstance(m, Fragment) else self.fragment(m) for m in messages)
        return b"[" + b"".join(pieces(self, fragments)) + b"]"

    def request(
        self, messages: Iterable[Message | Fragment], tools: Raw, config: HeaderConfig
    ) -> bytes:
        """A streaming request; options that are not set are left out.

        `tools` is the header's list of `{name, description, parameters}`, or absent.
        """
        return self.body(self.messages(messages), tools, config)

    def body(self, messages: bytes, tools: Raw, config: HeaderConfig) -> bytes:
        """The request around a `messages` list that is encoded already."""
        members = [
            (b"model", json_string(config.model)),
            (b"messages", messages),
            (b"stream", b"true"),
            (b"stream_options", b'{"include_usage":true}'),
        ]
        members += self._effort(config.reasoning_effort)
        if schemas := tool_schemas(tools):
            members.append((b"tools", json_list(map(_tool, schemas))))
        if config.max_tokens is not None:
            members.append((self.dialect.limit.encode(), b"%d" % config.max_tokens))
        if config.temperature is not None:
            members.append((b"temperature", msgspec.json.encode(config.temperature)))
        if config.stop:
            members.append((b"stop", bytes(config.stop)))
        return b"{" + b",".join(b'"%s":%s' % member for member in members) + b"}"

    def _effort(self, effort: str | None) -> list[tuple[bytes, bytes]]:
        if effort is None:
            return []
        if not self.dialect.switch:
            return [] if effort == "off" else [(b"reasoning_effort", json_string(effort))]
        if effort == "off":
            return [(b"thinking", b'{"type":"disabled"}')]
        return [
            (b"thinking", b'{"type":"enabled"}'),
            (b"reasoning_effort", json_string(effort)),
        ]

    def _assistant(self, message: Message) -> Fragment:
        text = text_of(message.content)
        said = ""
        if self.dialect.reasoning:
            said = "".join(b.text for b in message.content if type(b) is Reasoning)
        calls = [_call(block) for block in message.content if type(block) is ToolCall]
        if not (text or said or calls):
            return Fragment("")
        item = b'{"role":"assistant","content":' + json_string(text)
        if said:
            item += b',"reasoning_content":' + json_string(said)
        if calls:
            item += b',"tool_calls":' + json_list(calls)
        return Fragment("assistant", (item + b"}",), (), facts_of(message))

    def _user(self, message: Message) -> Fragment:
        results = [block for block in message.content if type(block) is ToolResultBlock]
        rest = tuple(block for block in message.content if type(block) is not ToolResultBlock)
        items = tuple(map(_result, results))
        held = tuple(
            part
            for result in results
            for block in result.content
            if type(block) is Image or type(block) is File
            for part in self._parts(block)
        )
        if results and not rest:
            return Fragment("tool", items, held, facts_of(message))
        content = self._content(rest)
        facts = facts_of(message, empty=content in (b'""', b"[]"))
        said = (*items, *_gathered(held), _said(b"user", content))
        return Fragment("user", said, (), facts)

    def _content(self, blocks: tuple[Block, ...]) -> bytes:
        if not any(type(block) is Image or type(block) is File for block in blocks):
            return json_string(text_of(blocks))
        return json_list(part for block in blocks for part in self._parts(block))

    def _parts(self, block: Block) -> list[bytes]:
        """The content parts of a text, picture or file."""
        if type(block) is Text:
            return [_text_part(block.text)] if block.text else []
        if type(block) is not Image and type(block) is not File:
            return []
        picture = self.pictures(block.attachment) if type(block) is Image else None
        if picture is None:
            return [_text_part(placeholder(block))]
        url = b"data:" + picture.media_type.encode() + b";base64," + picture.base64()
        image = b'{"type":"image_url","image_url":{"url":' + json_string(url.decode()) + b"}}"
        return [_text_part(picture.caption), image] if picture.caption else [image]


def tool_schemas(tools: Raw) -> list[ToolSchema]:
    """The schemas of a request header; none when the header has none."""
    if not tools:
        return []
    try:
        return msgspec.json.decode(tools, type=list[ToolSchema])
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise WireError(
            f"tool schemas are a list of name, description, parameters ({shown(str(error))})"
        ) from None


def _tool(schema: ToolSchema) -> bytes:
    inner = b'{"name":%s,"description":%s,"parameters":%s}' % (
        bytes(schema.name),
        bytes(schema.description),
        bytes(schema.parameters),
    )
    return b'{"type":"function","function":' + inner + b"}"


def _said(role: bytes, content: bytes) -> bytes:
    return b'{"role":"%s","content":%s}' % (role, content)


def _text_part(text: str) -> bytes:
    return b'{"type":"text","text":%s}' % json_string(text)


def _gathered(parts: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return (_said(b"user", json_list(parts)),) if parts else ()


def _call(call: ToolCall) -> bytes:
    return b'{"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}' % (
        json_string(call.id),
        json_string(call.name),
        json_string(call.arguments),
    )


def _result(result: ToolResultBlock) -> bytes:
    text = "\n".join(block.text for block in result.content if type(block) is Text)
    return b'{"role":"tool","tool_call_id":%s,"content":%s}' % (
        json_string(result.tool_call_id),
        json_string(text or NO_OUTPUT),
    )
