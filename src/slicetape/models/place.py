"""Where a model is: an address, a key, and the SDK that carries requests there."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import ip_address
from urllib.parse import urlsplit

from slicetape.errors import ConfigError
from slicetape.models.keys import Secret

SILENCE_S = 300.0
"""Seconds without a byte after which a call has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where requests go: base address, key, and the SDK that carries them.

    `own` says that this is the provider of that SDK, for which its other environment variables
    (organisation, project, headers) are meant. `silence` is seconds without a byte; `now` gives
    epoch seconds, for a `retry-after` that names a date.
    """

    url: str
    key: Secret
    sdk: str
    own: bool = False
    silence: float = SILENCE_S
    now: Callable[[], float] | None = None

    def __post_init__(self) -> None:
        checked_url(self.url)
        if find_spec(self.sdk) is None:
            raise ConfigError(f"this provider needs its SDK: pip install 'slicetape[{self.sdk}]'")

    @property
    def shown(self) -> str:
        """The address for people, without what it may hold of a key."""
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname or ''}{port}"


def is_here(url: str) -> bool:
    """Whether an address is one of this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def checked_url(url: str) -> str:
    """`url` when requests can go there, else ConfigError; its text does not repeat the address."""
    try:
        parts = urlsplit(url)
        port_fits = parts.port != 0
    except ValueError:
        parts, port_fits = urlsplit(""), False
    if parts.username or parts.password:
        raise ConfigError("the base URL of a model holds a password; give it as the key")
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_fits:
        raise ConfigError("the base URL of a model is http:// or https:// with a host; mend it")
    return url
