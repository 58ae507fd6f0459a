"""Peers for tests: a small driver that is run by the interpreter of the tests."""

import sys
from dataclasses import dataclass
from pathlib import Path

from replay_run import recorded
from slicetape.prices.sheet import sheet
from slicetape.replay.peers.drive import Driver, Limits, Program
from slicetape.replay.peers.figures import Options
from slicetape.replay.peers.peers import Lineup
from slicetape.replay.peers.pins import Peer, Setup
from slicetape.replay.peers.rows import PeerRow, PeerSession
from story import Story

FAKE = Path(__file__).parent / "replay" / "peers" / "fake_peer.py"
FLAT = tuple(map(sheet, ("flat-30", "flat-10", "rel-none", "rel-30")))


@dataclass
class Here:
    """The environment of the tests, where nothing has to be installed."""

    home: Path
    python: Path = Path(sys.executable)
    installed: int = 0

    def install(self, tell) -> None:
        self.installed += 1


def fake(*does: str) -> Peer:
    """A peer with a setup for each thing it does."""
    setups = tuple(Setup(name=do, settings={"do": do}) for do in does)
    return Peer(
        name="fake", packages=("msgspec==1",), driver=str(FAKE), does="tests", setups=setups
    )


def driver(home: Path, **limits: float) -> Driver:
    """The fake peer, running."""
    program = Program("fake", Path(sys.executable), FAKE, ("msgspec", "no-such-package"), home)
    return Driver(program, Limits(**limits))


def compared(story: Story, home: Path, *does: str, arms=(), **options) -> PeerSession:
    """The told session under setups of the fake peer."""
    chosen = Options(sheets=FLAT, arms=arms, tokenizer="bytes", **options)
    with Lineup([fake(*does)], place=lambda _peer: Here(home)) as lineup:
        return lineup.compare(recorded(story), chosen)


def row(session: PeerSession, name: str) -> PeerRow:
    """The row of that name."""
    return next(row for row in session.rows if row.name == name)


def reading_story(*texts: str) -> Story:
    """A turn for each text, in which it is read from a file and answered."""
    story = Story()
    for number, text in enumerate(texts, 1):
        story.reading_turn(f"src/file_{number}.py", text)
    return story
