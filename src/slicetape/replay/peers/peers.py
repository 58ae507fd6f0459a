"""Sessions under other libraries: the same requests as ours, one process for each library."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, Self

import msgspec

from slicetape.errors import PeerError
from slicetape.prices.families import counter_for_model
from slicetape.prices.tokens import counter
from slicetape.replay.arms import TRANSCRIPT, Arm
from slicetape.replay.peers.drive import Driver, Limits, Program
from slicetape.replay.peers.environment import Environment
from slicetape.replay.peers.figures import Compared, Options, arm_row, peer_row
from slicetape.replay.peers.pins import Peer, Setup, all_peers
from slicetape.replay.peers.rows import PeerRow, PeerSession, with_ratios
from slicetape.replay.recording import Recording

_GIVE_UP = 3
"""Processes of one peer that may break off before it is left alone."""

Told = Callable[[str], None]
"""Told one line about what is being done."""


class Place(Protocol):
    """Where a peer is installed."""

    def install(self, tell: Told) -> None:
        """Make it so."""
        ...

    @property
    def python(self) -> Path:
        """The interpreter."""
        ...

    @property
    def home(self) -> Path:
        """The folder it takes for the home of its user."""
        ...


class Lineup:
    """The peers that sessions are compared with; ends their processes when it is closed.

    A peer is installed when its first session comes. One that cannot be installed is absent from
    then on; one whose process breaks off is started again, a few times.
    """

    def __init__(
        self,
        chosen: Sequence[Peer] | None = None,
        *,
        home: Path | None = None,
        tell: Told = lambda _line: None,
        limits: Limits | None = None,
        place: Callable[[Peer], Place] | None = None,
    ) -> None:
        self.peers = tuple(all_peers() if chosen is None else chosen)
        self._place = place or (lambda peer: Environment.of(peer, home=home))
        self._tell = tell
        self._limits = limits
        self._drivers: dict[str, Driver] = {}
        self._absent: dict[str, str] = {}
        self._broken: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every process."""
        for driver in self._drivers.values():
            driver.close()
        self._drivers.clear()

    def compare(self, recording: Recording, options: Options) -> PeerSession:
        """One session: `transcript`, the arms asked for, then every setup of every peer."""
        name = options.tokenizer or counter_for_model(recording.facts.model)[0]
        session = Compared(recording, options, counter(name).count)
        rows = [arm_row(arm, session) for arm in _with_transcript(options.arms)]
        for peer in self.peers:
            self._tell(f"{recording.id}: {peer.name}")
            rows += [self._row(peer, setup, session) for setup in peer.setups]
        measured = [_with_share(with_ratios(row, rows[0]), rows[0]) for row in rows]
        return PeerSession(
            id=recording.id, tokenizer=name, head_tokens=options.head, rows=tuple(measured)
        )

    def _row(self, peer: Peer, setup: Setup, session: Compared) -> PeerRow:
        name = f"{peer.name} {setup.name}"
        try:
            driver = self._driver(peer)
        except PeerError as error:
            self._absent[peer.name] = str(error)
            return PeerRow(name=name, state="absent", reason=str(error))
        if driver is None:
            return PeerRow(name=name, state="absent", reason=self._absent[peer.name])
        try:
            versions = driver.open(setup.settings)
            return peer_row(name, versions, driver.request, session)
        except PeerError as error:
            driver.close()
            self._drivers.pop(peer.name, None)
            self._note_broken(peer, str(error))
            return PeerRow(name=name, state="failed", reason=str(error))

    def _driver(self, peer: Peer) -> Driver | None:
        if peer.name in self._absent:
            return None
        if peer.name not in self._drivers:
            place = self._place(peer)
            place.install(self._tell)
            program = Program(peer.name, place.python, peer.script, peer.names, place.home)
            self._drivers[peer.name] = Driver(program, self._limits)
        return self._drivers[peer.name]

    def _note_broken(self, peer: Peer, reason: str) -> None:
        self._broken[peer.name] = self._broken.get(peer.name, 0) + 1
        if self._broken[peer.name] >= _GIVE_UP:
            self._absent[peer.name] = f"broke off {_GIVE_UP} times; the last time: {reason}"


def _with_transcript(arms: Iterable[Arm]) -> tuple[Arm, ...]:
    return tuple({arm.name: arm for arm in (TRANSCRIPT, *arms)}.values())


def _with_share(row: PeerRow, plain: PeerRow) -> PeerRow:
    """The row with its last request in parts of the whole one; it came in bytes."""
    share = row.last_share / plain.last_share if plain.last_share else 0.0
    return msgspec.structs.replace(row, last_share=share)
