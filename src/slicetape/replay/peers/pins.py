"""Which peers there are, at which versions, in which setups: the data of `pins.json`."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from slicetape.errors import PeerError

DRIVERS = Path(str(files("slicetape.replay.peers") / "drivers"))
"""Where the scripts are that run inside the environments of peers."""


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way of setting a peer up.

    `published` are figures that were measured by others on the transcript of the survey.
    """

    name: str
    settings: Mapping[str, str | int | bool | Mapping[str, int]]
    published: Mapping[str, float] = {}


class Peer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One library: `packages` with their pinned versions, and the script that drives it.

    The first package is the peer itself. A `driver` without a folder is one of ours.
    """

    name: str
    packages: tuple[str, ...]
    driver: str
    does: str
    setups: tuple[Setup, ...]

    @property
    def version(self) -> str:
        """The pinned version of the peer itself."""
        return self.packages[0].partition("==")[2]

    @property
    def names(self) -> tuple[str, ...]:
        """The packages without their versions."""
        return tuple(package.partition("==")[0] for package in self.packages)

    @property
    def script(self) -> Path:
        """The driver as a file."""
        return DRIVERS / self.driver


@cache
def all_peers() -> tuple[Peer, ...]:
    """Every peer, in file order."""
    raw = (files("slicetape.replay.peers") / "pins.json").read_bytes()
    return msgspec.json.decode(raw, type=tuple[Peer, ...])


def peers(text: str) -> tuple[Peer, ...]:
    """The peers of a list with commas; `name:setup` keeps one setup. PeerError when unknown."""
    found: dict[str, Peer] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, wanted = part.partition(":")
        peer = next((peer for peer in all_peers() if peer.name == name), None)
        if peer is None:
            known = ", ".join(peer.name for peer in all_peers())
            raise PeerError(f"unknown peer {name[:60]!r}; there are {known}")
        setups = tuple(row for row in peer.setups if not wanted or row.name == wanted)
        if not setups:
            known = ", ".join(row.name for row in peer.setups)
            raise PeerError(f"peer {name} has no setup {wanted[:60]!r}; it has {known}")
        before = found[name].setups if name in found else ()
        new = tuple(row for row in setups if row not in before)
        found[name] = msgspec.structs.replace(peer, setups=before + new)
    return tuple(found.values())
