"""Kept pictures on the wire: the bytes of attachments, from the stores that may have them."""

from slicetape.errors import LogError
from slicetape.log.attachments import Attachments
from slicetape.log.messages import Attachment
from slicetape.wire.pictures import Picture, Pictures

SENT = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The media types that both wires carry."""


def pictures_of(*stores: Attachments) -> Pictures:
    """Pictures from the first store that has them whole.

    What was missing once stays missing: a request must not change behind what was sent.
    """
    missing: set[str] = set()

    def find(attachment: Attachment) -> Picture | None:
        if attachment.attachment_id in missing:
            return None
        if attachment.media_type in SENT:
            for store in stores:
                try:
                    return Picture(attachment.media_type, store.get(attachment))
                except LogError:
                    continue
        missing.add(attachment.attachment_id)
        return None

    return find
