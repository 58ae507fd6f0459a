"""Keys of providers: from the environment, or from a credentials file that only its owner reads."""

import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path

from slicetape.errors import ConfigError

FILE = "credentials.toml"


class Secret:
    """A key that shows itself only when asked to."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def reveal(self) -> str:
        """The key."""
        return self._text


def key_for(
    provider: str, variable: str, environ: Mapping[str, str], home: Path | None
) -> Secret | None:
    """The key of a provider; None when there is none.

    The variable comes first, then `[PROVIDER] key = "…"` of the credentials file in `home`.
    ConfigError when that file may be read by others, or cannot be read at all.
    """
    named = environ.get(variable, "").strip() if variable else ""
    if named:
        return Secret(named)
    if home is None:
        return None
    section = _credentials(home / FILE).get(provider)
    key = section.get("key") if isinstance(section, dict) else None
    return Secret(key.strip()) if isinstance(key, str) and key.strip() else None


def _credentials(path: Path) -> Mapping[str, object]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(file.fileno())
        if stat.S_IMODE(facts.st_mode) & 0o077:
            raise ConfigError(f"{path}: others may read your keys; run: chmod 600 {path}")
        if facts.st_uid != os.getuid():
            raise ConfigError(f"{path}: belongs to somebody else; keys are not taken from it")
        try:
            return tomllib.load(file)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            # What the parser says may quote a key.
            raise ConfigError(
                f'{path}: not TOML; write [deepseek] and key = "…" below it'
            ) from None
