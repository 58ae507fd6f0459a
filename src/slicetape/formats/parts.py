"""Contents of chat messages, a string or a list of typed parts, and tool schemas of chat wires."""

import base64
import binascii
import hashlib
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from slicetape.formats.media import Attachments, picture_base64, picture_url
from slicetape.formats.pending import ResultBlock
from slicetape.formats.values import other, raw
from slicetape.log.messages import Attachment, File, Reasoning, Text


class Link(msgspec.Struct, omit_defaults=True):
    """Where a picture is; a `data:` URL holds the picture itself."""

    url: str = ""


class Origin(msgspec.Struct, omit_defaults=True):
    """Where the bytes of a picture or document come from."""

    type: str = ""
    media_type: str | None = None
    data: str | None = None
    url: str | None = None


class Part(msgspec.Struct, omit_defaults=True):
    """One part of a content, on any chat wire."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    thinking: str | None = None
    signature: str | None = None
    redacted: bool | None = None
    data: Any = None
    image: str | None = None
    image_url: str | Link | None = None
    source: Origin | None = None
    title: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: "str | list[Part] | None" = None
    is_error: bool | None = None


Content: TypeAlias = str | list[Part] | None
"""The content of a message as chat wires have it."""


def blocks(content: Content, keep: Attachments) -> tuple[ResultBlock, ...]:
    """The blocks of a content, none for an empty one; the bytes of pictures go to `keep`."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(block(part, keep) for part in content or ())


def block(part: Part, keep: Attachments) -> ResultBlock:
    """The block of one part; a part of an unknown type is kept as its JSON."""
    if part.image_url is not None:
        link = part.image_url
        return picture_url(link.url if isinstance(link, Link) else link, keep)
    if part.image is not None:
        return picture_url(part.image, keep)
    if part.source is not None and part.type in ("image", "document"):
        return _from_origin(part, part.source, keep)
    for words in (part.text, part.refusal):
        if words is not None:
            return Text(words)
    for words in (part.reasoning, part.thinking):
        if words is not None:
            return Reasoning(words)
    return other(part)


def plain(content: Content) -> str:
    """The texts of a content, joined by newlines."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content or () if part.text is not None)


def schemas(tools: Any) -> Raw | None:
    """The tool schemas as `{name, description, parameters}`, whatever wire they are of."""
    return raw([_schema(tool) for tool in tools]) if isinstance(tools, list) and tools else None


def _schema(tool: Any) -> Any:
    if not isinstance(tool, dict):
        return tool
    nested = tool.get("function")
    told = nested if isinstance(nested, dict) else tool
    if "name" not in told:
        return tool
    return {
        "name": told["name"],
        "description": told.get("description") or "",
        "parameters": told.get("parameters") or told.get("input_schema") or {},
    }


def _from_origin(part: Part, origin: Origin, keep: Attachments) -> ResultBlock:
    if part.type == "document":
        return _document(part, origin, keep)
    if origin.data is None:
        return picture_url(origin.url or "", keep)
    return picture_base64(origin.data, origin.media_type, keep)


def _document(part: Part, origin: Origin, keep: Attachments) -> ResultBlock:
    if origin.type == "text":
        return Text(origin.data or "")
    if origin.data is None:
        return other(part)
    try:
        data = base64.b64decode(origin.data)
    except (binascii.Error, ValueError):
        data = origin.data.encode("utf-8", "surrogatepass")
    sha256 = hashlib.sha256(data).hexdigest()
    keep(sha256, data)
    return File(Attachment(f"sha256:{sha256}", len(data), origin.media_type, name=part.title))
