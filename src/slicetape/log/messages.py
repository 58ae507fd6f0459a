"""What people, models and tools say: messages, their blocks and their source."""

from typing import Literal

import msgspec
from msgspec import Raw

NO_JSON = Raw()
"""The value of an opaque JSON field that is absent; false as a condition."""


class Text(msgspec.Struct, frozen=True, tag="text", tag_field="type"):
    """Visible text."""

    text: str


class Reasoning(msgspec.Struct, frozen=True, tag="reasoning", tag_field="type"):
    """Reasoning text of a model."""

    text: str


class ToolCall(msgspec.Struct, frozen=True, tag="tool-call", tag_field="type"):
    """A requested call. `arguments` is the raw string as the model wrote it, valid JSON or not."""

    id: str
    name: str
    arguments: str


class Attachment(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Where the bytes of an image or file are kept: `attachment_id` is `sha256:<hex>` for ours."""

    attachment_id: str
    bytes: int = 0
    media_type: str | None = None
    width: int | None = None
    height: int | None = None
    name: str | None = None
    original_dimensions: Raw = NO_JSON


class Image(msgspec.Struct, frozen=True, tag="image", tag_field="type"):
    """A picture, by reference."""

    attachment: Attachment


class File(msgspec.Struct, frozen=True, tag="file", tag_field="type"):
    """A file, by reference."""

    attachment: Attachment


class OtherBlock(msgspec.Struct, frozen=True, tag="slicetape/other", tag_field="type"):
    """A block of a kind this build does not know, kept as its JSON text in `raw`."""

    raw: str


class ToolResultBlock(
    msgspec.Struct,
    frozen=True,
    tag="tool-result",
    tag_field="type",
    rename="camel",
    omit_defaults=True,
):
    """The answer to one call. `is_error` is None where the log does not say."""

    tool_call_id: str
    is_error: bool | None = None
    content: tuple[Text | Image | File | Reasoning | OtherBlock, ...] = msgspec.field(
        default_factory=tuple
    )


Block = Text | Reasoning | ToolCall | ToolResultBlock | Image | File | OtherBlock


class Source(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Who made a message. Only `kind == "user"` is genuine human input; never go by the role."""

    kind: str
    plugin: str | None = None
    form: str | None = None
    call_id: str | None = None
    provider: str | None = None
    model: str | None = None
    replay_state: Raw = NO_JSON
    sections: Raw = NO_JSON
    summary: str | None = None
    rpc_id: str | None = None
    compaction_id: str | None = None
    baseline: bool | None = None
    changes: Raw = NO_JSON


class Message(msgspec.Struct, frozen=True):
    """One message. `id` is minted once and kept through inbox, log and request."""

    id: str
    role: Literal["system", "user", "assistant"]
    content: tuple[Block, ...]
    source: Source


def text_of(blocks: tuple[Block, ...]) -> str:
    """The text blocks of `blocks`, joined with nothing between."""
    return "".join(block.text for block in blocks if type(block) is Text)
