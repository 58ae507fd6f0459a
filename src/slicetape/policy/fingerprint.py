"""Names made from content: they say what a tool or a model returned, nothing of the world today."""

import hashlib


def utf8(text: str) -> bytes:
    """UTF-8 of any text; a lone surrogate counts as one U+FFFD, never as an error."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def fingerprint(text: str, digits: int) -> str:
    """The first hex digits of the SHA-256 of `text`."""
    return hashlib.sha256(utf8(text)).hexdigest()[:digits]
