"""Keys of providers: from the environment, or from a credentials file that only its owner reads."""

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path

from slicetape.errors import ConfigError

FILE = "credentials.toml"
_MOST_BYTES = 1 << 20
_LEGAL = re.compile(r"[!-~]{1,4096}")


class Secret:
    """A key that shows itself only when asked to."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a key is not written down")

    def reveal(self) -> str:
        """The key."""
        return self._text


def key_for(
    provider: str, variable: str, environ: Mapping[str, str], home: Path | None
) -> Secret | None:
    """The key of a provider; None when there is none.

    The variable comes first, then `[PROVIDER] key = "…"` of the credentials file in `home`.
    ConfigError when that file may be read by others, or cannot be read at all, and for a key that
    no header can carry.
    """
    named = environ.get(variable, "").strip() if variable else ""
    if named:
        return _checked(named, variable)
    if home is None:
        return None
    path = home / FILE
    section = _credentials(path).get(provider)
    key = section.get("key") if isinstance(section, dict) else None
    if key is None:
        return None
    if not isinstance(key, str) or not key.strip():
        raise ConfigError(f'{path}: {provider}.key is a text in quotes; write key = "…"')
    return _checked(key.strip(), f"{path}: {provider}.key")


def _checked(key: str, where: str) -> Secret:
    if not _LEGAL.fullmatch(key):
        raise ConfigError(f"{where} has spaces or characters that no key has; copy the key again")
    return Secret(key)


def _credentials(path: Path) -> Mapping[str, object]:
    try:
        # O_NONBLOCK: a pipe of that name must not hold the program up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MOST_BYTES:
            raise ConfigError(f"{path}: is no small file; keys are not taken from it")
        if stat.S_IMODE(facts.st_mode) & 0o077:
            raise ConfigError(f"{path}: others may read your keys; run: chmod 600 {path}")
        if facts.st_uid != os.getuid():
            raise ConfigError(f"{path}: belongs to somebody else; keys are not taken from it")
        try:
            return tomllib.load(file)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
            # What the parser says may quote a key.
            raise ConfigError(
                f'{path}: not TOML; write [deepseek] and key = "…" below it'
            ) from None
