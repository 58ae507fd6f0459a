"""Pictures on the wire: where their bytes come from, and what stands there when they are gone."""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from slicetape.log.messages import Attachment, File, Image


@dataclass(frozen=True, slots=True)
class Picture:
    """The bytes of an attachment, and a text to be said before them when there is one."""

    media_type: str
    data: bytes
    caption: str = ""

    def base64(self) -> bytes:
        """The bytes as base64 text."""
        return b64encode(self.data)


Pictures = Callable[[Attachment], Picture | None]
"""Attachment to picture; None when its bytes are not at hand. Must answer the same for good."""

Keep = Callable[[bytes, str], Attachment]
"""Picture bytes and media type to the attachment that will stand for them."""


def no_pictures(attachment: Attachment) -> None:
    """Keep nothing: every picture is sent as its placeholder."""


def unkept(data: bytes, media_type: str) -> Attachment:
    """An attachment named by its content; the bytes are kept by nobody."""
    name = f"sha256:{sha256(data).hexdigest()}"
    return Attachment(attachment_id=name, bytes=len(data), media_type=media_type)


def placeholder(block: Image | File) -> str:
    """What is said where a picture or file cannot be sent. Never more than 400 characters."""
    kept = block.attachment
    kind = "image" if type(block) is Image else "file"
    facts = [f"{kind} {kept.attachment_id[:100]}"]
    if kept.name:
        facts.append(kept.name[:100])
    if kept.media_type:
        facts.append(kept.media_type[:100])
    if kept.width and kept.height:
        facts.append(f"{kept.width}x{kept.height}")
    return f"[{' · '.join(facts)} · not sent]"


def data_of(base64_text: str) -> bytes | None:
    """The bytes of base64 text that `Picture.base64` would write again, else None."""
    try:
        data = b64decode(base64_text, validate=True)
    except (NotBase64, ValueError):
        return None
    return data if b64encode(data).decode() == base64_text else None
