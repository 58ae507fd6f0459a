"""Kept pictures on the wire: the bytes of attachments, from the stores that may have them."""

from slicetape.errors import LogError
from slicetape.log.attachments import Attachments
from slicetape.log.messages import Attachment
from slicetape.wire.pictures import Picture

SENT = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The media types that both wires carry."""


class StoredPictures:
    """`Pictures` from the first of some stores that has them whole.

    What was missing once stays missing, until `look_in`: a request must not change behind what
    was sent.
    """

    def __init__(self, *stores: Attachments) -> None:
        self._stores = stores
        self._missing: set[str] = set()

    def look_in(self, *stores: Attachments) -> None:
        """Look in these stores from now on; for another session, before its first request."""
        self._stores = stores
        self._missing.clear()

    def __call__(self, attachment: Attachment) -> Picture | None:
        """The picture of an attachment; None when no store has it or no wire carries it."""
        if attachment.attachment_id in self._missing:
            return None
        if attachment.media_type in SENT:
            for store in self._stores:
                try:
                    return Picture(attachment.media_type, store.get(attachment))
                except LogError:
                    continue
        self._missing.add(attachment.attachment_id)
        return None
