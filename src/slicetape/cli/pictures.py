"""The pictures of imported transcripts, once each, named by their content."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from slicetape.log.events import Event, SurfaceEvent, message_of
from slicetape.log.logfile import place
from slicetape.log.messages import Block, File, Image, ToolResultBlock

_NAMED = re.compile("sha256:([0-9a-f]{64})")


class Pictures:
    """The folder of attachments in a home."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "attachments" / "v1"

    def keep(self, sha256: str, data: bytes) -> None:
        """Keep the bytes of a picture under their sha256, unless they are there."""
        path = self._folder / sha256
        if not path.exists():
            place(path, (data,))

    def state(self, sha256: str) -> str:
        """`there`, `gone`, or `changed`."""
        try:
            with (self._folder / sha256).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return "gone"
        return "there" if found == sha256 else "changed"


def named_in(event: Event) -> Iterator[str]:
    """The sha256 of every attachment that an event names by its content and size."""
    if isinstance(event, SurfaceEvent):
        yield from _named(message_of(event).content)


def _named(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, ToolResultBlock):
            yield from _named(block.content)
        elif isinstance(block, Image | File):
            found = _NAMED.fullmatch(block.attachment.attachment_id)
            if found and block.attachment.bytes:
                yield found[1]
