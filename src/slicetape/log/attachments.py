"""Pictures of a session, kept whole beside its log and named by their content.

An attachment names its bytes as `sha256:<hex>`; nothing else of it is used to find them.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from slicetape.errors import DamagedLog, LogError, StorageFailed
from slicetape.log.events import Event, SurfaceEvent, message_of
from slicetape.log.logfile import place
from slicetape.log.messages import Attachment, Block, File, Image, ToolResultBlock
from slicetape.log.picture import picture_facts

MOST_BYTES = 20 * 1024 * 1024
"""The size of the largest picture that is taken."""

_NAMED = re.compile("sha256:([0-9a-f]{64})")
_MOST_NAME = 200


class Attachments:
    """Bytes by their content: in `folder`, or in memory when it is None."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._held: dict[str, bytes] = {}

    @classmethod
    def beside(cls, log: Path | None) -> "Attachments":
        """The attachments of the session whose log is at `log`."""
        return cls(log.parent / "attachments" if log is not None else None)

    def put(self, data: bytes, name: str | None = None) -> Attachment:
        """Keep a picture, safe from a power cut, and return what stands for it in messages.

        Of `name` the last part is kept, for people. Raises LogError, with what to do, for what is
        no picture or more than 20 MB, and StorageFailed.
        """
        if len(data) > MOST_BYTES:
            raise LogError("a picture of more than 20 MB; models take less, make it smaller")
        facts = picture_facts(data)
        sha256 = hashlib.sha256(data).hexdigest()
        self._keep(sha256, data)
        return Attachment(
            attachment_id=f"sha256:{sha256}",
            bytes=len(data),
            media_type=facts.media_type,
            width=facts.width,
            height=facts.height,
            name=_plain(name) if name else None,
        )

    def put_file(self, path: Path) -> Attachment:
        """Keep the picture in a file that a person named; errors as of `put`, and name the file."""
        try:
            with path.open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise LogError(f"{path}: cannot be read: {error.strerror or error}") from None
        try:
            return self.put(data, path.name)
        except StorageFailed:
            raise
        except LogError as error:
            raise LogError(f"{path}: {error}") from None

    def has(self, attachment: Attachment) -> bool:
        """Whether bytes of that name are there, whole or changed."""
        sha256 = sha256_of(attachment)
        if sha256 is None:
            return False
        return sha256 in self._held if self.folder is None else (self.folder / sha256).is_file()

    def get(self, attachment: Attachment) -> bytes:
        """The bytes, checked against their name; LogError when gone, DamagedLog when changed."""
        sha256 = sha256_of(attachment)
        if sha256 is None:
            shown = ascii(attachment.attachment_id[:80])
            raise LogError(f"{shown} names no stored picture")
        try:
            data = self._read(sha256)
        except FileNotFoundError:
            raise LogError("the stored picture is gone") from None
        except OSError as error:
            raise LogError(
                f"the stored picture cannot be read: {error.strerror or error}"
            ) from None
        if hashlib.sha256(data).hexdigest() != sha256:
            raise DamagedLog(f"the stored picture {sha256} was changed; restore it from a copy")
        return data

    def _keep(self, sha256: str, data: bytes) -> None:
        if self.folder is None:
            self._held[sha256] = data
            return
        path = self.folder / sha256
        try:
            if self._read(sha256) == data:
                return
            path.unlink()  # a damaged copy
        except FileNotFoundError:
            pass
        except OSError as error:
            raise StorageFailed(f"{path}: {error.strerror or error}") from None
        place(path, (data,))

    def _read(self, sha256: str) -> bytes:
        if self.folder is None:
            if sha256 not in self._held:
                raise FileNotFoundError(sha256)
            return self._held[sha256]
        # Neither a link nor a pipe of that name is followed or waited for.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(self.folder / sha256, flags)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(MOST_BYTES + 1)


def sha256_of(attachment: Attachment) -> str | None:
    """The hex digest by which an attachment names its bytes; None when it names none."""
    found = _NAMED.fullmatch(attachment.attachment_id)
    return found[1] if found else None


def attachments_in(events: Iterable[Event]) -> Iterator[Attachment]:
    """Every attachment that messages name, as often as they name it."""
    for event in events:
        if isinstance(event, SurfaceEvent):
            yield from _in(message_of(event).content)


def copy_attachments(events: Iterable[Event], source: Attachments, target: Attachments) -> None:
    """Copy the bytes that `events` name; what is gone or changed stays where it is."""
    if source.folder is not None and source.folder == target.folder:
        return
    for attachment in attachments_in(events):
        sha256 = sha256_of(attachment)
        if sha256 is None or not source.has(attachment) or target.has(attachment):
            continue
        try:
            data = source.get(attachment)
        except LogError:
            continue
        target._keep(sha256, data)  # noqa: SLF001  # the same class


def _in(blocks: tuple[Block, ...]) -> Iterator[Attachment]:
    for block in blocks:
        if isinstance(block, ToolResultBlock):
            yield from _in(block.content)
        elif isinstance(block, Image | File):
            yield block.attachment


def _plain(name: str) -> str:
    """The last part of a file name, printable and bounded."""
    last = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    seen = "".join(c if c.isprintable() else "\ufffd" for c in last[:_MOST_NAME])
    return seen.encode("utf-8", "replace").decode()
